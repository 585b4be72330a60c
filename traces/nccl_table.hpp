#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/fit/measurements.hpp"

/// A table of nccl-tests, whatever form it was written in.
namespace foreshard {

struct NcclRow {
    int row = 0;  ///< line of a text, index of a list
    double bytes = 0.0;
    std::string redop;  ///< empty where the table has no such column
    double time_us = 0.0;
    double algbw = 0.0;
    double busbw = 0.0;
    double wrong = 0.0;
};

struct NcclTable {
    std::string test;  ///< words that may name the program: "./build/all_reduce_perf -g 8"; empty: not known
    int ranks = 0;     ///< 0: not known
    std::set<std::string> hosts{};
    std::vector<NcclRow> rows{};
};

/// Enters a table's rows. The collective is the one that the test or the file is named after; else it follows from the
/// reduction and the ratio of the two bandwidths, where these leave one possibility. The number of ranks may follow
/// from that ratio too. Tables of several hosts and rows with wrong results are rejected.
/// @throws InputError when the collective or the number of ranks stays open
void add_nccl_table(const NcclTable& table, const std::string& file, Measurements& into);

}  // namespace foreshard
