#include "traces/read_search.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/spec/json_specs.hpp"
#include "traces/json_figures.hpp"

namespace foreshard {

namespace {

constexpr std::size_t search_limit_bytes = std::size_t{256} << 20;

Json as_job(Json members) {
    members["schema"] = "foreshard.job";
    members["schema_version"] = "1.0";
    return members;
}

std::string text_of(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "memory (12 plans); num_attention_heads, tp (3 plans)": the commonest first.
std::string reasons_text(std::vector<std::pair<std::string, std::int64_t>> reasons) {
    std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (const auto& [reason, count] : reasons) {
        text += fmt::format("{}{} ({} plan{})", text.empty() ? "" : "; ", reason, count, count == 1 ? "" : "s");
    }
    return text;
}

class SearchReader {
public:
    SearchReader(const Json& json, std::string name)
        : root_(open_document(json, "foreshard.search", name)), name_(std::move(name)) {}

    ReadSearch read() {
        result_.name = name_;
        result_.space = root_.optional<std::string>("space").value_or("");
        result_.objective = root_.optional<std::string>("objective").value_or("");
        result_.evaluated = root_.optional<std::int64_t>("evaluated", Range::not_negative).value_or(0);
        result_.pruned = root_.optional<std::int64_t>("pruned", Range::not_negative).value_or(0);
        result_.simulated = root_.optional<std::int64_t>("simulated", Range::not_negative).value_or(0);
        result_.threads = root_.optional<int>("threads", Range::not_negative).value_or(0);
        result_.estimate_elapsed_s = root_.optional<double>("estimate_elapsed_s", Range::not_negative);
        result_.elapsed_s = root_.optional<double>("elapsed_s", Range::not_negative);
        result_.complete = root_.optional<bool>("complete").value_or(true);
        result_.gap_ratio = root_.optional<double>("gap_ratio", Range::ratio);
        if (root_.has("job")) base_ = read_job_request(as_job(root_.at("job")), name_ + " /job");
        for (const JsonObject& plan : root_.objects("plans")) add_plan(plan, result_.plans.size());
        read_infeasible();
        if (root_.has("infeasible_cells")) read_cells();
        if (root_.has("neighbours")) read_neighbours();
        find_pareto();
        return std::move(result_);
    }

private:
    void add_plan(JsonObject object, std::size_t index);
    void read_infeasible();
    void read_cells();
    void read_neighbours();
    void find_pareto();

    JsonObject root_;
    std::string name_;
    JobRequest base_;
    ReadSearch result_;
};

/// Plan and batch of an entry win over those of the search's job.
void SearchReader::add_plan(JsonObject object, std::size_t index) {
    SearchPlan found;
    Json job = Json::object();
    for (const char* part : {"plan", "batch"}) {
        if (std::string_view(part) == "batch" && !object.has(part)) continue;
        object.object(part);  // must be an object
        job[part] = object.at(part);
        for (const auto& [key, value] : job[part].items()) {
            found.plan[key == "micro_batch_size" ? "mbs" : key == "global_batch_size" ? "gbs" : key] = text_of(value);
        }
    }
    // Of a search over several sizes.
    if (const auto gpus = object.optional<int>("gpus", Range::positive)) {
        job["gpus"] = *gpus;
        found.plan["gpus"] = std::to_string(*gpus);
    }
    found.request = merge(base_, read_job_request(as_job(std::move(job)), fmt::format("{} plan {}", name_, index + 1)));
    for (const char* part : {"summary", "figures"}) {
        if (!object.has(part)) continue;
        object.object(part);  // must be an object
        found.figures.merge(figures_of(object.at(part)));
    }
    found.fits = found.figure("fits").value_or(1.0) != 0.0;
    found.infeasible = object.optional<std::string>("reason").value_or("");
    result_.plans.push_back(std::move(found));
}

void SearchReader::read_infeasible() {
    if (root_.has("infeasible")) {
        JsonObject counts = root_.object("infeasible");
        for (const auto& [reason, count] : root_.at("infeasible").items()) {
            result_.infeasible[reason] = counts.required<std::int64_t>(reason, Range::not_negative);
        }
    }
    if (!root_.has("infeasible_plans")) return;
    for (JsonObject& plan : root_.objects("infeasible_plans")) {
        plan.required<std::string>("reason");
        add_plan(plan, result_.plans.size());
    }
}

void SearchReader::read_cells() {
    for (JsonObject& cell : root_.objects("infeasible_cells")) {
        RefusedDegrees refused;
        refused.tp = cell.required<int>("tp", Range::positive);
        refused.pp = cell.required<int>("pp", Range::positive);
        JsonObject counts = cell.object("reasons");
        std::vector<std::pair<std::string, std::int64_t>> reasons;
        for (const std::string& reason : counts.unknown_keys()) {
            reasons.emplace_back(reason, counts.required<std::int64_t>(reason, Range::not_negative));
        }
        refused.reason = reasons_text(std::move(reasons));
        result_.refused.push_back(std::move(refused));
    }
}

void SearchReader::read_neighbours() {
    for (JsonObject& entry : root_.objects("neighbours")) {
        SearchNeighbour neighbour;
        neighbour.axis = entry.required<std::string>("axis");
        neighbour.from = entry.required<std::string>("from");
        neighbour.to = entry.required<std::string>("to");
        for (JsonObject& change : entry.objects("follows")) {
            const auto name = change.required<std::string>("name");
            neighbour.follows.push_back(name + " " + change.required<std::string>("to"));
        }
        neighbour.runs = entry.required<bool>("runs");
        neighbour.reason = entry.optional<std::string>("reason").value_or("");
        neighbour.missing_bytes = entry.optional<double>("missing_bytes", Range::not_negative);
        const auto figures = [&](const char* key) {
            if (!entry.has(key)) return std::map<std::string, double>{};
            entry.object(key);  // must be an object
            return figures_of(entry.at(key));
        };
        neighbour.step_ms = figures("step_difference_ms");
        neighbour.peak_bytes = figures("peak_memory_difference_bytes");
        result_.neighbours.push_back(std::move(neighbour));
    }
}

/// From little memory to much: a plan belongs to the front when it is faster than all with less.
void SearchReader::find_pareto() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < result_.plans.size(); ++i) {
        const SearchPlan& plan = result_.plans[i];
        const bool known = plan.figure("tokens_per_s") && plan.figure("peak_memory_bytes");
        if (known && plan.fits && plan.infeasible.empty()) order.push_back(i);
    }
    const auto memory = [&](std::size_t i) { return *result_.plans[i].figure("peak_memory_bytes"); };
    const auto speed = [&](std::size_t i) { return *result_.plans[i].figure("tokens_per_s"); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return memory(a) != memory(b) ? memory(a) < memory(b) : speed(a) > speed(b);
    });
    for (const std::size_t i : order) {
        if (result_.pareto.empty() || speed(i) > speed(result_.pareto.back())) result_.pareto.push_back(i);
    }
}

}  // namespace

std::optional<double> SearchPlan::figure(const std::string& key) const {
    const auto found = figures.find(key);
    return found == figures.end() ? std::nullopt : std::optional(found->second);
}

ReadSearch parse_search(const std::string& name, const std::string& text) {
    const Json json = parse_json(text, name, search_limit_bytes);
    return SearchReader(json, name).read();
}

ReadSearch read_search(const std::string& path) {
    return parse_search(path, read_text_file(path, search_limit_bytes));
}

}  // namespace foreshard
