#include "sim/cost/nccl_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

/// Golden values are NCCL 2.28.9's own: its graph search and tuner, run on descriptions of these boxes.
namespace foreshard {

namespace {

constexpr double mebi = 1024.0 * 1024.0;

NcclTopology topology_of(const std::string& cluster, int per_node, int nodes) {
    return nccl_topology(load_cluster(cluster), {per_node * nodes, per_node, nodes});
}

std::string combination(NcclAlgorithm algorithm, NcclProtocol protocol) {
    return fmt::format("{}/{}", to_string(algorithm), to_string(protocol));
}

std::string pick(const NcclTuner& tuner, CollectiveKind kind, double message) {
    const NcclChoice choice = tuner.choose(kind, Bytes(message));
    return combination(choice.algorithm, choice.protocol);
}

std::string graph_text(const NcclGraph& graph) {
    return fmt::format("{} x {:.0f}/{:.0f}{}", graph.channels, graph.intra.value / 1e9, graph.inter.value / 1e9,
                       graph.plain_tree ? " plain" : "");
}

struct Golden {
    const char* cluster;
    int per_node;
    int nodes;
    CollectiveKind kind;
    NcclAlgorithm algorithm;
    NcclProtocol protocol;
    double latency_us;
    double algbw;  ///< GB/s
};

using enum NcclProtocol;
constexpr CollectiveKind all_reduce = CollectiveKind::all_reduce;
constexpr CollectiveKind all_gather = CollectiveKind::all_gather;
constexpr CollectiveKind reduce_scatter = CollectiveKind::reduce_scatter;
constexpr NcclAlgorithm ring = NcclAlgorithm::ring;
constexpr NcclAlgorithm tree = NcclAlgorithm::tree;

const std::vector<Golden> goldens = {
    {"dgx-1-v100", 8, 1, all_reduce, tree, simple, 64.4, 55.2},
    {"dgx-1-v100", 8, 1, all_reduce, ring, ll, 15.0, 22.3},
    {"dgx-1-v100", 8, 1, all_gather, ring, ll128, 27.3, 126.2},
    {"dgx-a100-80g", 2, 1, all_reduce, tree, ll, 8.0, 37.9},
    {"dgx-a100-80g", 4, 1, all_reduce, ring, ll128, 25.4, 147.2},
    {"dgx-a100-80g", 8, 1, all_reduce, ring, simple, 56.0, 137.1},
    {"dgx-a100-80g", 8, 2, all_reduce, tree, ll128, 48.5, 80.0},
    {"dgx-a100-80g", 8, 2, all_reduce, ring, simple, 204.4, 102.4},
    {"dgx-a100-80g", 8, 16, reduce_scatter, ring, ll, 271.1, 19.1},
    {"dgx-h100", 2, 1, all_reduce, NcclAlgorithm::nvls, simple, 25.0, 102.0},
    {"dgx-h100", 8, 1, all_reduce, NcclAlgorithm::nvls, simple, 25.0, 272.0},
    {"dgx-h100", 8, 1, all_gather, NcclAlgorithm::nvls, simple, 25.0, 208.2},
    {"dgx-h100", 8, 2, all_reduce, NcclAlgorithm::nvls_tree, simple, 66.8, 246.2},
    {"dgx-h100", 8, 16, all_reduce, NcclAlgorithm::nvls_tree, simple, 192.2, 183.4},
    {"dgx-h100", 8, 128, all_gather, ring, ll128, 2224.4, 293.9},
    {"dgx-h100", 1, 64, all_gather, NcclAlgorithm::pat, simple, 211.2, 36.0},
    {"dgx-h100", 1, 64, all_reduce, tree, ll, 66.8, 4.9},
    {"dgx-b200", 8, 1, all_reduce, NcclAlgorithm::nvls, simple, 25.0, 411.4},
    {"dgx-b200", 8, 4, all_reduce, ring, ll128, 144.4, 182.3},
    {"dgx-b300", 8, 4, all_reduce, tree, simple, 120.4, 163.2},
    {"l40s-pcie", 8, 1, all_reduce, ring, simple, 88.2, 8.6},
};

/// One unit in the last printed digit, or 1 %.
double tolerance(double printed) {
    return std::max(0.051, 0.01 * printed);
}

TEST(NcclTuner, ReproducesSampleLatenciesAndBandwidths) {
    for (const Golden& golden : goldens) {
        const NcclTuner tuner(topology_of(golden.cluster, golden.per_node, golden.nodes));
        const auto cost = tuner.cost(golden.kind, golden.algorithm, golden.protocol);
        const std::string name = fmt::format("{} {}x{} {}", golden.cluster, golden.nodes, golden.per_node,
                                             combination(golden.algorithm, golden.protocol));
        ASSERT_TRUE(cost.has_value()) << name;
        EXPECT_NEAR(cost->latency.value * 1e6, golden.latency_us, tolerance(golden.latency_us)) << name;
        EXPECT_NEAR(cost->bandwidth.value / 1e9, golden.algbw, tolerance(golden.algbw)) << name;
    }
}

TEST(NcclTuner, OffersWhatNcclOffers) {
    const auto offered = [](const std::string& cluster, int per_node, int nodes, CollectiveKind kind,
                            NcclAlgorithm algorithm, NcclProtocol protocol) {
        return NcclTuner(topology_of(cluster, per_node, nodes)).cost(kind, algorithm, protocol).has_value();
    };
    EXPECT_FALSE(offered("dgx-a100-80g", 8, 1, all_reduce, NcclAlgorithm::nvls, simple)) << "no NVLink SHARP";
    EXPECT_FALSE(offered("hgx-h100-4gpu", 4, 1, all_reduce, NcclAlgorithm::nvls, simple)) << "no switch";
    EXPECT_FALSE(offered("dgx-h100", 8, 2, all_reduce, NcclAlgorithm::nvls, simple)) << "needs SHARP in the network";
    EXPECT_FALSE(offered("dgx-h100", 8, 1, all_reduce, NcclAlgorithm::nvls_tree, simple)) << "one node";
    EXPECT_FALSE(offered("dgx-h100", 8, 2, all_gather, NcclAlgorithm::nvls_tree, simple));
    EXPECT_FALSE(offered("dgx-h100", 1, 8, all_reduce, NcclAlgorithm::pat, simple));
    EXPECT_FALSE(offered("dgx-h100", 2, 8, all_gather, NcclAlgorithm::pat, simple)) << "two ranks a node";
    EXPECT_FALSE(offered("dgx-h100", 8, 2, all_gather, tree, ll));
    EXPECT_FALSE(offered("l40s-pcie", 8, 1, all_reduce, ring, ll128)) << "PCIe";
    EXPECT_FALSE(offered("gb200-nvl72", 72, 1, all_gather, NcclAlgorithm::nvls, simple)) << "more than 8 ranks";
    EXPECT_TRUE(offered("gb200-nvl72", 72, 1, all_reduce, NcclAlgorithm::nvls, simple));
}

struct SwitchPoints {
    const char* cluster;
    int per_node;
    int nodes;
    CollectiveKind kind;
    std::vector<std::pair<double, std::string>> from;  ///< size from which a combination is chosen
};

TEST(NcclTuner, SwitchesWhereNcclSwitches) {
    const std::vector<SwitchPoints> tables = {
        {"dgx-a100-80g", 8, 1, all_reduce, {{8, "Ring/LL"}, {4 * mebi, "Ring/LL128"}, {32 * mebi, "Ring/Simple"}}},
        {"dgx-h100", 8, 1, all_reduce, {{8, "Ring/LL"}, {2 * mebi, "NVLS/Simple"}}},
        {"dgx-h200", 8, 1, all_reduce, {{8, "Ring/LL"}, {2 * mebi, "NVLS/Simple"}}},
        {"dgx-b200", 8, 1, all_reduce, {{8, "Ring/LL"}, {4 * mebi, "NVLS/Simple"}}},
        {"dgx-a100-80g",
         8,
         2,
         all_reduce,
         {{8, "Tree/LL"}, {mebi / 4, "Tree/LL128"}, {16 * mebi, "Ring/LL128"}, {128 * mebi, "Ring/Simple"}}},
        {"dgx-h100", 8, 2, all_reduce, {{8, "Tree/LL"}, {mebi / 4, "Tree/LL128"}, {2 * mebi, "NVLSTree/Simple"}}},
        {"dgx-h100",
         8,
         16,
         all_reduce,
         {{8, "Tree/LL"}, {mebi / 4, "Tree/LL128"}, {16 * mebi, "NVLSTree/Simple"}, {8192 * mebi, "Ring/Simple"}}},
        {"dgx-h100", 8, 128, all_gather, {{8, "Ring/LL"}, {32 * mebi, "Ring/LL128"}, {4096 * mebi, "Ring/Simple"}}},
        {"dgx-h100", 1, 64, all_gather, {{8, "PAT/Simple"}, {64 * mebi, "Ring/LL128"}, {256 * mebi, "Ring/Simple"}}},
        {"dgx-1-v100", 8, 1, all_reduce, {{8, "Ring/LL"}, {mebi, "Ring/LL128"}, {16 * mebi, "Ring/Simple"}}},
        {"l40s-pcie", 8, 1, all_reduce, {{8, "Ring/LL"}, {mebi, "Ring/Simple"}}},
    };
    for (const SwitchPoints& table : tables) {
        const NcclTuner tuner(topology_of(table.cluster, table.per_node, table.nodes));
        for (std::size_t i = 0; i < table.from.size(); ++i) {
            const auto& [size, name] = table.from[i];
            EXPECT_EQ(pick(tuner, table.kind, size), name) << table.cluster << " from " << size;
            if (i == 0) continue;
            EXPECT_EQ(pick(tuner, table.kind, size / 2.0), table.from[i - 1].second) << table.cluster;
        }
    }
}

TEST(NcclTuner, ChoosesTheLeastTimeAndStatesBothBandwidths) {
    const NcclTuner tuner(topology_of("dgx-h100", 8, 1));
    const NcclChoice choice = tuner.choose(all_reduce, Bytes(1e9));
    EXPECT_DOUBLE_EQ(choice.algbw.value, 1e9 / choice.time.value);
    EXPECT_DOUBLE_EQ(choice.busbw.value, choice.algbw.value * 2.0 * 7.0 / 8.0);
    const NcclChoice gather = tuner.choose(all_gather, Bytes(1e9));
    EXPECT_DOUBLE_EQ(gather.busbw.value, gather.algbw.value * 7.0 / 8.0);
}

/// Large all-reduces by rings across nodes pay 1.4 times their latency, before Ampere 1.9 times.
TEST(NcclTuner, RingsAcrossNodesPayThePlateau) {
    const NcclTuner a100(topology_of("dgx-a100-80g", 8, 2));
    EXPECT_NEAR(a100.latency(all_reduce, ring, simple, Bytes(1 << 13)).value, 204.4e-6, 1e-9);
    EXPECT_NEAR(a100.latency(all_reduce, ring, simple, Bytes(1 << 14)).value, 1.4 * 204.4e-6, 1e-9);
    EXPECT_NEAR(a100.latency(all_gather, ring, simple, Bytes(1 << 30)).value, 106.4e-6, 1e-9);
    const NcclTuner v100(topology_of("dgx-1-v100", 8, 2));
    EXPECT_DOUBLE_EQ(v100.latency(all_reduce, ring, simple, Bytes(1 << 30)).value,
                     1.9 * v100.cost(all_reduce, ring, simple)->latency.value);
}

/// The smooth correction equals NCCL's steps in the middle of each size class, and lets time grow with the message.
TEST(NcclTuner, SmoothTreeCorrectionFollowsTheSteps) {
    for (const NcclProtocol protocol : nccl_protocols) {
        for (int i = 0; i < 26; ++i) {
            const Bytes middle(64.0 * std::exp2(std::min(i, 22) + 0.5));
            EXPECT_NEAR(smooth_tree_correction(protocol, middle), nccl_tree_correction(protocol, middle), 1e-9) << i;
        }
        double before = 0.0;
        for (double size = 1.0; size < 1e11; size *= 1.02) {
            const double effective = size / smooth_tree_correction(protocol, Bytes(size));
            EXPECT_GT(effective, before) << size;
            before = effective;
        }
    }
}

TEST(NcclGraph, FollowsTheSearch) {
    const NcclTopology a100 = topology_of("dgx-a100-80g", 8, 1);
    EXPECT_EQ(graph_text(a100.ring), "12 x 20/20");
    EXPECT_EQ(a100.channels, 24);
    EXPECT_EQ(graph_text(topology_of("a800-hgx", 8, 1).ring), "8 x 20/20") << "8 links";
    const NcclTopology h100 = topology_of("dgx-h100", 8, 2);
    EXPECT_EQ(graph_text(h100.ring), "8 x 48/48");
    EXPECT_EQ(graph_text(h100.tree), "8 x 48/48 plain");
    EXPECT_EQ(graph_text(h100.nvls), "8 x 40/48");
    EXPECT_EQ(h100.channels, 16);
    EXPECT_EQ(h100.nvls_channels, 16);
    EXPECT_EQ(graph_text(topology_of("h800-hgx", 8, 1).ring), "8 x 20/20") << "8 links";
    EXPECT_EQ(graph_text(topology_of("dgx-h100", 1, 8).ring), "2 x 24/24");
    EXPECT_EQ(graph_text(topology_of("dgx-b300", 8, 4).ring), "16 x 48/48") << "800 Gbit/s NICs are split";
    EXPECT_EQ(graph_text(topology_of("dgx-1-v100", 8, 1).ring), "6 x 20/20");
    EXPECT_EQ(graph_text(topology_of("l40s-pcie", 8, 1).ring), "1 x 15/15");
}

/// The whole table of NCCL's output, not part of the repository.
struct TableCase {
    std::string name;
    int nodes = 0;
    int per_node = 0;
    NcclTopology topology;
    std::vector<std::string> lines;  ///< values and picks

