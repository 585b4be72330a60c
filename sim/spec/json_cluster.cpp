#include <array>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/prefixes.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

/// Several precisions may run at one hardware peak: mxfp8 at fp8's, nvfp4 at fp4's.
struct PeakKey {
    const char* key;
    Precision precision;
};
constexpr std::array<PeakKey, 6> peak_keys = {{{"fp32", Precision::fp32},
                                               {"tf32", Precision::tf32},
                                               {"fp16", Precision::fp16},
                                               {"bf16", Precision::bf16},
                                               {"fp8", Precision::fp8},
                                               {"fp4", Precision::nvfp4}}};

void read_peaks(JsonObject peaks, DeviceSpec& device) {
    for (const PeakKey& peak : peak_keys) {
        const auto value = peaks.optional<double>(peak.key, Range::positive);
        if (value) device.peak[static_cast<std::size_t>(peak.precision)] = FlopsPerSecond(*value * tera);
    }
    device.peak[static_cast<std::size_t>(Precision::mxfp8)] = device.peak[static_cast<std::size_t>(Precision::fp8)];
    peaks.finish();
}

void read_achieved(JsonObject achieved, DeviceSpec& device) {
    device.gemm_ratio = achieved.required<double>("gemm_ratio", Range::ratio);
    device.attention_matmul_ratio = achieved.required<double>("attention_matmul_ratio", Range::ratio);
    device.flash_forward_ratio = achieved.required<double>("flash_forward_ratio", Range::ratio);
    device.memory_ratio = achieved.required<double>("memory_ratio", Range::ratio);
    device.kernel_launch = Seconds(achieved.required<double>("kernel_launch_us", Range::not_negative) * micro);
    device.fp8_gemm_speedup = achieved.optional<double>("fp8_gemm_speedup", Range::positive);
    device.fp4_gemm_speedup = achieved.optional<double>("fp4_gemm_speedup", Range::positive);
    achieved.finish();
}

void read_kernel_table(JsonObject& root, DeviceSpec& device) {
    const auto name = root.optional<std::string>("kernels");
    if (!name) return;
    const auto& peak = device.peak[static_cast<std::size_t>(Precision::bf16)];
    if (!peak) root.fail("kernels", "needs peak_tflops.bf16, to which the table is scaled");
    device.kernels_id = *name;
    device.kernels = scaled_to_peak(load_kernels(*name), in_unit(peak->value, tera));
}

LinkSpec read_link(JsonObject& link, const std::string& bandwidth_key) {
    return {.kind = link.required<std::string>("kind"),
            .bandwidth = BytesPerSecond(link.required<double>(bandwidth_key, Range::positive) * giga),
            .latency = Seconds(link.required<double>("latency_us", Range::not_negative) * micro)};
}

LeafTier read_leaf(JsonObject leaf) {
    LeafTier tier;
    tier.nodes_per_leaf = leaf.required<int>("nodes_per_leaf", Range::positive);
    tier.oversubscription_ratio = leaf.required<double>("oversubscription_ratio", Range::positive);
    tier.rail_optimized = leaf.optional<bool>("rail_optimized").value_or(false);
    leaf.finish();
    return tier;
}

void read_inter_node(JsonObject link, ClusterSpec& cluster) {
    cluster.inter_node = read_link(link, "bandwidth_one_way_GB_per_s_per_gpu");
    cluster.nics_per_node = link.optional<int>("nics_per_node", Range::positive).value_or(0);
    if (auto leaf = link.optional_object("leaf")) cluster.leaf = read_leaf(*leaf);
    link.finish();
}

void read_intra_node(JsonObject link, ClusterSpec& cluster) {
    cluster.intra_node = read_link(link, "bandwidth_one_way_GB_per_s");
    if (link.holds_text("fabric")) {
        cluster.fabric_id = link.required<std::string>("fabric");
        cluster.fits = load_fabric(cluster.fabric_id);
    } else if (auto fabric = link.optional_object("fabric")) {
        cluster.fabric_id = fabric->required<std::string>("id");
        cluster.fits = read_fabric(link.at("fabric"), link.source(), link.path_of("fabric"));
    }
    link.finish();
}

