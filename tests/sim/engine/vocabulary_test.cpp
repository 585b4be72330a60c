#include <algorithm>
#include <array>
#include <random>

#include <gtest/gtest.h>

#include "sim/engine/estimate.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/plan/dry_run.hpp"
#include "tests/support/jobs.hpp"

/// Vocabulary-parallel pipelines through lowering and engine.
namespace foreshard {
namespace {

constexpr std::array kinds = {ScheduleKind::vocab_1, ScheduleKind::vocab_2, ScheduleKind::interlaced};

Job vocabulary_job(ScheduleKind kind, int p, int m, Picoseconds hop, Picoseconds s, Picoseconds t) {
    Job job = test::timed_job(kind, p, m, 1, 40, 40, 40, hop);
    job.stage_times->vocab_forward = s;
    job.stage_times->vocab_backward = t;
    return job;
}

PassCosts costs_of(const StageTimes& times) {
    return {times.stages, times.hop, times.vocab_forward, times.vocab_backward};
}

TEST(VocabularyEngine, MakespanIsThatOfTheDryRun) {
    for (const ScheduleKind kind : kinds) {
        for (const int p : {2, 3, 4, 8}) {
            for (const int m : {1, p, 3 * p + 1}) {
                for (const Picoseconds hop : {0, 3}) {
                    const Job job = vocabulary_job(kind, p, m, hop, 10, 20);
                    const Evaluation e = evaluate(job);
                    EXPECT_EQ(e.timeline.step_time(), dry_run(e.schedule, costs_of(*job.stage_times)).makespan)
                        << to_string(kind) << " p " << p << " m " << m << " hop " << hop;
                }
            }
        }
    }
}

TEST(VocabularyEngine, VHalfTakesAsLongAsItsDryRun) {
    for (const int p : {2, 4, 8}) {
        for (const StageTimes::Stage& stage : {StageTimes::Stage{10, 10, 10}, {93, 129, 62}, {70, 50, 110}}) {
            for (const Picoseconds hop : {0, 3}) {
                Job job = test::timed_job(ScheduleKind::v_half_vocab_1, p, 3 * p, 2, stage.forward, stage.input_grad,
                                          stage.weight_grad, hop);
                job.stage_times->vocab_forward = 6;
                job.stage_times->vocab_backward = 9;
                const Evaluation e = evaluate(job);
                EXPECT_EQ(e.timeline.step_time(), dry_run(e.schedule, costs_of(*job.stage_times)).makespan)
                    << "p " << p << " f " << stage.forward << " hop " << hop;
                EXPECT_LE(estimate(job, e.schedule).step_time, e.timeline.step_time());
            }
        }
    }
}

TEST(VocabularyEngine, EqualStagesHaveAClosedForm) {
    for (const ScheduleKind kind : kinds) {
        Job job = vocabulary_job(kind, 4, 9, 0, 10, 20);
        const Estimate estimate = foreshard::estimate(job, make_schedule(job));
        EXPECT_TRUE(estimate.exact);
        EXPECT_EQ(estimate.step_time, (9 + 3) * 120 + 9 * 30);
        EXPECT_EQ(estimate.step_time, evaluate(job).timeline.step_time());
    }
}

TEST(VocabularyEngine, EstimateNeverExceedsTheStep) {
    std::mt19937_64 dice(7);
    for (int round = 0; round < 40; ++round) {
        for (const ScheduleKind kind : kinds) {
            const int p = 2 + static_cast<int>(dice() % 6);
            Job job = vocabulary_job(kind, p, 1 + static_cast<int>(dice() % 20), static_cast<Picoseconds>(dice() % 9),
                                     static_cast<Picoseconds>(dice() % 40), static_cast<Picoseconds>(dice() % 40));
            for (StageTimes::Stage& stage : job.stage_times->stages) {
                stage.forward = 50 + static_cast<Picoseconds>(dice() % 50);
                stage.input_grad = 50 + static_cast<Picoseconds>(dice() % 50);
            }
            const Evaluation e = evaluate(job);
            EXPECT_LE(estimate(job, e.schedule).step_time, e.timeline.step_time()) << to_string(kind);
        }
    }
}

Job computed_job(const std::string& schedule, int p, int dp) {
    JobRequest request = test::tiny_request(p, 4 * p);
    request.model = "gpt3-6.7b";
    request.untie_embeddings_and_output_weights = true;
    request.schedule = schedule;
    request.gpus = p * dp;
    request.dp = dp;
    request.gbs = 4 * p * dp;
    request.overlap_grad_reduce = dp > 1;
    request.use_distributed_optimizer = dp > 1;
    request.overlap_param_gather = dp > 1;
    return test::valid_job(request);
}

TEST(VocabularyEngine, NoParameterIsLostOrCountedTwice) {
    const auto count = [](const Evaluation& e) {
        std::int64_t parameters = 0;
        for (const std::vector<int>& stages : e.graph.rank_stages) {
            for (const int s : stages) parameters += e.graph.stages[static_cast<std::size_t>(s)].parameters();
        }
        return parameters;
    };
    const std::int64_t all = count(evaluate(computed_job("1f1b", 4, 1)));
    for (const ScheduleKind kind : kinds) {
        const Evaluation e = evaluate(computed_job(std::string(to_string(kind)), 4, 1));
        EXPECT_EQ(count(e), all) << to_string(kind);
        for (const RankReport& rank : e.report.ranks) EXPECT_EQ(rank.stages.size(), 1U);
    }
}

TEST(VocabularyEngine, RanksAreBusyAlike) {
    const auto busiest_over_idlest = [](const Evaluation& e) {
        Picoseconds most = 0;
        Picoseconds least = busy_time(e.report.ranks.front().account);
        for (const RankReport& rank : e.report.ranks) {
            most = std::max(most, busy_time(rank.account));
            least = std::min(least, busy_time(rank.account));
        }
        return static_cast<double>(most) / static_cast<double>(least);
    };
    EXPECT_GT(busiest_over_idlest(evaluate(computed_job("1f1b", 4, 1))), 1.05);
    for (const ScheduleKind kind : kinds) {
        EXPECT_LT(busiest_over_idlest(evaluate(computed_job(std::string(to_string(kind)), 4, 1))), 1.02);
    }
}

/// Kernels of layers, not the vocabulary's own passes, not plans that leave the output layer whole; by as much as said.
TEST(VocabularyEngine, CollectivesSlowTheLayersBesideThem) {
    const auto compute_of = [](ScheduleKind kind, double ratio, double interlaced, bool vocabulary) {
        Job job = computed_job(std::string(to_string(kind)), 4, 1);
        job.software.numbers.vocabulary_slowdown_ratio = ratio;
        job.software.numbers.interlaced_slowdown_ratio = interlaced;
        const Evaluation e = evaluate(job);
        double total = 0.0;
        for (std::size_t i = 0; i < e.graph.works.size(); ++i) {
            const Work& work = e.graph.works[i];
            const bool of_share = work.pass == Pass::vocab_forward || work.pass == Pass::vocab_backward;
            const bool end = work.stage == 0 || work.stage == 3;  // embedding and last norm are not slowed
            if (work.kind != TaskKind::pass || of_share != vocabulary || end) continue;
            total += static_cast<double>(e.durations.works[i].spent[static_cast<std::size_t>(Spent::compute)]);
        }
        return total;
    };
    for (const ScheduleKind kind : kinds) {
        const bool interlaced = kind == ScheduleKind::interlaced;
        const double plain = compute_of(kind, 0.0, 0.0, false);
        const double slowed = interlaced ? compute_of(kind, 0.9, 0.1, false) : compute_of(kind, 0.1, 0.9, false);
        EXPECT_NEAR(slowed / plain, 1.1, 1e-6) << to_string(kind);
        EXPECT_EQ(compute_of(kind, 0.1, 0.1, true), compute_of(kind, 0.0, 0.0, true)) << to_string(kind);
    }
    EXPECT_EQ(compute_of(ScheduleKind::one_f_one_b, 0.1, 0.1, false),
              compute_of(ScheduleKind::one_f_one_b, 0.0, 0.0, false));
}

/// The report says that it was assumed, and of plans without these collectives it does not.
TEST(VocabularyEngine, TheSlowdownIsListed) {
    const auto listed = [](const char* schedule) {
        Job job = computed_job(schedule, 4, 1);
        job.software.numbers.vocabulary_slowdown_ratio = 0.065;
        const std::vector<std::string> notes = evaluate(job).report.assumptions;
        return std::any_of(notes.begin(), notes.end(),
                           [](const std::string& note) { return note.find("6.5 % longer") != std::string::npos; });
    };
    EXPECT_TRUE(listed("1f1b-vocab-1"));
    EXPECT_FALSE(listed("1f1b"));
    EXPECT_FALSE(listed("1f1b-interlaced"));
}

TEST(VocabularyEngine, RunsBesideOverlappedDataParallelism) {
    for (const ScheduleKind kind : kinds) {
        const Evaluation e = evaluate(computed_job(std::string(to_string(kind)), 4, 2));
        const Picoseconds bound = estimate(e.job, e.schedule).step_time;
        EXPECT_LE(bound, e.timeline.step_time());
        EXPECT_GT(bound, e.timeline.step_time() * 8 / 10);
    }
}

TEST(VocabularyEngine, CollectivesOverPipelineRanksAreReported) {
    const Evaluation e = evaluate(computed_job("1f1b-vocab-1", 4, 1));
    const auto broadcast = std::find_if(e.report.communication.begin(), e.report.communication.end(),
                                        [](const CommReport& comm) { return comm.collective == "broadcast"; });
    ASSERT_NE(broadcast, e.report.communication.end());
    EXPECT_EQ(broadcast->axis, "pp");
    EXPECT_EQ(broadcast->group_size, 4);
}

TEST(VocabularyEngine, TiedMatricesAreHeldOnce) {
    Job job = computed_job("1f1b-vocab-1", 4, 1);
    const auto share = [](const Job& j) { return evaluate(j).graph.stages.back().parameters(); };
    const std::int64_t untied = share(job);
    job.model.tied_embeddings = true;
    EXPECT_EQ(share(job), untied / 2);
}

}  // namespace
}  // namespace foreshard