    std::string text() const { return fmt::format("{} {}x{}", name, nodes, per_node); }
};

NcclGraph read_graph(const std::string& line) {
    std::istringstream in(line);
    std::map<std::string, std::string> fields;
    std::string word;
    in >> word >> word;  // "graph ring"
    for (std::string key; in >> key >> word;) fields[key] = word;
    return {.channels = std::stoi(fields["nCh"]),
            .intra = BytesPerSecond(std::stod(fields["bwIntra"]) * 1e9),
            .inter = BytesPerSecond(std::stod(fields["bwInter"]) * 1e9),
            .plain_tree = fields["pattern"] == "3"};
}

TableCase read_header(const std::string& line) {
    std::istringstream in(line.substr(2));
    TableCase found;
    std::map<std::string, std::string> fields;
    std::string word;
    in >> found.name;
    for (std::string key; in >> key >> word;) fields[key] = word;
    found.nodes = std::stoi(fields["nodes"]);
    found.per_node = std::stoi(fields["gpus/node"]);
    found.topology.compute_capability = std::stoi(fields["cc"]);
    found.topology.nodes = found.nodes;
    found.topology.ranks = found.nodes * found.per_node;
    found.topology.channels = std::stoi(fields["comm->nChannels"]);
    found.topology.cpu = fields["cpuVendor"] == "2" ? NcclCpu::amd : NcclCpu::intel;
    return found;
}

std::vector<TableCase> read_table() {
    std::ifstream in(test::data_folder() + "/facts/nccl_2.28.9_model_tables.txt");
    std::vector<TableCase> cases;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# ") && line.find(" nodes ") != std::string::npos) {
            cases.push_back(read_header(line));
        } else if (line.starts_with("  graph ")) {
            NcclTopology& topology = cases.back().topology;
            if (line.find(" SYS ") != std::string::npos) topology.intra = NcclLink::pci;
            const std::string which = line.substr(8, 4);
            (which == "ring" ? topology.ring : which == "tree" ? topology.tree : topology.nvls) = read_graph(line);
        } else if (!cases.empty() && line.starts_with("  ")) {
            cases.back().lines.push_back(line);
        }
    }
    return cases;
}

