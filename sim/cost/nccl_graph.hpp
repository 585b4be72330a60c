#pragma once

#include "sim/plan/rank_grid.hpp"
#include "sim/spec/cluster_spec.hpp"
#include "sim/units.hpp"

/// What NCCL's topology search finds for a group of ranks: channels and their speeds.
namespace foreshard {

/// Channels of one algorithm. The search gives every channel the same speed.
struct NcclGraph {
    int channels = 0;
    BytesPerSecond intra;  ///< per channel, between GPUs of a node
    BytesPerSecond inter;  ///< per channel, between nodes
    bool plain_tree = false;

    BytesPerSecond total(int nodes) const { return (nodes <= 2 ? intra : inter) * channels; }
};

enum class NcclLink { nvlink, pci };
enum class NcclCpu { intel, amd };

/// All that the tuner knows of a communicator. A node is an NVLink domain where that is larger.
struct NcclTopology {
    int compute_capability = 80;  ///< 70, 80, 90, 100, ...
    int ranks = 1;
    int nodes = 1;
    NcclLink intra = NcclLink::nvlink;
    NcclCpu cpu = NcclCpu::intel;
    NcclGraph ring;
    NcclGraph tree;
    NcclGraph nvls;         ///< no channels: no NVLink SHARP
    int channels = 0;       ///< of the communicator, one thread block each
    int nvls_channels = 0;  ///< used by the NVLS algorithms instead

    int ranks_per_node() const { return ranks / nodes; }
};

/// Precondition: group.size > 1. Follows the rules of the search (NCCL 2.28.9 src/graph/search.cc), not the search
/// itself: one NIC per GPU at the cluster's rate per GPU, the CPU of the generation's reference box.
NcclTopology nccl_topology(const ClusterSpec& cluster, const GroupPlacement& group);

}  // namespace foreshard