OrderedJson link_json(const LinkSpec& link, const char* bandwidth_key) {
    return {{"kind", link.kind},
            {bandwidth_key, in_unit(link.bandwidth.value, giga)},
            {"latency_us", in_unit(link.latency.value, micro)}};
}

}  // namespace

double in_unit(double value, double unit) {
    const double plain = value / unit;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.15g", plain);
    const double rounded = std::strtod(text.data(), nullptr);
    return rounded * unit == value ? rounded : plain;
}

const std::vector<std::pair<std::string_view, CollectiveKind>>& collective_names() {
    static const std::vector<std::pair<std::string_view, CollectiveKind>> names = [] {
        std::vector<std::pair<std::string_view, CollectiveKind>> all;
        for (const CollectiveKind kind :
             {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
              CollectiveKind::all_to_all, CollectiveKind::send_recv, CollectiveKind::broadcast,
              CollectiveKind::reduce}) {
            all.emplace_back(to_string(kind), kind);
        }
        return all;
    }();
    return names;
}

CollectiveFit read_collective_fit(JsonObject entry) {
    CollectiveFit fit;
    fit.kind = entry.one_of("collective", collective_names());
    fit.ranks = entry.required<int>("ranks", Range::positive);
    fit.base = Seconds(entry.required<double>("base_us", Range::not_negative) * micro);
    fit.sqrt_term = entry.required<double>("sqrt_us_per_sqrt_byte", Range::not_negative) * micro;
    fit.bandwidth = BytesPerSecond(entry.required<double>("bandwidth_GB_per_s", Range::positive) * giga);
    fit.mean_abs_error_pct = entry.optional<double>("mean_abs_error_pct", Range::not_negative).value_or(0.0);
    entry.finish();
    return fit;
}

OrderedJson to_json(const CollectiveFit& fit) {
    return {{"collective", to_string(fit.kind)},
            {"ranks", fit.ranks},
            {"base_us", in_unit(fit.base.value, micro)},
            {"sqrt_us_per_sqrt_byte", in_unit(fit.sqrt_term, micro)},
            {"bandwidth_GB_per_s", in_unit(fit.bandwidth.value, giga)},
            {"mean_abs_error_pct", fit.mean_abs_error_pct}};
}

DeviceSpec read_device(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.device", source, path);
    DeviceSpec device;
    device.id = root.required<std::string>("id");
    device.name = root.optional<std::string>("name").value_or(device.id);
    device.architecture = root.required<std::string>("architecture");
    device.sm_count = root.required<int>("sm_count", Range::positive);
    read_peaks(root.object("peak_tflops"), device);
    device.memory_bandwidth =
        BytesPerSecond(root.required<double>("memory_bandwidth_GB_per_s", Range::positive) * giga);
    device.host_link =
        BytesPerSecond(root.optional<double>("host_link_GB_per_s", Range::positive).value_or(0.0) * giga);
    device.usable_memory = root.required<std::int64_t>("usable_memory_bytes", Range::positive);
    read_achieved(root.object("achieved"), device);
    read_kernel_table(root, device);
    // Facts for people and for later models; checked, but not part of the DeviceSpec yet.
    root.optional<std::string>("vendor");
    root.optional<std::string>("compute_capability");
    root.optional<std::int64_t>("l2_bytes", Range::positive);
    root.optional<double>("boost_clock_MHz", Range::positive);
    root.optional<double>("tdp_W", Range::positive);
    root.ignore("sources");
    root.finish();
    return device;
}

std::vector<CollectiveFit> read_fabric(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.fabric", source, path);
    root.required<std::string>("id");
    root.optional<std::string>("name");
    root.ignore("sources");
    std::vector<CollectiveFit> fits;
    for (const JsonObject& entry : root.objects("collectives")) fits.push_back(read_collective_fit(entry));
    root.finish();
    return fits;
}