CollectiveKind kind_of(const std::string& name) {
    if (name.starts_with("AllReduce")) return all_reduce;
    return name.starts_with("AllGather") ? all_gather : reduce_scatter;
}

/// "Tree/LL 15.2/14.5" after "lat_us/algbw_GBs:".
int check_values(const NcclTuner& tuner, const std::string& line, const std::string& name) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    const CollectiveKind kind = kind_of(word);
    in >> word;
    std::map<std::string, std::string> printed;
    for (std::string key; in >> key >> word;) printed[key] = word;
    int matched = 0;
    std::size_t offered = 0;
    for (const NcclAlgorithm algorithm : nccl_algorithms) {
        for (const NcclProtocol protocol : nccl_protocols) {
            const auto cost = tuner.cost(kind, algorithm, protocol);
            if (!cost) continue;
            ++offered;
            const std::string& text = printed[combination(algorithm, protocol)];
            const std::size_t slash = text.find('/');
            if (slash == std::string::npos) continue;
            const double latency = std::stod(text.substr(0, slash));
            const double algbw = std::stod(text.substr(slash + 1));
            EXPECT_NEAR(cost->latency.value * 1e6, latency, tolerance(latency)) << name << line;
            EXPECT_NEAR(cost->bandwidth.value / 1e9, algbw, tolerance(algbw)) << name << line;
            matched += std::abs(cost->latency.value * 1e6 - latency) <= tolerance(latency);
            matched += std::abs(cost->bandwidth.value / 1e9 - algbw) <= tolerance(algbw);
        }
    }
    EXPECT_EQ(offered, printed.size()) << name << line;
    return matched;
}

