#include "sim/search/text_sweep.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/result/text_format.hpp"
#include "sim/search/plan_words.hpp"
#include "sim/search/text_objective.hpp"
#include "sim/search/text_search.hpp"

namespace foreshard {

namespace {

constexpr const char* sweep_columns = "  {:>6} {:>6} {:<49} {:>10} {:>11} {:>10} {:>6} {:>6} {:>9}";
constexpr std::size_t plan_width = 49;

std::string plan_words(const JobRequest& plan) {
    std::string words = fmt::format("tp{}{}", plan.tp.value_or(1), plan.sp.value_or(false) ? "s" : "");
    const auto add = [&](const char* name, int degree) {
        if (degree > 1) words += fmt::format(" {}{}", name, degree);
    };
    add("cp", plan.cp.value_or(1));
    add("ep", plan.ep.value_or(1));
    add("pp", plan.pp.value_or(1));
    add("dp", plan.dp.value_or(1));
    words += fmt::format(" mbs{}", plan.mbs.value_or(1));
    if (plan.pp.value_or(1) > 1) words += " " + plan.schedule.value_or("");
    if (plan.vpp.value_or(1) > 1) words += fmt::format(" x{}", *plan.vpp);
    if (plan.layout || plan.account_for_loss_in_pipeline_split.value_or(false)) words += " uneven";
    if (plan.recompute.value_or("none") != "none") words += " " + recompute_words(plan);
    const std::string kind = plan.data_parallel.value_or("ddp");
    if (kind != "ddp") words += " " + kind;
    if (plan.zero.value_or(0) > 0) words += fmt::format(" zero{}", *plan.zero);
    return shortened(words, plan_width);
}

std::string sweep_header(const FigureColumns& figures) {
    return fmt::format(fmt::runtime(sweep_columns), "gpus", "gbs", "plan", "step", "tokens/s", "/GPU", "effic.", "MFU",
                       "peak") +
           figures.header() + "\n";
}

/// The point's is that of its best plan.
std::optional<double> efficiency_of(const SweepPoint& point, const FoundPlan& found) {
    const double best = point.outcome->plans.front().summary.tokens_per_s_per_gpu;
    if (!point.efficiency_ratio || best <= 0.0) return std::nullopt;
    return *point.efficiency_ratio * found.summary.tokens_per_s_per_gpu / best;
}

std::string sweep_row(const SweepPoint& point, const FoundPlan& found, const FigureColumns& figures) {
    const Summary& s = found.summary;
    const std::optional<double> efficiency = efficiency_of(point, found);
    return fmt::format(fmt::runtime(sweep_columns), point.gpus, point.gbs, plan_words(found.plan),
                       milliseconds(s.step_time_ms), fmt::format("{:.0f}", s.tokens_per_s),
                       fmt::format("{:.1f}", s.tokens_per_s_per_gpu), efficiency ? percent(*efficiency) : "-",
                       percent(s.mfu_ratio), gibibytes(s.peak_memory)) +
           figures.cells(found.figures) + "\n";
}

FigureColumns figures_of(const SweepOutcome& result) {
    std::vector<const PlanFigures*> figures;
    for (std::size_t i = 0; i < result.plans.size(); ++i) figures.push_back(&result.plan(i).figures);
    return FigureColumns(figures);
}

class SweepText {
public:
    explicit SweepText(const SweepOutcome& result) : result_(result), figures_(figures_of(result)) {}

    std::string write() {
        counts();
        if (!result_.plans.empty()) {
            curve();
            std::vector<std::size_t> best(std::min(result_.plans.size(), static_cast<std::size_t>(result_.top)));
            for (std::size_t i = 0; i < best.size(); ++i) best[i] = i;
            table(fmt::format("\nbest plans of all sizes, by {}\n", to_string(result_.objective)), best);
            front("none takes less time a token with as little memory", result_.front);
            front("none takes less time a token for as little money", result_.cost_front);
            text_ +=
                "\n  s: sequence parallel; effic.: tokens/s a GPU over those of the smallest size with the batch\n";
            const SearchOutcome& of_best = *result_.best_point().outcome;
            text_ += figures_.note(of_best.operation) + neighbours_text(of_best) + sensitivity_text(of_best);
        }
        without_plan();
        if (!result_.plans.empty()) {
            text_ += fmt::format("\nthe best one\n  foreshard simulate {}\n",
                                 plan_flags(*result_.best_point().outcome, result_.plan(0)));
        }
        return std::move(text_);
    }

private:
    void counts();
    void curve();
    void table(const std::string& title, const std::vector<std::size_t>& plans);
    void front(const std::string& title, const std::vector<std::size_t>& plans);
    void without_plan();

