#include "sim/cost/nccl_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {

namespace {

using testing::HasSubstr;

constexpr std::array tuned_kinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter};
constexpr std::array all_kinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                  CollectiveKind::reduce_scatter, CollectiveKind::all_to_all};

struct Box {
    explicit Box(const std::string& id, const std::string& profile = "megatron-core-te")
        : cluster(load_cluster(id)), software(load_software(profile)), network(cluster, software) {}
    Seconds time(CollectiveKind kind, double message, const GroupPlacement& group) const {
        return network.collective(kind, Bytes(message), group).total();
    }
    std::string limit(CollectiveKind kind, double message, const GroupPlacement& group) const {
        return network.collective(kind, Bytes(message), group).limit;
    }

    ClusterSpec cluster;
    SoftwareProfile software;
    NcclNetwork network;
};

/// Groups that a cluster can hold: inside a domain, and over nodes with one member or more in each.
std::vector<GroupPlacement> groups_of(const ClusterSpec& cluster) {
    const int domain = std::max(cluster.gpus_per_nvlink_domain, cluster.gpus_per_node);
    std::vector<GroupPlacement> groups;
    for (int per_domain = 1; per_domain <= domain; per_domain *= 2) {
        if (per_domain > 1) groups.push_back({per_domain, per_domain, 1});
        if (!cluster.inter_node) continue;
        for (const int domains : {2, 3, 4, 16, 128}) groups.push_back({per_domain * domains, per_domain, domains});
    }
    return groups;
}

std::string text(const ClusterSpec& cluster, CollectiveKind kind, const GroupPlacement& group, double size) {
    return fmt::format("{} {} {}x{} {} B", cluster.id, to_string(kind), group.domains, group.per_domain, size);
}

/// Every GPU gets what the others have, and every node what other nodes have; all-reduced sums go out again.
double wire_time(const ClusterSpec& cluster, CollectiveKind kind, double size, const GroupPlacement& group) {
    const double received = size * (group.size - 1) / group.size;
    if (group.domains == 1) return received / cluster.intra_node.bandwidth.value;
    const double nic = cluster.inter_node->bandwidth.value;
    if (kind == CollectiveKind::all_to_all) return size * (group.size - group.per_domain) / group.size / nic;
    const double outside = size * ring_factor(kind, group.domains) / (nic * group.per_domain);
    return group.per_domain == 1 ? outside : std::max(outside, received / cluster.intra_node.bandwidth.value);
}

void check_growth(const Box& box, CollectiveKind kind, const GroupPlacement& group) {
    Seconds before;
    for (double size = 8; size < 4e10; size *= 1.7) {
        const Seconds time = box.time(kind, size, group);
        ASSERT_TRUE(std::isfinite(time.value)) << text(box.cluster, kind, group, size);
        ASSERT_GT(time.value, before.value) << text(box.cluster, kind, group, size);
        before = time;
        const double wire = wire_time(box.cluster, kind, size, group);
        ASSERT_GE(time.value, wire) << text(box.cluster, kind, group, size);
    }
}

/// On every cluster of the catalogue.
TEST(NcclNetwork, TimeGrowsWithTheMessageAndNeverBeatsTheWire) {
    for (const CatalogueEntry& entry : catalogue("clusters")) {
        const Box box{std::string(entry.id)};
        for (const GroupPlacement& group : groups_of(box.cluster)) {
            for (const CollectiveKind kind : all_kinds) check_growth(box, kind, group);
        }
    }
}

TEST(NcclNetwork, MeasuredFitsAreTheTimeInsideANode) {
    const Box box("dgx-h100");
    const LinkNetwork links(box.cluster, box.software);
    for (const CollectiveKind kind : tuned_kinds) {
        for (const int ranks : {2, 4, 8}) {
            for (const double size : {1e3, 1e6, 1e9}) {
                const GroupPlacement group{ranks, ranks, 1};
                EXPECT_DOUBLE_EQ(box.time(kind, size, group).value,
                                 links.collective(kind, Bytes(size), group).total().value);
            }
        }
    }
}