/// "pick AllReduce: [>=2^3 Ring/LL] [>=2^20 Ring/LL128]", at every power of two to 8 GiB.
int check_picks(const NcclTuner& tuner, const std::string& line, const std::string& name) {
    std::istringstream in(line);
    std::string word;
    in >> word >> word;
    const CollectiveKind kind = kind_of(word);
    std::map<int, std::string> from;
    for (std::string bound; in >> bound >> word;) from[std::stoi(bound.substr(5))] = word.substr(0, word.size() - 1);
    int matched = 0;
    for (int power = 3; power <= 33; ++power) {
        const std::string& expected = std::prev(from.upper_bound(power))->second;
        const std::string chosen = pick(tuner, kind, std::exp2(power));
        EXPECT_EQ(chosen, expected) << name << line << " at 2^" << power;
        matched += chosen == expected;
    }
    return matched;
}

TEST(NcclTuner, ReproducesTheWholeTable) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no table of NCCL's output";
    const std::vector<TableCase> cases = read_table();
    ASSERT_EQ(cases.size(), 25U);
    int values = 0;
    int picks = 0;
    for (const TableCase& entry : cases) {
        const NcclTuner tuner(entry.topology);
        for (const std::string& line : entry.lines) {
            if (line.starts_with("  pick ")) {
                picks += check_picks(tuner, line, entry.text());
            } else {
                values += check_values(tuner, line, entry.text());
            }
        }
    }
    RecordProperty("values", values);
    RecordProperty("picks", picks);
    EXPECT_EQ(picks, 25 * 3 * 31);
}

