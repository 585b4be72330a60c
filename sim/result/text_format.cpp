#include "sim/result/text_format.hpp"

#include <fmt/format.h>

#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

std::string digits(double value) {
    if (value >= 100.0) return fmt::format("{:.0f}", value);
    return value >= 10.0 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string milliseconds(double ms) {
    if (ms >= 10000.0) return digits(ms / 1000.0) + " s";
    if (ms >= 1.0 || ms == 0.0) return ms >= 1000.0 ? fmt::format("{:.0f} ms", ms) : digits(ms) + " ms";
    return digits(ms * 1000.0) + " us";
}

std::string percent(double ratio) {
    return fmt::format("{:.1f} %", 100.0 * ratio);
}

double in_gib(ByteCount bytes) {
    return static_cast<double>(bytes) / gibi;
}

std::string gibibytes(ByteCount bytes) {
    return fmt::format("{:.2f} GiB", in_gib(bytes));
}

std::string shortened(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string verdict_reason(const Summary& summary) {
    switch (summary.verdict) {
        case MemoryVerdict::fits:
            return fmt::format("{} usable", gibibytes(summary.memory_capacity));
        case MemoryVerdict::tight:
            return "allocated fits, allocated with fragmentation does not";
        case MemoryVerdict::does_not_fit:
            return fmt::format("allocated and runtime exceed the usable {}", gibibytes(summary.memory_capacity));
    }
    return "";
}

double exposed_ms(const RankAccount& account) {
    return to_milliseconds(account[static_cast<std::size_t>(Account::exposed_pp)] +
                           account[static_cast<std::size_t>(Account::exposed_dp)] +
                           account[static_cast<std::size_t>(Account::exposed_offload)]);
}

std::vector<std::size_t> shown_ranks(std::size_t count) {
    constexpr std::size_t all = 16;
    std::vector<std::size_t> ranks;
    for (std::size_t r = 0; r < count; ++r) {
        if (count <= all || r < 8 || r + 4 >= count) ranks.push_back(r);
    }
    return ranks;
}

}  // namespace foreshard
