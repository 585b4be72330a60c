#include "cli/messages.hpp"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

namespace foreshard::cli {

namespace {

bool use_colour() {
    const char* no_color = std::getenv("NO_COLOR");
    const bool refused = no_color != nullptr && *no_color != '\0';
    return !refused && isatty(STDERR_FILENO) == 1;
}

void print(const char* label, const char* colour, const std::string& text) {
    if (use_colour()) {
        fmt::print(stderr, "{}{}:\x1b[0m {}\n", colour, label, text);
    } else {
        fmt::print(stderr, "{}: {}\n", label, text);
    }
}

}  // namespace

void print_error(const std::string& text) {
    print("error", "\x1b[1;31m", text);
}

void print_warning(const std::string& text) {
    print("warning", "\x1b[1;33m", text);
}

void print_broken_rules(const std::vector<BrokenRule>& rules) {
    for (const BrokenRule& rule : rules) {
        const std::string nearest = rule.nearest.empty() ? "" : "; nearest valid: " + rule.nearest;
        print_error(fmt::format("{}: {}{}", rule.fields, rule.rule, nearest));
    }
}

}  // namespace foreshard::cli
