#include "sim/spec/layout.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

int total_layers(const std::vector<StageContents>& stages) {
    return std::accumulate(stages.begin(), stages.end(), 0, [](int sum, const auto& s) { return sum + s.layers; });
}

std::vector<int> layers_of(const std::vector<StageContents>& stages) {
    std::vector<int> layers;
    for (const StageContents& stage : stages) layers.push_back(stage.layers);
    return layers;
}

Job job_of(int layers, int pp, int vpp) {
    Job job;
    job.model.num_layers = layers;
    job.plan.pp = pp;
    job.plan.vpp = vpp;
    job.plan.schedule = vpp > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
    return job;
}

/// What every layout must keep: no layer lost or doubled, embedding first, loss last.
void expect_complete(const Job& job) {
    const std::vector<StageContents> stages = stage_layout(job);
    SCOPED_TRACE(to_string(stages));
    ASSERT_EQ(static_cast<int>(stages.size()), stage_count(job));
    EXPECT_EQ(total_layers(stages), job.model.num_layers);
    EXPECT_TRUE(stages.front().embedding);
    EXPECT_TRUE(stages.back().loss);
    int next = 0;
    for (const StageContents& stage : stages) {
        EXPECT_EQ(stage.first_layer, next);
        EXPECT_GE(stage.layers, 0);
        next += stage.layers;
    }
}

void expect_error(const std::string& layout, const std::string& reason) {
    EXPECT_THAT([&] { parse_layout(layout); }, Throws<InputError>(Property(&InputError::what, HasSubstr(reason))))
        << layout;
}

}  // namespace

TEST(Layout, MegatronLettersWithRepetition) {
    const auto stages = parse_layout("E|(t|)*3,m|m||L");
    ASSERT_EQ(stages.size(), 8U);
    EXPECT_EQ(to_string(stages), "E|t|t|t|m|m||L");
    EXPECT_TRUE(stages[0].embedding);
    EXPECT_EQ(stages[1], (StageContents{.first_layer = 0, .layers = 1}));
    EXPECT_EQ(stages[3].first_layer, 2);
    EXPECT_EQ(stages[4].mtp_layers, 1);
    EXPECT_EQ(stages[6], (StageContents{.first_layer = 3}));
    EXPECT_TRUE(stages[7].loss);
}

TEST(Layout, NestedGroupsAndRepeatedLetters) {
    EXPECT_EQ(to_string(parse_layout("Et*2|((t|)*2,t*3|)*2L")), "Ett|t|t|ttt|t|t|ttt|L");
}

TEST(Layout, ListOfLayersPerStage) {
    const auto stages = parse_layout("[7, 8,8,7]");
    EXPECT_EQ(layers_of(stages), (std::vector<int>{7, 8, 8, 7}));
    EXPECT_TRUE(stages.front().embedding);
    EXPECT_TRUE(stages.back().loss);
    EXPECT_EQ(stages[3].first_layer, 23);
}

TEST(Layout, PrintingAndParsingAreInverse) {
    for (const std::string text : {"Ett|tt|ttL", "E|t|tttt||L", "Etmm|L", "EtL"}) {
        EXPECT_EQ(to_string(parse_layout(text)), text);
    }
}

TEST(Layout, ErrorsNameThePlace) {
    expect_error("Ett|tx|L", "character 6");
    expect_error("Ett|tx|L", "unknown letter 'x'");
    expect_error("E(t|", "missing ')'");
    expect_error("Et)|L", "unmatched ')'");
    expect_error("Et*|L", "'*' needs a count");
    expect_error("E|tE|L", "E must stand once");
    expect_error("E|Lt", "stands after L");
    expect_error("E|mt|L", "t stands after m");
    expect_error("Et*99999999|L", "65536");
    expect_error("((t|)*60000)*60000", "65536");
    expect_error(std::string(1000, '('), "nested deeper than 64");
    expect_error(",", "empty");
}