/// The only fits of GB200 are of four ranks; 72 have 2.5 times NCCL's latency (NVLS 25 us against Ring LL 10.2 us).
TEST(NcclNetwork, FitsOfOtherSizesAreMovedByNcclsLatency) {
    const Box box("gb200-nvl72");
    const CollectiveFit* fit = nearest_fit(box.cluster, CollectiveKind::all_reduce, 72);
    ASSERT_NE(fit, nullptr);
    EXPECT_EQ(fit->ranks, 4);
    EXPECT_NEAR(box.time(CollectiveKind::all_reduce, 1e-6, {72, 72, 1}).value, fit->base.value * 25.0 / 10.2, 1e-8);
}

/// A large ring moves 2(n-1)/n of the message at the slower of NICs and links.
TEST(NcclNetwork, LargeMessagesAreBoundByNicsOrLinks) {
    const double size = 1e11;
    const Box a100("dgx-a100-80g");
    const double ratio = a100.software.numbers.network_bandwidth_ratio;
    const double nics = size * 2.0 * 31.0 / 32.0 / (8 * 25e9 * ratio);
    EXPECT_NEAR(a100.time(CollectiveKind::all_reduce, size, {32, 8, 4}).value, nics, 0.01 * nics);
    const double one_nic = size * 2.0 * 15.0 / 16.0 / (25e9 * ratio);
    EXPECT_NEAR(a100.time(CollectiveKind::all_reduce, size, {16, 1, 16}).value, one_nic, 0.01 * one_nic);
    Box fast("dgx-a100-80g");
    fast.cluster.inter_node->bandwidth = BytesPerSecond(200e9);
    const NcclNetwork network(fast.cluster, fast.software);
    const CommTime links = network.collective(CollectiveKind::all_reduce, Bytes(size), {32, 8, 4});
    const double by_links =
        size * 2.0 * 31.0 / 32.0 / nearest_fit(fast.cluster, CollectiveKind::all_reduce, 8)->bandwidth.value;
    EXPECT_NEAR(links.total().value, by_links, 0.01 * by_links);
    EXPECT_THAT(links.limit, HasSubstr("NVLink 230 GB/s"));
}

/// NCCL's latencies: Tree LL over 2 nodes of DGX A100 25.2 us, Ring LL over 16 nodes of DGX H100 159 us (all-gather).
TEST(NcclNetwork, SmallMessagesAcrossNodesTakeNcclsLatency) {
    EXPECT_NEAR(Box("dgx-a100-80g").time(CollectiveKind::all_reduce, 8, {16, 8, 2}).value, 25.2e-6, 0.1e-6);
    EXPECT_NEAR(Box("dgx-h100").time(CollectiveKind::all_gather, 8, {128, 8, 16}).value, 159.1e-6, 0.1e-6);
}

TEST(NcclNetwork, LimitsNameAlgorithmProtocolAndBound) {
    const Box h100("dgx-h100");
    EXPECT_EQ(h100.limit(CollectiveKind::all_reduce, 1e9, {8, 8, 1}),
              "NVLS Simple, 16 channels, NVLink 481 GB/s (nvlink4-h100 fit of 8 ranks)");
    EXPECT_EQ(h100.limit(CollectiveKind::all_reduce, 1e3, {8, 8, 1}),
              "Ring LL, 24 channels, latency 16 us (nvlink4-h100 fit of 8 ranks)");
    const Box a100("dgx-a100-80g");
    EXPECT_EQ(a100.limit(CollectiveKind::all_reduce, 1e9, {8, 8, 1}),
              "Ring Simple, 24 channels, NVLink 230 GB/s (nvlink3-a100 fit of 8 ranks)");
    EXPECT_EQ(a100.limit(CollectiveKind::all_reduce, 1e3, {16, 8, 2}),
              "Tree LL, 16 channels over 2 nodes, latency 25 us");
    EXPECT_THAT(a100.limit(CollectiveKind::all_reduce, 1e9, {16, 8, 2}),
                HasSubstr("Ring Simple, 16 channels over 2 nodes, NICs "));
    EXPECT_THAT(Box("l40s-pcie").limit(CollectiveKind::all_reduce, 1e9, {8, 8, 1}),
                HasSubstr("Ring Simple, 2 channels, PCIe 15.0 GB/s"));
    EXPECT_THAT(a100.limit(CollectiveKind::all_to_all, 1e9, {8, 8, 1}), HasSubstr("pairwise sends"));
}

