#include "gui/plans/search_fields.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/search/axes.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/request_text.hpp"

/// What the search panel's texts ask for.
namespace foreshard::gui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::string flagOf(const SearchTexts& texts) {
    try {
        searchRequestOf(load_job_request("gpt-tiny-pp4"), nullptr, texts);
    } catch (const InputError& error) {
        return error.source();
    }
    return "accepted";
}

TEST(SearchFields, WhatThePlanSaysOfTheAxesIsLeftFree) {
    JobRequest plan = load_job_request("gpt-tiny-pp4");
    plan.layout = "1,1,1,1";
    plan.use_distributed_optimizer = true;
    const SearchRequest request =
        searchRequestOf(plan, nullptr, {{"tp", "1,2"}, {"top", "3"}, {"space", "full"}}).search;
    EXPECT_NO_THROW(refuse_unsearched(request.base));
    EXPECT_EQ(request_value(request.base, "precision"), "fp32");
    EXPECT_EQ(request_value(request.base, "gbs"), "8");
    EXPECT_THAT(request.constraints, ElementsAre(std::pair<const std::string, std::string>("tp", "1,2")));
    EXPECT_EQ(request.top, 3);
    EXPECT_EQ(request.space, SpaceKind::full);
    for (const char* freed : {"tp 1", "pp 4", "schedule 1f1b", "mbs 1", "layout 1,1,1,1"}) {
        EXPECT_THAT(freedText(plan), HasSubstr(freed));
    }
    EXPECT_THAT(freedText(plan), testing::Not(HasSubstr("gbs")));
}

TEST(SearchFields, CountsThatThePlanDoesNotSayAreThoseItCameTo) {
    JobRequest plan = load_job_request("gpt-tiny-pp4");
    plan.gpus.reset();
    plan.gbs.reset();
    const Job job = resolve(plan);
    const SweepRequest request = searchRequestOf(plan, &job, {});
    EXPECT_TRUE(one_size(request));
    EXPECT_EQ(request.search.base.gpus, 4);
    EXPECT_EQ(request.search.base.gbs, job.global_batch);
}

TEST(SearchFields, WhatCannotBeReadNamesItsField) {
    EXPECT_EQ(flagOf({{"tp", "8..1"}}), "--tp");
    EXPECT_EQ(flagOf({{"schedule", "1f1bb"}}), "--schedule");
    EXPECT_EQ(flagOf({{"recompute", "some"}}), "--recompute");
    EXPECT_EQ(flagOf({{"sp", "perhaps"}}), "--sp");
    EXPECT_EQ(flagOf({{"max_memory_gib", "-3"}}), "--max-memory-gib");
    EXPECT_EQ(flagOf({{"max_memory_gib", "40 GB"}}), "--max-memory-gib");
    EXPECT_EQ(flagOf({{"top", "0"}}), "--top");
    EXPECT_EQ(flagOf({{"gpus", "8..x"}}), "--gpus");
    EXPECT_EQ(flagOf({{"gbs", "0"}}), "--gbs");
    EXPECT_EQ(flagOf({{"objective", "speed"}}), "--objective");
    EXPECT_EQ(flagOf({{"train_tokens", "many"}}), "--train-tokens");
    EXPECT_EQ(flagOf({{"gpu_idle_w", "60 W"}}), "--gpu-idle-w");
    EXPECT_EQ(flagOf({{"tp", "1..8"}, {"schedule", "1f1b, zb-v"}, {"max_memory_gib", "40.5"}}), "accepted");
    EXPECT_EQ(searchMessageOf("--max-memory-gib", "text"), (FieldMessage{"max_memory_gib", "text"}));
    EXPECT_EQ(searchMessageOf("--gpu-idle-w", "text"), (FieldMessage{"gpu_idle_w", "text"}));
    EXPECT_EQ(searchMessageOf("--model", "text"), (FieldMessage{"", "text"}));
}

/// Every axis of the search has a field, and no field is nobody's.
TEST(SearchFields, ThePanelOffersEveryAxis) {
    std::set<std::string> offered;
    for (const FieldGroup& group : searchFieldGroups()) {
        for (const PlanField& field : group.fields) {
            EXPECT_TRUE(offered.emplace(field.name).second) << field.name;
            EXPECT_FALSE(field.help.empty()) << field.name;
        }
    }
    for (const SearchAxis& axis : search_axes()) EXPECT_EQ(offered.erase(axis.name), 1U) << axis.name;
    EXPECT_THAT(offered, IsSupersetOf({"gbs", "gpus", "max_memory_gib", "objective", "space", "top", "train_tokens"}));
    visit_operating_figures([&](const char* key, auto, const char*) {
        const std::string name = searchMessageOf(operating_flag(key), "").field;
        EXPECT_EQ(offered.erase(name), 1U) << key;
    });
    EXPECT_EQ(offered.size(), 7U);
}

TEST(SearchFields, SizesAndObjectivesAreReadAsFlagsAre) {
    const SweepRequest request = searchRequestOf(load_job_request("gpt-tiny-pp4"), nullptr,
                                                 {{"gpus", "4..16"},
                                                  {"gbs", "8,16"},
                                                  {"objective", "energy-per-token"},
                                                  {"gpu_busy_w", "400"},
                                                  {"train_tokens", "15e12"}});
    EXPECT_THAT(request.gpus, ElementsAre(4, 8, 16));
    EXPECT_THAT(request.batches, ElementsAre(8, 16));
    EXPECT_EQ(request.search.objective.kind, Objective::energy_per_token);
    EXPECT_EQ(request.search.objective.operation.gpu_busy_w, 400.0);
    EXPECT_EQ(request.search.objective.train_tokens, 15e12);
    EXPECT_TRUE(request.search.constraints.empty());
}

}  // namespace
}  // namespace foreshard::gui
