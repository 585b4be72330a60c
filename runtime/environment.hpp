#pragma once

#include <string>

#include "sim/spec/cluster_spec.hpp"

/// The machine that a run is made on.
namespace foreshard::runtime {

struct Environment {
    std::string host;
    std::string processor;
    int cores = 0;
    double clock_ghz = 0.0;  ///< as the system tells it; 0: unknown
    ByteCount memory = 0;
    std::string compiler;
    std::string mpi;  ///< empty: not used
};
Environment this_environment();

/// The machine as a cluster of one node with a place for every rank, so that a plan for it resolves. Its peaks are
/// nominal: cores x clock x 32 FLOPs (two 256-bit fused multiply-adds in fp32).
ClusterSpec this_machine(const Environment& environment, int ranks);

}  // namespace foreshard::runtime
