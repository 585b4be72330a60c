#include "tests/support/schedule_oracles.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::test {

using nlohmann::json;

namespace {

/// Picoseconds of one oracle unit: divides by all fractions that the cost sets use.
constexpr double unit = 8000.0;

Placement placement_in(const std::string& text) {
    for (const Placement placement : {Placement::linear, Placement::loop, Placement::snake, Placement::bidirectional}) {
        if (text.starts_with(to_string(placement))) return placement;
    }
    return Placement::v;
}

}  // namespace

void for_each_oracle(const std::string& name, const std::function<void(const json&)>& use) {
    const char* data = std::getenv("FORESHARD_DATA");
    if (data == nullptr) GTEST_SKIP() << "FORESHARD_DATA is not set";
    std::ifstream file(std::string(data) + "/" + name);
    ASSERT_TRUE(file) << "cannot read " << name;
    int count = 0;
    for (std::string line; std::getline(file, line); ++count) {
        const json oracle = json::parse(line);
        const std::string schedule = oracle.contains("schedule") ? oracle["schedule"] : oracle["name"];
        SCOPED_TRACE(schedule + " p=" + oracle["p"].dump() + " m=" + oracle["m"].dump() + " v=" + oracle["v"].dump());
        use(oracle);
    }
    EXPECT_GT(count, 0);
    testing::Test::RecordProperty("lines", count);
}

std::string csv_of(const json& oracle, bool fuse_pairs) {
    std::string text;
    for (std::size_t r = 0; r < oracle["actions"].size(); ++r) {
        const json& list = oracle["actions"][r];
        std::vector<bool> fused(list.size() + 1, false);
        if (fuse_pairs) {
            for (const json& i : oracle["overlap_pairs"][r]) fused[i.get<std::size_t>() + 1] = true;
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i > 0) text += fused[i] ? '&' : ',';
            text += list[i].get<std::string>();
        }
        text += '\n';
    }
    return text;
}

ScheduleShape shape_of(const json& oracle, bool checked) {
    ScheduleShape shape{oracle["p"], std::nullopt, std::nullopt, std::nullopt};
    if (!checked) return shape;
    shape.microbatches = oracle["m"].get<int>();
    shape.placement = placement_in(oracle["placement"]);
    if (shape.placement != Placement::bidirectional) {
        shape.chunks = oracle["stages"].get<int>() / oracle["p"].get<int>();
    }
    return shape;
}

Picoseconds oracle_time(double units) {
    return std::llround(units * unit);
}

PassCosts costs_of(const json& result, int stages) {
    PassCosts costs;
    costs.hop = oracle_time(result["comm"]);
    for (int s = 0; s < stages; ++s) {
        if (result["set"] == "H") {
            costs.stages.push_back(
                {oracle_time(1 + (s % 3) / 4.0), oracle_time(1.25 + (s % 2) / 4.0), oracle_time(0.75)});
        } else {
            costs.stages.push_back({oracle_time(result["F"]), oracle_time(result["I"]), oracle_time(result["W"])});
        }
    }
    return costs;
}

}  // namespace foreshard::test
