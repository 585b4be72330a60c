#include "sim/validate/verify_plans.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

constexpr std::string_view calibrate_mark = "calibrate:";

/// What is calibrated on has both widths of layers, whole and halved, both sizes of micro-batches, and of each way of
/// communication ranks that meet inside passes and ranks that meet between them; benchmarks have its sizes. What is
/// predicted puts them together anew. WIDE: layers of 384 in place of 256.
constexpr const char* full_plans = R"(
calibrate: --model gpt-mini --pp 2 --gbs 4
calibrate: --model gpt-mini WIDE --tp 2 --mbs 2 --gbs 4
calibrate: --model gpt-mini --pp 2 --mbs 2 --gbs 4 --comm mpi
calibrate: --model gpt-mini --tp 2 --gbs 2 --comm mpi
--model gpt-mini --dp 2 --gbs 4
--model gpt-mini WIDE --dp 2 --gbs 4
--model gpt-mini --tp 2 --gbs 2
--model gpt-mini WIDE --tp 2 --gbs 2
--model gpt-mini --pp 2 --schedule gpipe --gbs 4
--model gpt-mini --pp 2 --schedule 1f1b --gbs 8
--model gpt-mini --pp 2 --schedule 1f1b --mbs 2 --gbs 8
--model gpt-mini --pp 2 --schedule zb-h1 --gbs 6
--model gpt-mini --pp 2 --schedule interleaved-1f1b --vpp 2 --mbs 2 --gbs 8
--model gpt-mini WIDE --pp 2 --gbs 4
--model gpt-mini --pp 2 --recompute full --gbs 4
--model gpt-mini --dp 2 --mbs 2 --gbs 4 --comm mpi
--model gpt-mini WIDE --dp 2 --gbs 2 --comm mpi
--model gpt-mini --tp 2 --mbs 2 --gbs 4 --comm mpi
--model gpt-mini --pp 2 --schedule 1f1b --gbs 6 --comm mpi
--model gpt-mini --pp 2 --schedule zb-h1 --mbs 2 --gbs 8 --comm mpi
)";
constexpr std::string_view wide_mark = "WIDE";
constexpr std::string_view wide =
    "--num-layers 4 --hidden-size 384 --ffn-hidden-size 1536 --num-attention-heads 12 --num-query-groups 12";

constexpr const char* quick_plans = R"(
calibrate: --model gpt-tiny --num-layers 4 --pp 2 --gbs 4
calibrate: --model gpt-tiny --num-layers 4 --tp 2 --gbs 2
calibrate: --model gpt-tiny --num-layers 4 --dp 2 --gbs 4
calibrate: --model gpt-tiny --num-layers 4 --dp 2 --gbs 2 --comm mpi
--model gpt-tiny --num-layers 4 --dp 2 --mbs 2 --gbs 4
--model gpt-tiny --num-layers 4 --tp 2 --mbs 2 --gbs 4
--model gpt-tiny --num-layers 4 --pp 2 --schedule gpipe --gbs 4
--model gpt-tiny --num-layers 4 --pp 2 --schedule zb-h1 --gbs 4
--model gpt-tiny --num-layers 4 --pp 2 --schedule 1f1b --gbs 4 --comm mpi
)";

void replace_all(std::string_view from, std::string_view to, std::string& text) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

std::string id_of(std::string flags) {
    replace_all("--model ", "", flags);
    replace_all("--", "", flags);
    return flags;
}

void parse_line(std::string line, VerifyPlan& plan) {
    plan.comm = "threads";
    if (line.starts_with(calibrate_mark)) {
        plan.calibrates = true;
        line.erase(0, calibrate_mark.size());
    }
    std::vector<std::string> words = words_of(line);
    const auto comm = std::find(words.begin(), words.end(), "--comm");
    if (comm != words.end() && comm + 1 != words.end()) {
        plan.comm = *(comm + 1);
        words.erase(comm, comm + 2);
    }
    for (const std::string& word : words) plan.flags += (plan.flags.empty() ? "" : " ") + word;
    plan.id = id_of(plan.flags);
}

}  // namespace

VerifyPace pace_of(VerifyEffort effort) {
    return effort == VerifyEffort::quick ? VerifyPace{1, 1, 4} : VerifyPace{5, 1, 5};
}

std::vector<VerifyPlan> default_plans(VerifyEffort effort) {
    std::string text = effort == VerifyEffort::quick ? quick_plans : full_plans;
    replace_all(wide_mark, wide, text);
    std::vector<VerifyPlan> plans = parse_plans(text, "default plans");
    for (VerifyPlan& plan : plans) replace_all(id_of(std::string(wide)), "wide", plan.id);
    return plans;
}

std::vector<VerifyPlan> parse_plans(const std::string& text, const std::string& source) {
    std::vector<VerifyPlan> plans;
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        line.erase(std::min(line.find('#'), line.size()));
        line.erase(0, std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (line.empty()) continue;
        VerifyPlan plan;
        parse_line(line, plan);
        if (plan.flags.empty()) {
            throw InputError(source, fmt::format("line {}", number), "has no job flags, e.g. --model gpt-mini --dp 2");
        }
        plans.push_back(std::move(plan));
    }
    const auto calibrates = [](const VerifyPlan& plan) { return plan.calibrates; };
    const auto marked = std::count_if(plans.begin(), plans.end(), calibrates);
    if (marked == 0 || marked == std::ssize(plans)) {
        throw InputError(source, "",
                         fmt::format("{} plans, {} of them marked 'calibrate:'; at least one must be marked, and one "
                                     "not, to predict",
                                     plans.size(), marked));
    }
    return plans;
}

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

}  // namespace foreshard