TEST(NcclNetwork, SendRecvRampsUpOverNvlink) {
    const Box box("dgx-h100");
    const LinkNetwork links(box.cluster, box.software);
    const Bytes size(4e6);
    EXPECT_NEAR((box.network.send_recv(size, true).busy - links.send_recv(size, true).busy).value, 2.92e-6, 1e-9);
    EXPECT_EQ(box.network.send_recv(size, false).total(), links.send_recv(size, false).total());
    EXPECT_THAT(box.network.send_recv(Bytes(4e3), true).limit, HasSubstr("send/recv LL"));
    EXPECT_THAT(box.network.send_recv(size, true).limit, HasSubstr("send/recv Simple"));
}

TEST(NcclNetwork, AGroupOfOneNeedsNoTime) {
    EXPECT_EQ(Box("dgx-h100").time(CollectiveKind::all_reduce, 1e9, {}), Seconds());
}

/// Measured times (nccl-tests, 512 B to 512 MiB, 2 to 8 ranks), not part of the repository.
struct Measured {
    CollectiveKind kind;
    int ranks;
    double bytes;
    double seconds;
};

std::vector<Measured> read_measured(const std::string& system, const std::string& version) {
    std::ifstream in(test::data_folder() + "/measured/nccl_measured_intranode.csv");
    std::vector<Measured> rows;
    for (std::string line; std::getline(in, line);) {
        std::vector<std::string> cells;
        std::stringstream cut(line);
        for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
        if (cells.size() < 9 || cells[0] != system || cells[1] != version || cells[5] != "half") continue;
        const std::map<std::string, CollectiveKind> kinds = {{"all_reduce", CollectiveKind::all_reduce},
                                                             {"all_gather", CollectiveKind::all_gather},
                                                             {"reduce_scatter", CollectiveKind::reduce_scatter}};
        const auto kind = kinds.find(cells[4]);
        if (kind == kinds.end()) continue;
        rows.push_back({kind->second, std::stoi(cells[6]), std::stod(cells[7]), std::stod(cells[8]) * 1e-6});
    }
    return rows;
}

double mean_error(const NetworkModel& network, const std::vector<Measured>& rows) {
    double sum = 0.0;
    for (const Measured& row : rows) {
        const CommTime time = network.collective(row.kind, Bytes(row.bytes), {row.ranks, row.ranks, 1});
        sum += std::abs(time.total().value / row.seconds - 1.0);
    }
    return sum / static_cast<double>(rows.size());
}

/// All-reduce, all-gather and reduce-scatter, by the fits and by NCCL's model alone, which is too optimistic on B200.
TEST(NcclNetwork, AgreesWithMeasuredTimesInsideANode) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no measured collectives";
    struct Source {
        const char* system;
        const char* version;
        const char* cluster;
        double by_fits;
        double by_tuner;
    };
    for (const Source& source :
         {Source{"a100_sxm", "2.27.3", "dgx-a100-80g", 0.08, 0.16},
          Source{"h100_sxm", "2.29.2", "dgx-h100", 0.08, 0.15}, Source{"h200_sxm", "2.29.2", "dgx-h200", 0.08, 0.15},
          Source{"b200_sxm", "2.28.9", "dgx-b200", 0.08, 0.30}}) {
        const Box box(source.cluster);
        const std::vector<Measured> rows = read_measured(source.system, source.version);
        ASSERT_GE(rows.size(), 100U) << source.system;
        EXPECT_LE(mean_error(box.network, rows), source.by_fits) << source.system;
        ClusterSpec bare = box.cluster;
        bare.fits.clear();
        EXPECT_LE(mean_error(NcclNetwork(bare, box.software), rows), source.by_tuner) << source.system;
    }
}

}  // namespace

}  // namespace foreshard