    const SweepOutcome& result_;
    FigureColumns figures_;
    std::string text_;
};

void SweepText::counts() {
    std::int64_t evaluated = 0;
    std::int64_t pruned = 0;
    std::int64_t simulated = 0;
    bool complete = true;
    std::optional<double> widest;
    std::string space;
    for (const SweepPoint& point : result_.points) {
        if (!point.outcome) continue;
        space = point.outcome->space;
        evaluated += point.outcome->evaluated;
        pruned += point.outcome->pruned;
        simulated += point.outcome->simulated;
        complete &= point.outcome->complete;
        widest = std::max(widest, point.outcome->gap_ratio);
    }
    text_ += fmt::format("{} space, {} sizes: {} plans bounded, {} cut off with their branch, {} simulated\n", space,
                         result_.points.size(), evaluated, pruned, simulated);
    text_ += gap_text(complete, widest);
}

void SweepText::curve() {
    text_ += "\nscaling: the best plan of each size\n" + sweep_header(figures_);
    for (const SweepPoint& point : result_.points) {
        if (point.feasible()) text_ += sweep_row(point, point.outcome->plans.front(), figures_);
    }
}

void SweepText::table(const std::string& title, const std::vector<std::size_t>& plans) {
    text_ += title + sweep_header(figures_);
    for (const std::size_t i : plans) {
        text_ += sweep_row(result_.points[result_.plans[i].point], result_.plan(i), figures_);
    }
}

void SweepText::front(const std::string& title, const std::vector<std::size_t>& plans) {
    const std::vector<std::size_t> some = thinned_front(plans, front_rows);
    if (!some.empty()) table(front_title(title, some.size(), plans.size()), some);
}

void SweepText::without_plan() {
    std::string lines;
    for (const SweepPoint& point : result_.points) {
        if (!point.feasible()) lines += fmt::format("  {:>6} {:>6} {}\n", point.gpus, point.gbs, point.reason);
    }
    if (!lines.empty()) text_ += "\nsizes without a plan\n" + lines;
}

std::string csv_quoted(const std::string& text) {
    std::string cell = "\"";
    for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell + "\"";
}

/// Lines of a CSV without its header.
std::vector<std::string> rows_of(const std::string& csv, std::string& header) {
    std::vector<std::string> rows;
    std::size_t begin = 0;
    for (std::size_t end = csv.find('\n'); end != std::string::npos; end = csv.find('\n', begin)) {
        rows.push_back(csv.substr(begin, end - begin));
        begin = end + 1;
    }
    header = rows.front();
    rows.erase(rows.begin());
    return rows;
}

}  // namespace

std::string sweep_text(const SweepOutcome& result) {
    return SweepText(result).write();
}

std::string sweep_improvement_text(const SweepPoint& point, const Improvement& improvement) {
    return fmt::format("{} GPUs, batch {}: {}", point.gpus, point.gbs, improvement_text(improvement));
}

std::string sweep_csv(const SweepOutcome& result) {
    const FigureColumns figures = figures_of(result);
    std::string lines;
    std::string header;
    for (const SweepPoint& point : result.points) {
        const std::string size = fmt::format("{},{}", point.gpus, point.gbs);
        const std::vector<std::string> rows =
            rows_of(search_csv(point.outcome.value_or(SearchOutcome{}), figures), header);
        if (!point.feasible()) {
            const auto empty = static_cast<std::size_t>(std::count(header.begin(), header.end(), ','));
            lines += fmt::format("{},,,,{},{}\n", size, csv_quoted(point.reason), std::string(empty, ','));
        }
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const FoundPlan& found = point.outcome->plans[i];
            lines += fmt::format("{},{},{},{},,{}\n", size, i + 1, found.summary.tokens_per_s,
                                 efficiency_of(point, found).value_or(1.0), rows[i]);
        }
    }
    return "gpus,global_batch_size,rank,tokens_per_s,efficiency_ratio,reason," + header + "\n" + lines;
}

std::vector<std::string> sweep_advice(const SweepOutcome& result) {
    std::vector<std::string> lines;
    if (!result.plans.empty() || result.stopped) return lines;
    for (const SweepPoint& point : result.points) {
        lines.push_back(fmt::format("{} GPUs, batch {}: {}", point.gpus, point.gbs, point.reason));
    }
    const auto largest = std::find_if(result.points.rbegin(), result.points.rend(),
                                      [](const SweepPoint& point) { return point.outcome.has_value(); });
    if (largest == result.points.rend()) return lines;
    const std::vector<std::string> advice = search_advice(*largest->outcome);
    lines.insert(lines.end(), advice.begin(), advice.end());
    return lines;
}

}  // namespace foreshard
