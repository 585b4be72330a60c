#include "sim/search/text_search.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/result/text_format.hpp"
#include "sim/search/plan_words.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

constexpr const char* search_columns =
    "  {:>3} {:>4} {:>4} {:>4} {:>5} {:>3} {:>4} {:<19} {:<9} {:>4} {:>10} {:>6} {:>9}{}  {}";

/// A line without blanks at its end.
template <class... Cells>
std::string search_line(const Cells&... cells) {
    std::string line = fmt::format(fmt::runtime(search_columns), cells...);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string sharding_word(const JobRequest& plan) {
    const std::string kind = plan.data_parallel.value_or("ddp");
    return kind == "ddp" ? fmt::format("{}", plan.zero.value_or(0)) : kind;
}

/// What tables of one search have in common.
struct PlanTable {
    FigureColumns figures;
    std::vector<std::string> axes;

    explicit PlanTable(const std::vector<FoundPlan>& plans) : figures(plans) {
        std::vector<const JobRequest*> requests;
        requests.reserve(plans.size());
        for (const FoundPlan& found : plans) requests.push_back(&found.plan);
        axes = varied_axes(requests);
    }
};

std::string search_row(std::size_t number, const FoundPlan& found, const PlanTable& table) {
    const JobRequest& plan = found.plan;
    const std::string schedule =
        plan.vpp.value_or(1) > 1 ? fmt::format("{} x{}", *plan.schedule, *plan.vpp) : *plan.schedule;
    const std::string tp = fmt::format("{}{}", *plan.tp, plan.sp.value_or(false) ? "s" : "");
    const std::string cp =
        plan.ep.value_or(1) > 1 ? fmt::format("{}/{}", *plan.cp, *plan.ep) : fmt::format("{}", *plan.cp);
    return search_line(number, tp, cp, *plan.pp, *plan.dp, *plan.mbs,
                       plan.layout || plan.account_for_loss_in_pipeline_split ? "u" : "", schedule,
                       recompute_words(plan), sharding_word(plan), milliseconds(found.summary.step_time_ms),
                       percent(found.summary.mfu_ratio), gibibytes(found.summary.peak_memory),
                       table.figures.cells(found.figures), axis_words(plan, table.axes));
}

std::string search_header(const PlanTable& table) {
    return search_line("", "tp", "cp", "pp", "dp", "mbs", "", "schedule", "recompute", "zero", "step", "MFU", "peak",
                       table.figures.header(), "");
}

/// Cells of what only some searches vary; empty where neither plan nor job say it.
std::string detail_cells(const JobRequest& plan) {
    std::string cells;
    for (const char* name : {"recompute_method", "recompute_num_layers", "precision", "order", "overlap_grad_reduce",
                             "overlap_param_gather", "tp_comm_overlap", "offload_optimizer", "offload_parameters",
                             "offload_activation_layers"}) {
        const std::string value = request_value(plan, name);
        cells += (value == "true" ? "1" : (value == "false" ? "0" : value)) + ",";
    }
    return cells;
}

std::string reasons_text(const SearchOutcome& result) {
    std::string text;
    std::vector<std::pair<std::int64_t, std::string>> counts;
    for (const auto& [reason, count] : result.infeasible) {
        const std::string words =
            reason == "memory" ? std::string("do not fit into memory") : "break a rule on " + reason;
        counts.emplace_back(count, words);
    }
    std::sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (const auto& [count, words] : counts) text += fmt::format("  {:>9} {}\n", count, words);
    return text;
}

}  // namespace

std::string plan_flags(const SearchOutcome& result, const FoundPlan& found) {
    JobRequest request = merge(result.base, found.plan);
    return request_flags(request);
}

std::string front_title(const std::string& title, std::size_t shown, std::size_t all) {
    return fmt::format("\n{}{}\n", title,
                       shown < all ? fmt::format(" ({} of {}; --json and --csv have all)", shown, all) : "");
}

std::string gap_text(bool complete, const std::optional<double>& gap_ratio) {
    if (complete || !gap_ratio) return "";
    const std::string more = *gap_ratio > 0.0 ? fmt::format("more than {:.2g} % ", 100.0 * *gap_ratio) : "";
    return fmt::format("ended early: no plan is {}better than the best one; other plans and front are those so far\n",
                       more);
}

