#include "sim/search/json_search.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/engine/evaluate.hpp"
#include "sim/search/text_search.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/support/schema.hpp"
#include "traces/read_search.hpp"

/// What a search writes, and what the visualiser reads of it.
namespace foreshard {
namespace {

SearchRequest tiny_search() {
    SearchRequest request;
    request.base.model = "gpt-tiny";
    request.base.cluster = "dgx-a100-80g";
    request.base.gpus = 8;
    request.base.gbs = 16;
    request.base.num_layers = 6;
    request.base.overlap_p2p = true;
    request.top = 4;
    request.threads = 1;
    return request;
}

TEST(SearchJson, KeepsItsSchema) {
    EXPECT_EQ(test::violations("search", nlohmann::json::parse(search_json(search(tiny_search())))), "");
    SearchRequest none = tiny_search();
    none.max_memory_gib = 1.0;
    EXPECT_EQ(test::violations("search", nlohmann::json::parse(search_json(search(none)))), "");
}

TEST(SearchJson, IsReadBackWithTheSameFigures) {
    const SearchOutcome written = search(tiny_search());
    const ReadSearch read = parse_search("search.json", search_json(written));
    ASSERT_EQ(read.plans.size(), written.plans.size());
    EXPECT_EQ(read.evaluated, written.evaluated);
    EXPECT_EQ(read.pruned, written.pruned);
    EXPECT_EQ(read.simulated, written.simulated);
    EXPECT_EQ(read.infeasible, written.infeasible);
    std::vector<std::size_t> front = read.pareto;
    std::sort(front.begin(), front.end());
    EXPECT_EQ(front, written.front);
    for (std::size_t i = 0; i < read.plans.size(); ++i) {
        const Evaluation e = evaluate(resolve(read.plans[i].request));
        EXPECT_EQ(e.report.summary.step_time_ms, written.plans[i].summary.step_time_ms);
        EXPECT_EQ(*read.plans[i].figure("step_time_ms"), written.plans[i].summary.step_time_ms);
    }
}

TEST(SearchJson, NamesThePlanThatComesClosest) {
    SearchRequest request = tiny_search();
    request.max_memory_gib = 1.0;
    const SearchOutcome none = search(request);
    const ReadSearch read = parse_search("search.json", search_json(none));
    ASSERT_EQ(read.plans.size(), 1U);
    EXPECT_EQ(read.plans.front().infeasible, "memory");
}

TEST(SearchText, TellsBestFrontAndReasons) {
    SearchRequest request = tiny_search();
    const SearchOutcome result = search(request);
    const std::string text = search_text(result, 4);
    EXPECT_NE(text.find("best plans"), std::string::npos);
    EXPECT_NE(text.find("foreshard simulate --model gpt-tiny"), std::string::npos);
    const std::string csv = search_csv(result);
    EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), result.plans.size() + 1);
}

}  // namespace
}  // namespace foreshard
