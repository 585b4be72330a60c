#include "sim/search/json_sweep.hpp"

#include <array>

#include "sim/search/json_objective.hpp"
#include "sim/search/json_plan.hpp"

namespace foreshard {

namespace {

/// Counts and times of single searches that a sweep adds up.
constexpr std::array<const char*, 5> summed_keys = {"evaluated", "pruned", "refined", "simulated",
                                                    "estimate_elapsed_s"};

OrderedJson sized(const OrderedJson& entry, const SweepPoint& point) {
    OrderedJson with_size = {{"gpus", point.gpus}};
    for (const auto& [key, value] : entry.items()) with_size[key] = value;
    with_size["batch"]["global_batch_size"] = point.gbs;
    return with_size;
}

class SweepDocument {
public:
    explicit SweepDocument(const SweepOutcome& result) : result_(result) {
        for (const SweepPoint& point : result.points) {
            documents_.push_back(point.outcome ? search_document(*point.outcome) : OrderedJson());
        }
    }

    OrderedJson make() {
        add_head();
        add_plans();
        add_curve();
        add_infeasible();
        if (!result_.plans.empty()) {
            json_["sweep_front"] = result_.front;
            if (!result_.cost_front.empty()) json_["sweep_cost_front"] = result_.cost_front;
            add_explanations();
        }
        return std::move(json_);
    }

private:
    void add_head();
    void add_plans();
    void add_curve();
    void add_infeasible();
    void add_explanations();
    static OrderedJson curve_of(const FoundPlan& best);

    const SweepOutcome& result_;
    std::vector<OrderedJson> documents_;  ///< of the points; null where nothing was searched
    OrderedJson json_;
};

/// What all sizes share: the head of any of them, without its size.
void SweepDocument::add_head() {
    for (const OrderedJson& document : documents_) {
        if (document.is_null()) continue;
        if (json_.is_null()) {
            for (const char* key :
                 {"schema", "schema_version", "job", "objective", "operation", "train_tokens", "space", "evaluated",
                  "pruned", "refined", "simulated", "threads", "estimate_elapsed_s"}) {
                if (document.contains(key)) json_[key] = document[key];
            }
            continue;
        }
        for (const char* key : summed_keys) {
            if (document[key].is_number_float()) {
                json_[key] = json_[key].get<double>() + document[key].get<double>();
            } else {
                json_[key] = json_[key].get<std::int64_t>() + document[key].get<std::int64_t>();
            }
        }
    }
    if (json_.is_null()) {
        // Stopped before anything was searched.
        json_ = {{"schema", "foreshard.search"}, {"schema_version", "1.0"}, {"space", ""}, {"threads", 0}};
        for (const char* key : summed_keys) json_[key] = 0;
    } else {
        json_["job"].erase("gpus");
        json_["job"]["batch"].erase("global_batch_size");
    }
    json_["elapsed_s"] = result_.elapsed_s;
}

void SweepDocument::add_plans() {
    json_["plans"] = OrderedJson::array();
    for (const SweepPlan& place : result_.plans) {
        json_["plans"].push_back(sized(documents_[place.point]["plans"][place.plan], result_.points[place.point]));
    }
}

OrderedJson SweepDocument::curve_of(const FoundPlan& best) {
    OrderedJson json = {{"step_time_ms", best.summary.step_time_ms},
                        {"tokens_per_s", best.summary.tokens_per_s},
                        {"tokens_per_s_per_gpu", best.summary.tokens_per_s_per_gpu},
                        {"mfu_ratio", best.summary.mfu_ratio},
                        {"peak_memory_bytes", best.summary.peak_memory}};
    add_figures(best.figures, json);
    return json;
}

void SweepDocument::add_curve() {
    json_["sweep"] = OrderedJson::array();
    for (std::size_t p = 0; p < result_.points.size(); ++p) {
        const SweepPoint& point = result_.points[p];
        OrderedJson row = {{"gpus", point.gpus}, {"global_batch_size", point.gbs}};
        if (point.feasible()) {
            row.update(curve_of(point.outcome->plans.front()));
            if (point.efficiency_ratio) row["efficiency_ratio"] = *point.efficiency_ratio;
            row["plans"] = OrderedJson::array();
            for (std::size_t i = 0; i < result_.plans.size(); ++i) {
                if (result_.plans[i].point == p) row["plans"].push_back(i);
            }
        } else {
            row["reason"] = point.reason;
        }
        if (point.outcome) {
            for (const char* key : {"evaluated", "pruned", "simulated", "infeasible", "complete", "gap_ratio"}) {
                if (documents_[p].contains(key)) row[key] = documents_[p][key];
            }
        }
        json_["sweep"].push_back(row);
    }
}

void SweepDocument::add_infeasible() {
    json_["infeasible"] = OrderedJson::object();
    OrderedJson closest = OrderedJson::array();
    for (std::size_t p = 0; p < documents_.size(); ++p) {
        const OrderedJson& document = documents_[p];
        if (document.is_null()) continue;
        for (const auto& [reason, count] : document["infeasible"].items()) {
            json_["infeasible"][reason] =
                json_["infeasible"].value(reason, std::int64_t{0}) + count.get<std::int64_t>();
        }
        if (!document.contains("infeasible_plans")) continue;
        for (const OrderedJson& plan : document["infeasible_plans"]) closest.push_back(sized(plan, result_.points[p]));
    }
    if (!closest.empty()) json_["infeasible_plans"] = closest;
}

/// Of the best plan of all.
void SweepDocument::add_explanations() {
    const OrderedJson& best = documents_[result_.plans.front().point];
    for (const char* key : {"neighbours", "sensitivity"}) {
        if (!best.contains(key)) continue;
        json_[key] = OrderedJson::array();
        for (const OrderedJson& entry : best[key]) json_[key].push_back(sized(entry, result_.best_point()));
    }
}

}  // namespace

std::string sweep_json(const SweepOutcome& result) {
    return SweepDocument(result).make().dump(1) + "\n";
}

std::string sweep_improvement_json(const SweepPoint& point, const Improvement& improvement) {
    return sized(improvement_document(improvement), point).dump() + "\n";
}

}  // namespace foreshard
