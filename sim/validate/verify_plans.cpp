#include "sim/validate/verify_plans.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

constexpr std::string_view calibrate_mark = "calibrate:";

/// Both sizes of layers, both kinds of messages, gradients and activations: what the others are made of.
constexpr const char* full_plans = R"(
calibrate: --model gpt-mini --pp 2 --gbs 4
calibrate: --model gpt-mini --tp 2 --mbs 2 --gbs 4
calibrate: --model gpt-mini --num-layers 4 --hidden-size 384 --num-attention-heads 12 --ffn-hidden-size 1536 --dp 2 --gbs 4
calibrate: --model gpt-mini --dp 2 --gbs 2 --comm mpi
--model gpt-mini --dp 2 --gbs 4
--model gpt-mini --dp 2 --mbs 2 --gbs 4
--model gpt-mini --tp 2 --gbs 2
--model gpt-mini --num-layers 4 --hidden-size 384 --num-attention-heads 12 --ffn-hidden-size 1536 --tp 2 --gbs 2
--model gpt-mini --pp 2 --schedule gpipe --gbs 4
--model gpt-mini --pp 2 --schedule 1f1b --gbs 6
--model gpt-mini --pp 2 --schedule 1f1b --mbs 2 --gbs 8
--model gpt-mini --pp 2 --schedule zb-h1 --gbs 6
--model gpt-mini --pp 2 --schedule interleaved-1f1b --vpp 2 --mbs 2 --gbs 8
--model gpt-mini --num-layers 4 --hidden-size 384 --num-attention-heads 12 --ffn-hidden-size 1536 --pp 2 --gbs 4
--model gpt-mini --pp 2 --recompute full --gbs 4
--model gpt-mini --dp 2 --mbs 2 --gbs 4 --comm mpi
--model gpt-mini --tp 2 --mbs 2 --gbs 2 --comm mpi
--model gpt-mini --pp 2 --schedule 1f1b --gbs 4 --comm mpi
--model gpt-mini --pp 2 --schedule zb-h1 --mbs 2 --gbs 8 --comm mpi
)";

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
}

}  // namespace

VerifyPace pace_of(VerifyEffort effort) {
    return effort == VerifyEffort::quick ? VerifyPace{1, 1, 4} : VerifyPace{3, 2, 8};
}

std::vector<VerifyPlan> default_plans(VerifyEffort effort) {
    return parse_plans(effort == VerifyEffort::quick ? quick_plans : full_plans, "default plans");
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
