#pragma once

#include <array>

/// Constants of NCCL's performance model, NCCL 2.28.9 src/graph/tuning.cc, topo.h and search.cc. Microseconds, and
/// GB/s (1e9 bytes), as NCCL states them. Order of protocols everywhere: LL, LL128, Simple.
namespace foreshard::nccl {

using PerProtocol = std::array<double, 3>;

/// One row per algorithm, in the order of NcclAlgorithm: ring, tree, NVLS, NVLSTree, PAT. Zero where NCCL has none.
using PerAlgorithm = std::array<PerProtocol, 5>;

inline constexpr PerAlgorithm base_latency = {{{6.6, 14.0, 8.4}, {6.8, 14.0, 8.4}, {}, {}, {8.0, 8.0, 8.0}}};
inline constexpr PerAlgorithm nvlink_latency = {
    {{0.6, 1.9, 3.4}, {0.6, 1.25, 4.0}, {0, 0, 25.0}, {0, 0, 25.0}, {0, 0, 4.0}}};
inline constexpr PerAlgorithm pci_latency = {{{1.0, 2.5, 5.7}, {1.0, 1.9, 4.0}, {}, {}, {0, 0, 4.0}}};
inline constexpr PerAlgorithm net_latency = {
    {{2.7, 4.0, 14.0}, {5.0, 8.5, 14.0}, {0, 0, 18.0}, {0, 0, 20.9}, {0, 0, 14.0}}};

/// Host cost of one hop while the ring crosses the network; three times that for Simple.
inline constexpr double net_overhead_intel = 1.0;
inline constexpr double net_overhead_amd = 2.0;
inline constexpr double net_overhead_simple = 3.0;

/// Values for 1 node, 2 nodes, more nodes.
using PerNodes = std::array<double, 3>;

/// What protocols and algorithms reach at best on one generation of GPUs.
struct Caps {
    PerNodes ll;  ///< of all channels together; across nodes NCCL takes the row of the CPU, see ll_cap_*
    PerNodes ring_ll128;
    PerNodes tree_ll128;
    PerNodes tree;
    PerNodes nvls_tree;
};
inline constexpr Caps volta_caps = {{39, 39, 20.4}, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}, {26.5, 18.5, 10}};
inline constexpr Caps ampere_caps = {{87.7, 22.5, 19}, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}, {24, 23.6, 17.8}};
inline constexpr Caps hopper_caps = {
    {141, 45, 35}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}, {0, 57.7, 45.5}};
inline constexpr Caps blackwell_caps = {
    {282, 90, 70}, {73.4, 34.6, 73.4}, {55.6, 31.67, 20}, {70, 42.8, 24}, {0, 96, 43.8}};

inline constexpr double nvls_efficiency_hopper = 0.85;
inline constexpr double nvls_efficiency_blackwell = 0.74;

/// Share of the tree's bandwidth that an all-reduce of 64 * 2^i bytes reaches; 1 beyond the table.
using TreeCorrection = std::array<double, 23>;
inline constexpr std::array<TreeCorrection, 3> tree_correction = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

/// One NVLink one way, as the search counts it.
inline constexpr double link_volta = 20.0;
inline constexpr double link_ampere = 20.0;
inline constexpr double link_hopper = 20.6;
inline constexpr double link_blackwell = 40.1;

/// PCIe x16, and what passes between GPUs through the CPU.
inline constexpr double pcie_gen3 = 12.0;
inline constexpr double pcie_gen4 = 24.0;
inline constexpr double pcie_gen5 = 48.0;
inline constexpr double cpu_amd = 16.0;
inline constexpr double cpu_intel = 22.0;

/// Speeds of a channel that the search tries, inside a node and across nodes.
inline constexpr std::array speeds_intra_ampere = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                                                   9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
inline constexpr std::array speeds_intra_hopper = {60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
inline constexpr std::array speeds_intra_blackwell = {90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
inline constexpr std::array speeds_inter_ampere = {48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                                                   7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
inline constexpr std::array speeds_inter_hopper = {48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                                   15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
inline constexpr std::array speeds_inter_blackwell = {96.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0,
                                                      17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

}  // namespace foreshard::nccl
