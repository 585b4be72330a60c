#include "cli/found_plans.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/error.hpp"
#include "sim/search/json_search.hpp"
#include "sim/search/json_sweep.hpp"
#include "sim/search/text_search.hpp"
#include "sim/search/text_sweep.hpp"

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
    if (told(improvement)) tell(improvement_text(improvement));
    if (file_) write(improvement_json(improvement));
}

void FoundPlanLines::show(const SweepPoint& point, const Improvement& improvement) {
    if (told(improvement)) tell(sweep_improvement_text(point, improvement));
    if (file_) write(sweep_improvement_json(point, improvement));
}

void FoundPlanLines::tell(const std::string& line) const {
    fmt::print(stderr, "{}{}\n", terminal_ ? "\r\x1b[K" : "", line);
}

void FoundPlanLines::write(const std::string& line) {
    const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
    if (!written || std::fflush(file_.get()) != 0) {
        throw InputError("--jsonl", "", fmt::format("{}: cannot be written", name_));
    }
}

}  // namespace foreshard::cli