ClusterSpec read_cluster(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.cluster", source, path);
    ClusterSpec cluster;
    cluster.id = root.required<std::string>("id");
    cluster.name = root.optional<std::string>("name").value_or(cluster.id);
    cluster.device = root.holds_text("device") ? load_device(root.required<std::string>("device"))
                                               : read_device(root.at("device"), source, root.path_of("device"));
    cluster.gpus_per_node = root.required<int>("gpus_per_node", Range::positive);
    cluster.gpus_per_nvlink_domain = root.required<int>("gpus_per_nvlink_domain", Range::positive);
    cluster.nodes = root.optional<int>("nodes", Range::positive);
    read_intra_node(root.object("intra_node"), cluster);
    if (auto link = root.optional_object("inter_node")) read_inter_node(*link, cluster);
    root.ignore("sources");
    root.finish();
    return cluster;
}

OrderedJson to_json(const DeviceSpec& device) {
    OrderedJson peaks = OrderedJson::object();
    for (const PeakKey& peak : peak_keys) {
        const auto& value = device.peak[static_cast<std::size_t>(peak.precision)];
        if (value) peaks[peak.key] = in_unit(value->value, tera);
    }
    OrderedJson out = {{"schema", "foreshard.device"},
                       {"schema_version", "1.0"},
                       {"id", device.id},
                       {"name", device.name},
                       {"architecture", device.architecture},
                       {"sm_count", device.sm_count},
                       {"peak_tflops", peaks},
                       {"memory_bandwidth_GB_per_s", in_unit(device.memory_bandwidth.value, giga)},
                       {"usable_memory_bytes", device.usable_memory},
                       {"achieved",
                        {{"gemm_ratio", device.gemm_ratio},
                         {"attention_matmul_ratio", device.attention_matmul_ratio},
                         {"flash_forward_ratio", device.flash_forward_ratio},
                         {"memory_ratio", device.memory_ratio},
                         {"kernel_launch_us", in_unit(device.kernel_launch.value, micro)}}}};
    if (device.host_link.value > 0.0) out["host_link_GB_per_s"] = in_unit(device.host_link.value, giga);
    if (device.fp8_gemm_speedup) out["achieved"]["fp8_gemm_speedup"] = *device.fp8_gemm_speedup;
    if (device.fp4_gemm_speedup) out["achieved"]["fp4_gemm_speedup"] = *device.fp4_gemm_speedup;
    if (!device.kernels_id.empty()) out["kernels"] = device.kernels_id;
    return out;
}

OrderedJson to_json(const ClusterSpec& cluster) {
    OrderedJson out = {{"schema", "foreshard.cluster"},
                       {"schema_version", "1.0"},
                       {"id", cluster.id},
                       {"name", cluster.name},
                       {"device", to_json(cluster.device)},
                       {"gpus_per_node", cluster.gpus_per_node},
                       {"gpus_per_nvlink_domain", cluster.gpus_per_nvlink_domain}};
    if (cluster.nodes) out["nodes"] = *cluster.nodes;
    out["intra_node"] = link_json(cluster.intra_node, "bandwidth_one_way_GB_per_s");
    if (!cluster.fabric_id.empty()) {
        OrderedJson fits = OrderedJson::array();
        for (const CollectiveFit& fit : cluster.fits) fits.push_back(to_json(fit));
        out["intra_node"]["fabric"] = {{"id", cluster.fabric_id}, {"collectives", fits}};
    }
    if (cluster.inter_node) {
        out["inter_node"] = link_json(*cluster.inter_node, "bandwidth_one_way_GB_per_s_per_gpu");
        if (cluster.nics_per_node > 0) out["inter_node"]["nics_per_node"] = cluster.nics_per_node;
        if (cluster.leaf) {
            out["inter_node"]["leaf"] = {{"nodes_per_leaf", cluster.leaf->nodes_per_leaf},
                                         {"oversubscription_ratio", cluster.leaf->oversubscription_ratio},
                                         {"rail_optimized", cluster.leaf->rail_optimized}};
        }
    }
    return out;
}

}  // namespace foreshard
