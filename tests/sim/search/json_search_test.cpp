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

TEST(SearchJson, KeepsItsSchemaWithExplanations) {
    SearchRequest request = tiny_search();
    request.constraints = {{"cp", "1"}, {"mbs", "1,2"}};
    SearchOutcome result = search(request);
    result.neighbours = neighbours_of_best(request, result);
    result.sensitivity = sensitivity_of(request, result);
    const nlohmann::json json = nlohmann::json::parse(search_json(result));
    EXPECT_EQ(test::violations("search", json), "");
    EXPECT_EQ(json.at("neighbours").size(), result.neighbours.size());
    for (const nlohmann::json& neighbour : json.at("neighbours")) {
        if (!neighbour.contains("step_difference_ms")) continue;
        double sum = 0.0;
        for (const auto& [term, value] : neighbour.at("step_difference_ms").items()) {
            if (term != "total") sum += value.get<double>();
        }
        EXPECT_NEAR(sum, neighbour.at("step_difference_ms").at("total").get<double>(), 1e-9);
    }
    EXPECT_EQ(json.at("sensitivity").size(), result.sensitivity.size());
    EXPECT_NE(sensitivity_text(result).find("memory bandwidth"), std::string::npos);
}

/// Degrees of which no plan can run come back with their reasons.
TEST(SearchJson, TellsWhereNothingCanRun) {
    const SearchOutcome written = search(tiny_search());
    const ReadSearch read = parse_search("search.json", search_json(written));
    ASSERT_FALSE(written.infeasible_cells.empty());
    ASSERT_EQ(read.refused.size(), written.infeasible_cells.size());
    for (std::size_t i = 0; i < read.refused.size(); ++i) {
        EXPECT_EQ(read.refused[i].tp, written.infeasible_cells[i].tp);
        EXPECT_EQ(read.refused[i].pp, written.infeasible_cells[i].pp);
        for (const auto& [reason, count] : written.infeasible_cells[i].reasons) {
            EXPECT_NE(read.refused[i].reason.find(reason + " (" + std::to_string(count) + " plan"), std::string::npos);
        }
    }
}

TEST(SearchJson, AnImprovementIsALine) {
    std::vector<std::string> lines;
    const SearchOutcome result = search(
        tiny_search(), {}, {}, [&](const Improvement& improvement) { lines.push_back(improvement_json(improvement)); });
    ASSERT_FALSE(lines.empty());
    const nlohmann::json whole = nlohmann::json::parse(search_json(result));
    std::size_t found = 0;
    for (const std::string& line : lines) {
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        const nlohmann::json plan = nlohmann::json::parse(line);
        for (const nlohmann::json& best : whole.at("plans")) {
            found += best.at("plan") == plan.at("plan") && best.at("summary") == plan.at("summary") ? 1 : 0;
        }
    }
    EXPECT_EQ(found, result.plans.size());
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