/// The box of the catalogue that a case of the table describes; empty where there is none.
std::string catalogue_box(const std::string& name) {
    const std::map<std::string, std::string> boxes = {{"dgx1_v100", "dgx-1-v100"},  {"dgx2_v100", "dgx-2h-v100"},
                                                      {"dgx_a100", "dgx-a100-80g"}, {"dgx_h100", "dgx-h100"},
                                                      {"dgx_b200", "dgx-b200"},     {"hgx_b300", "dgx-b300"},
                                                      {"pcie4", "l40s-pcie"}};
    for (const auto& [prefix, box] : boxes) {
        if (name.starts_with(prefix)) return box;
    }
    return "";
}

/// NVLS numbers of a box without switches of that kind are not used: channels below two mean none.
std::string nvls_text(const NcclGraph& graph) {
    return graph.channels < 2 ? "none" : graph_text(graph);
}

TEST(NcclGraph, ReproducesTheWholeTable) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no table of NCCL's output";
    for (const TableCase& entry : read_table()) {
        const std::string box = catalogue_box(entry.name);
        ClusterSpec cluster = load_cluster(box.empty() ? "l40s-pcie" : box);
        if (box.empty()) {  // eight GPUs of compute capability 12.0 on PCIe 5
            cluster.device.architecture = "blackwell";
            cluster.intra_node.bandwidth = BytesPerSecond(63e9);
        }
        const NcclTopology found = nccl_topology(cluster, {entry.topology.ranks, entry.per_node, entry.nodes});
        EXPECT_EQ(graph_text(found.ring), graph_text(entry.topology.ring)) << entry.text();
        EXPECT_EQ(graph_text(found.tree), graph_text(entry.topology.tree)) << entry.text();
        EXPECT_EQ(nvls_text(found.nvls), nvls_text(entry.topology.nvls)) << entry.text();
        EXPECT_EQ(found.channels, entry.topology.channels) << entry.text();
        EXPECT_EQ(found.cpu, entry.topology.cpu) << entry.text();
        EXPECT_EQ(found.intra, entry.topology.intra) << entry.text();
    }
}

}  // namespace

}  // namespace foreshard
