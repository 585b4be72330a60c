#include <algorithm>

#include "sim/error.hpp"
#include "sim/spec/json_reader.hpp"
#include "sim/validate/verification.hpp"

namespace foreshard {

namespace {

void add_steps(const Json& measured, MeasuredPlan& plan) {
    for (const Json& step : measured.at("steps")) {
        if (!step.at("warmup").get<bool>()) plan.step_ms.push_back(step.at("time_ms").get<double>());
    }
}

void add_ranks(const Json& measured, MeasuredPlan& plan) {
    const Json& ranks = measured.at("ranks");
    plan.ranks.resize(std::max(plan.ranks.size(), ranks.size()));
    for (const Json& rank : ranks) {
        MeasuredPlan::Rank& own = plan.ranks.at(rank.at("rank").get<std::size_t>());
        own.pp = rank.at("pp_rank").get<int>();
        own.high_water = std::max(own.high_water, rank.at("memory_high_water_bytes").at("total").get<ByteCount>());
    }
}

}  // namespace

void add_measured_run(const std::string& report, const std::string& source, MeasuredPlan& plan) {
    try {
        const Json json = Json::parse(report);
        const Json& measured = json.at("measured");
        add_steps(measured, plan);
        add_ranks(measured, plan);
        plan.bubble_ratio.push_back(json.at("summary").at("bubble_ratio").get<double>());
    } catch (const Json::exception& error) {
        throw InputError(source, "", std::string("is no report of foreshard-run: ") + error.what());
    }
}

}  // namespace foreshard
