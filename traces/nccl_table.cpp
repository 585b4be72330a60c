#include "traces/nccl_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "traces/measurement_readers.hpp"

namespace foreshard {

namespace {

/// Programs of nccl-tests, with the collective that plans use. Longer names come before those that they contain.
struct Test {
    std::string_view name;
    std::optional<CollectiveKind> kind;
};
constexpr std::array<Test, 14> tests = {{{"all_reduce", CollectiveKind::all_reduce},
                                         {"allreduce", CollectiveKind::all_reduce},
                                         {"all_gather", CollectiveKind::all_gather},
                                         {"allgather", CollectiveKind::all_gather},
                                         {"reduce_scatter", CollectiveKind::reduce_scatter},
                                         {"reducescatter", CollectiveKind::reduce_scatter},
                                         {"alltoall", CollectiveKind::all_to_all},
                                         {"all_to_all", CollectiveKind::all_to_all},
                                         {"broadcast", CollectiveKind::broadcast},
                                         {"sendrecv", CollectiveKind::send_recv},
                                         {"hypercube", std::nullopt},
                                         {"scatter", std::nullopt},
                                         {"gather", std::nullopt},
                                         {"reduce", CollectiveKind::reduce}}};

const Test* named_in(const std::string& text) {
    for (const Test& test : tests) {
        if (text.find(test.name) != std::string::npos) return &test;
    }
    return nullptr;
}

/// Bus over algorithm bandwidth at the row where both have most digits; 0 when no row tells.
double bandwidth_ratio(const NcclTable& table) {
    constexpr double enough_digits = 10.0;
    const auto most = std::max_element(table.rows.begin(), table.rows.end(),
                                       [](const NcclRow& a, const NcclRow& b) { return a.algbw < b.algbw; });
    return most != table.rows.end() && most->algbw >= enough_digits ? most->busbw / most->algbw : 0.0;
}

bool near(double a, double b) {
    constexpr double tolerance = 0.01;
    return std::abs(a - b) < tolerance;
}

bool reduces(const NcclTable& table) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [](const NcclRow& row) { return !row.redop.empty() && row.redop != "none"; });
}

/// By the ratio 2(n-1)/n, (n-1)/n or 1. Gathers and exchanges cannot be told apart, nor can roots.
std::optional<CollectiveKind> kind_by_ratio(const NcclTable& table) {
    const double ratio = bandwidth_ratio(table);
    const double share = static_cast<double>(table.ranks - 1) / table.ranks;
    if (table.ranks < 3 || !reduces(table)) return std::nullopt;  // with two ranks 2(n-1)/n is 1
    if (near(ratio, 2.0 * share)) return CollectiveKind::all_reduce;
    if (near(ratio, share)) return CollectiveKind::reduce_scatter;
    return std::nullopt;
}

int ranks_by_ratio(const NcclTable& table, CollectiveKind kind) {
    constexpr int most = 1024;
    const double ratio = bandwidth_ratio(table);
    const bool twice = kind == CollectiveKind::all_reduce;
    for (int ranks = 2; ranks <= most && ratio > 0.0; ++ranks) {
        const double share = static_cast<double>(ranks - 1) / ranks;
        const double next = static_cast<double>(ranks) / (ranks + 1);
        const double factor = twice ? 2.0 : 1.0;
        if (std::abs(ratio - factor * share) < factor * (next - share) / 4.0) return ranks;
    }
    return 0;
}

std::string told(const std::string& text) {
    return text.empty() ? "nothing" : "'" + text + "'";
}

/// The collective, or none when it is one that plans do not use.
std::optional<CollectiveKind> kind_of_table(const NcclTable& table, const std::string& file) {
    const Test* test = named_in(table.test);
    if (test == nullptr) test = named_in(std::filesystem::path(file).filename().string());
    if (test != nullptr) return test->kind;
    if (const auto kind = kind_by_ratio(table)) return kind;
    throw InputError(file, "",
                     fmt::format("which collective was measured? {} names one, and bandwidths do not tell; name the "
                                 "file after it, e.g. all_reduce.txt",
                                 told(table.test)));
}

std::string reason_against(const NcclRow& row) {
    if (row.wrong > 0.0) return fmt::format("{} wrong results", row.wrong);
    if (!(row.bytes > 0.0)) return "no bytes";
    return reason_against_time(row.time_us);
}

}  // namespace

void add_nccl_table(const NcclTable& table, const std::string& file, Measurements& into) {
    if (table.rows.empty()) return;
    const auto kind = kind_of_table(table, file);
    const int ranks = kind && table.ranks == 0 ? ranks_by_ratio(table, *kind) : table.ranks;
    const std::string name = kind ? std::string(to_string(*kind)) : "collective";
    if (kind && ranks < 2) {
        throw InputError(
            file, fmt::format("line {}", table.rows.front().row),
            fmt::format("{} over {} ranks: there must be two or more, told by lines '#  Rank'", name, ranks));
    }
    for (const NcclRow& row : table.rows) {
        std::string reason = reason_against(row);
        if (!kind) reason = "no plan uses this collective";
        if (table.hosts.size() > 1) reason = fmt::format("over {} hosts; one node is calibrated", table.hosts.size());
        if (!reason.empty()) {
            reject_value(into, row.row, name, row.time_us, reason);
        } else {
            into.communication.push_back({*kind, ranks, row.bytes, row.time_us, {input_index(into), row.row}});
        }
    }
}

}  // namespace foreshard