TEST(Layout, RankListsAreSpreadOverChunks) {
    Job job = job_of(30, 4, 2);
    job.plan.layout = "7,8,8,7";
    ASSERT_TRUE(check_layout(job).empty());
    // Rank r holds stages r and r + 4.
    EXPECT_EQ(layers_of(stage_layout(job)), (std::vector<int>{4, 4, 4, 4, 3, 4, 4, 3}));
}

TEST(Layout, EmbeddingAndLossCountAsLayers) {
    Job job = job_of(30, 4, 1);
    job.plan.embedding_in_split = true;
    job.plan.loss_in_split = true;
    ASSERT_TRUE(check_layout(job).empty());
    EXPECT_EQ(layers_of(stage_layout(job)), (std::vector<int>{7, 8, 8, 7}));
}

TEST(Layout, GivenEndsLeaveTheRestToTheOthers) {
    Job job = job_of(61, 8, 1);
    job.plan.first_stage_layers = 7;
    job.plan.last_stage_layers = 6;
    ASSERT_TRUE(check_layout(job).empty());
    EXPECT_EQ(layers_of(stage_layout(job)), (std::vector<int>{7, 8, 8, 8, 8, 8, 8, 6}));
    job.plan.last_stage_layers = 7;
    ASSERT_FALSE(check_layout(job).empty());
}

// sum over stages of layers = num_layers, for every way to divide that check_layout accepts.
TEST(Layout, NoLayerIsEverDropped) {
    int accepted = 0;
    for (int layers = 1; layers <= 40; ++layers) {
        for (int pp = 1; pp <= 8; ++pp) {
            for (int vpp = 1; vpp <= 4; ++vpp) {
                for (int split = 0; split < 4; ++split) {
                    Job job = job_of(layers, pp, vpp);
                    job.plan.embedding_in_split = (split & 1) != 0;
                    job.plan.loss_in_split = (split & 2) != 0;
                    if (!check_layout(job).empty()) continue;
                    ++accepted;
                    expect_complete(job);
                }
            }
        }
    }
    EXPECT_GT(accepted, 500);
}

TEST(Layout, NoLayerIsDroppedWithGivenEnds) {
    int accepted = 0;
    for (int layers = 4; layers <= 32; layers += 3) {
        for (int pp = 2; pp <= 6; ++pp) {
            for (int vpp = 1; vpp <= 2; ++vpp) {
                for (int first = 0; first <= 5; ++first) {
                    for (int last = -1; last <= 5; ++last) {
                        Job job = job_of(layers, pp, vpp);
                        job.plan.first_stage_layers = first;
                        if (last >= 0) job.plan.last_stage_layers = last;
                        if (!check_layout(job).empty()) continue;
                        ++accepted;
                        expect_complete(job);
                    }
                }
            }
        }
    }
    EXPECT_GT(accepted, 100);
}

TEST(Layout, NoLayerIsDroppedWithLists) {
    for (int layers = 1; layers <= 24; ++layers) {
        for (int pp = 1; pp <= 6; ++pp) {
            for (int vpp = 1; vpp <= 3; ++vpp) {
                const auto stages = even_layout(layers, pp);
                EXPECT_EQ(total_layers(stages), layers);
                std::string list;
                for (const StageContents& stage : stages) list += std::to_string(stage.layers) + ",";
                Job job = job_of(layers, pp, vpp);
                job.plan.layout = list;
                ASSERT_TRUE(check_layout(job).empty()) << list;
                expect_complete(job);
            }
        }
    }
}

TEST(Layout, StageTimesSpreadLayersZeroAllowed) {
    Job job = job_of(3, 8, 1);
    job.stage_times = StageTimes{.stages = std::vector<StageTimes::Stage>(8)};
    ASSERT_TRUE(check_layout(job).empty());
    expect_complete(job);
    EXPECT_EQ(layers_of(stage_layout(job)), (std::vector<int>{1, 1, 1, 0, 0, 0, 0, 0}));
}

}  // namespace foreshard
