#include "cli/found_plans.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/error.hpp"
#include "sim/search/json_search.hpp"
#include "sim/search/text_search.hpp"

namespace foreshard::cli {

void FoundPlanLines::Close::operator()(std::FILE* file) const {
    if (file != stdout) std::fclose(file);
}

FoundPlanLines::FoundPlanLines(const std::optional<std::string>& file, bool verbose)
    : name_(file.value_or("")), terminal_(isatty(STDERR_FILENO) == 1), told_(verbose || terminal_) {
    if (!file) return;
    file_.reset(name_ == "-" ? stdout : std::fopen(name_.c_str(), "w"));
    if (!file_) throw InputError("--jsonl", "", fmt::format("{}: cannot be written", name_));
}

void FoundPlanLines::show(const Improvement& improvement) {
    if (told_ && (improvement.fastest || improvement.on_front)) {
        fmt::print(stderr, "{}{}\n", terminal_ ? "\r\x1b[K" : "", improvement_text(improvement));
    }
    if (!file_) return;
    const std::string line = improvement_json(improvement);
    const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
    if (!written || std::fflush(file_.get()) != 0) {
        throw InputError("--jsonl", "", fmt::format("{}: cannot be written", name_));
    }
}

}  // namespace foreshard::cli