std::string search_text(const SearchOutcome& result, int top) {
    std::string text = fmt::format("{} space: {} plans bounded, {} cut off with their branch, {} simulated\n",
                                   result.space, result.evaluated, result.pruned, result.simulated);
    text += gap_text(result.complete, result.gap_ratio);
    if (!result.plans.empty()) {
        const PlanTable table(result.plans);
        text += "\nbest plans\n" + search_header(table);
        const std::size_t shown = std::min(result.plans.size(), static_cast<std::size_t>(top));
        for (std::size_t i = 0; i < shown; ++i) text += search_row(i + 1, result.plans[i], table);
        const std::vector<std::size_t> front = thinned_front(result.front, front_rows);
        text += front_title("none is faster with as little memory", front.size(), result.front.size()) +
                search_header(table);
        for (const std::size_t i : front) text += search_row(i + 1, result.plans[i], table);
        text +=
            "\n  s: sequence parallel; cp/ep; u: uneven stages; peak is allocated\n"
            "  block n: n layers of every stage are recomputed; groups n: all, n at a time\n";
        text += table.figures.note(result.operation);
    }
    text += neighbours_text(result) + sensitivity_text(result);
    if (!result.infeasible.empty()) text += "\nplans that cannot run\n" + reasons_text(result);
    if (!result.plans.empty()) {
        text += fmt::format("\nthe best one\n  foreshard simulate {}\n", plan_flags(result, result.plans.front()));
    }
    return text;
}

std::vector<std::string> search_advice(const SearchOutcome& result) {
    std::vector<std::string> lines;
    if (!result.plans.empty() || result.stopped) return lines;
    if (result.closest && result.closest_need_gib) {
        lines.push_back(fmt::format("the plan that needs least takes {:.2f} GiB of {:.2f}, {:.2f} too much: {}",
                                    *result.closest_need_gib, result.memory_limit_gib,
                                    *result.closest_need_gib - result.memory_limit_gib,
                                    request_flags(result.closest->plan)));
    }
    for (const Relaxation& relaxation : result.relaxations) {
        lines.push_back(fmt::format("{}: then the best step takes {} with {} ({})", relaxation.change,
                                    milliseconds(relaxation.plan.summary.step_time_ms),
                                    gibibytes(relaxation.plan.summary.peak_memory),
                                    request_flags(relaxation.plan.plan)));
    }
    if (result.sought_relaxations && result.relaxations.empty())
        lines.emplace_back("no single constraint makes room for a plan");
    return lines;
}

std::string search_csv(const SearchOutcome& result) {
    return search_csv(result, FigureColumns(result.plans));
}

std::string search_csv(const SearchOutcome& result, const FigureColumns& figures) {
    std::string text =
        "tp,cp,ep,pp,dp,vpp,mbs,sp,schedule,recompute,zero,data_parallel,layout,recompute_method,"
        "recompute_num_layers,precision,order,overlap_grad_reduce,overlap_param_gather,tp_comm_overlap,"
        "offload_optimizer,offload_parameters,offload_activation_layers,step_time_ms,tokens_per_s_per_gpu,"
        "mfu_ratio,bubble_ratio,peak_memory_bytes,front,flags";
    text += figures.csv_header() + "\n";
    for (std::size_t i = 0; i < result.plans.size(); ++i) {
        const JobRequest& plan = result.plans[i].plan;
        const Summary& s = result.plans[i].summary;
        const bool front = std::find(result.front.begin(), result.front.end(), i) != result.front.end();
        text +=
            fmt::format(R"({},{},{},{},{},{},{},{},{},{},{},{},"{}",{}{},{},{},{},{},{},"{}")", *plan.tp, *plan.cp,
                        *plan.ep, *plan.pp, *plan.dp, *plan.vpp, *plan.mbs, *plan.sp ? 1 : 0, *plan.schedule,
                        *plan.recompute, *plan.zero, *plan.data_parallel, plan.layout.value_or(""),
                        detail_cells(merge(result.loaded, plan)), s.step_time_ms, s.tokens_per_s_per_gpu, s.mfu_ratio,
                        s.bubble_ratio, s.peak_memory, front ? 1 : 0, plan_flags(result, result.plans[i]));
        text += figures.csv_cells(result.plans[i].figures) + "\n";
    }
    return text;
}

}  // namespace foreshard
