#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/supported.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/support/jobs.hpp"

/// A plan that is executed in parallel trains the same model as one rank does.
namespace foreshard::runtime {
namespace {

std::string verdict(const Outcome& outcome) {
    if (outcome.failure) return outcome.failure->reason;
    const Comparison& c = *outcome.comparison;
    if (c.passed()) return "";
    return c.worst.tensor + ": " + std::to_string(c.worst.relative) + ", loss " + std::to_string(c.loss_error);
}

class Equivalence : public testing::TestWithParam<int> {};

constexpr int shares = 8;

/// Sanitizers make runs three times as long: fewer of them there.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t thinning = 4;
#else
constexpr std::size_t thinning = 1;
#endif

/// Every pair of values of two axes: model, dp, tp, pp, schedule, scheme, recomputation, sequence parallel, overlap.
TEST_P(Equivalence, EveryPairOfOptionsGivesTheGradientsOfOneRank) {
    const std::vector<GridPoint> points = covering_points(4000, 1);
    EXPECT_GE(points.size(), 100U);
    EXPECT_LE(points.size(), 300U);
    for (std::size_t i = static_cast<std::size_t>(GetParam()); i < points.size(); i += shares * thinning) {
        EXPECT_EQ(verdict(check_point(*job_of(points[i]))), "") << to_string(points[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Shares, Equivalence, testing::Range(0, shares));

JobRequest tiny(const std::string& model, int pp, int tp, int dp) {
    JobRequest request = test::tiny_request(pp, 4 * dp);
    request.model = model;
    request.software = std::string("foreshard");
    request.tp = tp;
    request.dp = dp;
    request.gpus = pp * tp * dp;
    request.seq_length = 16;
    request.num_layers = 4;
    return request;
}

TEST(Equivalence, HoldsInSinglePrecision) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        JobRequest request = tiny(model, 2, 2, 2);
        request.sp = true;
        request.use_distributed_optimizer = true;
        EXPECT_EQ(verdict(check_point(test::valid_job(request), ElementType::fp32)), "") << model;
    }
}

/// A covering set of its own, smaller: of the attention core only the kernels differ.
TEST(Equivalence, HoldsWithFlashAttention) {
    for (const GridPoint& point : covering_points(300, 5)) {
        const Job job = with_flash_attention(*job_of(point));
        ASSERT_TRUE(unsupported(job).empty());
        EXPECT_EQ(verdict(check_point(job)), "") << to_string(point);
    }
}

/// Flash attention computes the same model: the losses of both differ by rounding only.
TEST(Equivalence, FlashAttentionGivesTheLossesOfTheScoreMatrix) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        const Job plain = test::valid_job(tiny(model, 1, 1, 1));
        const Outcome expected = check_point(plain);
        const Outcome outcome = check_point(with_flash_attention(plain));
        ASSERT_TRUE(expected.comparison && outcome.comparison) << model;
        const double loss = expected.comparison->reference_loss;
        EXPECT_GT(loss, 1.0);
        EXPECT_NEAR(outcome.comparison->reference_loss, loss, 1e-12 * loss) << model;
    }
}

/// Ranks that share the vocabulary: tied and not, where it is padded (pp 3), and with few and many micro-batches.
TEST(Equivalence, HoldsWithASharedVocabulary) {
    for (const char* schedule : {"1f1b-vocab-1", "1f1b-vocab-2", "1f1b-interlaced", "v-half-vocab-1"}) {
        for (const char* model : {"gpt-tiny", "llama-tiny"}) {
            for (const auto& [pp, m] : {std::pair{2, 1}, std::pair{3, 7}, std::pair{4, 3}}) {
                JobRequest request = tiny(model, pp, 1, 1);
                const bool v = std::string_view(schedule).starts_with("v-");
                request.schedule = std::string(schedule);
                request.vpp = v ? 2 : 1;
                request.num_layers = 2 * pp;
                request.gbs = m;
                request.mbs = 1;
                EXPECT_EQ(verdict(check_point(test::valid_job(request))), "") << schedule << model << pp << " " << m;
            }
        }
    }
}

/// Layers that are rebuilt together are gathered together; the last group is smaller.
TEST(Equivalence, HoldsWithGroupsOfShardedLayersRebuiltTogether) {
    for (const char* scheme : {"fsdp1", "fsdp2", "zero-3"}) {
        JobRequest request = tiny("llama-tiny", 1, 1, 2);
        if (std::string_view(scheme) == "zero-3") {
            request.zero = 3;
        } else {
            request.data_parallel = scheme;
        }
        request.num_layers = 5;
        request.recompute = "full";
        request.recompute_num_layers = 2;
        EXPECT_EQ(verdict(check_point(test::valid_job(request))), "") << scheme;
    }
}

/// The comparison is only worth something if it finds every spoiled message.
TEST(Equivalence, FindsEverySpoiledCommunication) {
    std::vector<JobRequest> requests;
    for (const bool sharded : {false, true}) {
        requests.push_back(tiny("gpt-tiny", 2, 1, 2));
        requests.back().num_layers = 2;
        requests.back().use_distributed_optimizer = sharded;
    }
    for (const char* schedule : {"1f1b-vocab-1", "1f1b-vocab-2"}) {
        requests.push_back(tiny("gpt-tiny", 2, 1, 1));
        requests.back().num_layers = 2;
        requests.back().gbs = 2;
        requests.back().schedule = std::string(schedule);
    }
    for (const JobRequest& request : requests) {
        const Job job = test::valid_job(request);
        const Schedule schedule = make_schedule(job);
        const TaskGraph graph = lower(job, schedule);
        const auto feeders = static_cast<int>(gradient_feeders(schedule, graph, Ranks(job)).size());
        EXPECT_GE(feeders, 10);
        for (int message = 0; message < feeders; ++message) {
            const Outcome outcome = check_point(job, ElementType::fp64, message);
            ASSERT_TRUE(outcome.comparison) << outcome.failure->reason;
            EXPECT_FALSE(outcome.comparison->passed()) << to_string(job.plan.schedule) << " " << message;
        }
    }
}

}  // namespace
}  // namespace foreshard::runtime
