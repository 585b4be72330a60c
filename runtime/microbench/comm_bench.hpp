#pragma once

#include "runtime/comm/communicators.hpp"
#include "runtime/microbench/bench_row.hpp"
#include "runtime/ranks.hpp"

namespace foreshard::runtime {

/// What the ranks of a plan send each other: every kind of group (channel and size), every operation, every size.
/// Groups of a kind that have no rank in common work at the same time, as they do in a step. All ranks call it; the
/// times are means over the ranks that take part, complete on every rank.
std::vector<BenchRow> bench_communication(Device& device, Transport& transport,
                                          const std::vector<Communicator>& communicators, const BenchSizes& sizes);

/// A GEMM alone, a collective of the largest group alone, and both at a time: how much each slows the other down.
std::vector<BenchRow> bench_overlap(Device& device, Transport& transport,
                                    const std::vector<Communicator>& communicators, const BenchSizes& sizes);

}  // namespace foreshard::runtime
