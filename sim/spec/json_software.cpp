#include <array>

#include "sim/prefixes.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

/// One table for reading and writing, so that the two cannot differ.
template <class Owner, class T>
struct Field {
    const char* key;
    T Owner::*member;
    Range range = Range::any;
};

constexpr std::array<Field<ProfileStructure, bool>, 9> structure_flags = {
    {{"dropout", &ProfileStructure::dropout},
     {"saves_dropout_masks", &ProfileStructure::saves_dropout_masks},
     {"saves_embedding_mask", &ProfileStructure::saves_embedding_mask},
     {"fused_norm", &ProfileStructure::fused_norm},
     {"fused_swiglu", &ProfileStructure::fused_swiglu},
     {"overlap_p2p", &ProfileStructure::overlap_p2p},
     {"scatter_gather_p2p", &ProfileStructure::scatter_gather_p2p},
     {"fp32_cross_entropy", &ProfileStructure::fp32_cross_entropy},
     {"vocab_divisor_times_tp", &ProfileStructure::vocab_divisor_times_tp}}};

constexpr std::array<Field<ProfileStructure, int>, 4> structure_counts = {
    {{"gradient_bytes_fp16", &ProfileStructure::gradient_bytes_fp16, Range::positive},
     {"gradient_bytes_bf16", &ProfileStructure::gradient_bytes_bf16, Range::positive},
     {"gradient_copy_bytes_bf16", &ProfileStructure::gradient_copy_bytes_bf16, Range::not_negative},
     {"gradient_partition_bytes", &ProfileStructure::gradient_partition_bytes, Range::not_negative}}};

constexpr std::array<Field<ProfileStructure, double>, 3> structure_numbers = {
    {{"sequence_parallel_extra_all_gather_ratio", &ProfileStructure::sp_extra_all_gather_ratio, Range::ratio},
     {"logits_bytes_per_element", &ProfileStructure::logits_bytes_per_element, Range::not_negative},
     {"allocator_reserved_ratio", &ProfileStructure::allocator_reserved_ratio, Range::positive}}};

constexpr std::array<Field<ProfileNumbers, double>, 13> plain_numbers = {
    {{"gemm_time_factor", &ProfileNumbers::gemm_time_factor, Range::positive},
     {"memory_time_factor", &ProfileNumbers::memory_time_factor, Range::not_negative},
     {"flash_time_factor", &ProfileNumbers::flash_time_factor, Range::positive},
     {"flash_backward_ratio", &ProfileNumbers::flash_backward_ratio, Range::positive},
     {"misaligned_attention_ratio", &ProfileNumbers::misaligned_attention_ratio, Range::ratio},
     {"tp_time_factor", &ProfileNumbers::tp_time_factor, Range::positive},
     {"tp_overlap_ratio", &ProfileNumbers::tp_overlap_ratio, Range::ratio},
     {"dp_overlap_ratio", &ProfileNumbers::dp_overlap_ratio, Range::ratio},
     {"p2p_bandwidth_ratio", &ProfileNumbers::p2p_bandwidth_ratio, Range::positive},
     {"network_bandwidth_ratio", &ProfileNumbers::network_bandwidth_ratio, Range::ratio},
     {"optimizer_bytes_per_parameter", &ProfileNumbers::optimizer_bytes_per_parameter, Range::not_negative},
     {"cross_entropy_forward_bytes", &ProfileNumbers::cross_entropy_forward_bytes, Range::not_negative},
     {"cross_entropy_backward_bytes", &ProfileNumbers::cross_entropy_backward_bytes, Range::not_negative}}};

struct TimeField {
    const char* key;
    Seconds ProfileNumbers::*member;
    double unit;
};
constexpr std::array<TimeField, 6> times = {{{"host_forward_us", &ProfileNumbers::host_forward, micro},
                                             {"host_backward_us", &ProfileNumbers::host_backward, micro},
                                             {"host_collective_us", &ProfileNumbers::host_collective, micro},
                                             {"p2p_latency_us", &ProfileNumbers::p2p_latency, micro},
                                             {"step_overhead_ms", &ProfileNumbers::step_overhead, milli},
                                             {"launch_blocking_us", &ProfileNumbers::launch_blocking, micro}}};

const std::vector<std::pair<std::string_view, AttentionKernel>>& attention_names() {
    static const std::vector<std::pair<std::string_view, AttentionKernel>> names = {
        {"unfused", AttentionKernel::unfused}, {"flash", AttentionKernel::flash}, {"single", AttentionKernel::single}};
    return names;
}

const std::vector<std::pair<std::string_view, GradientBuckets>>& bucket_names() {
    static const std::vector<std::pair<std::string_view, GradientBuckets>> names = {
        {"megatron", GradientBuckets::megatron},
        {"torch", GradientBuckets::torch},
        {"deepspeed", GradientBuckets::deepspeed}};
    return names;
}

template <class Owner, class Fields>
void read_fields(JsonObject& object, const Fields& fields, Owner& owner) {
    for (const auto& field : fields) {
        using T = std::decay_t<decltype(owner.*field.member)>;
        owner.*field.member = object.required<T>(field.key, field.range);
    }
}

template <class Owner, class Fields>
void write_fields(OrderedJson& out, const Fields& fields, const Owner& owner) {
    for (const auto& field : fields) out[field.key] = owner.*field.member;
}

/// Keys that a file may leave out.
void read_optional(JsonObject& object, ProfileStructure& structure) {
    if (object.has("gradient_buckets")) structure.gradient_buckets = object.one_of("gradient_buckets", bucket_names());
    structure.gradient_reduce_bytes = object.optional<int>("gradient_reduce_bytes", Range::not_negative).value_or(0);
    structure.zero_gathers_by_broadcast = object.optional<bool>("zero_gathers_by_broadcast").value_or(false);
    structure.zero_group_in_node = object.optional<bool>("zero_group_in_node").value_or(false);
    structure.counts_buffers = object.optional<bool>("counts_buffers").value_or(false);
    structure.overlap_p2p_chunked = object.optional<bool>("overlap_p2p_chunked").value_or(false);
    structure.fp32_products_in_tf32 = object.optional<bool>("fp32_products_in_tf32").value_or(false);
}

ProfileStructure read_structure(JsonObject object) {
    ProfileStructure structure;
    structure.attention = object.one_of("attention", attention_names());
    const auto precision = object.required<std::string>("default_precision");
    const std::optional<Precision> parsed = parse_precision(precision);
    if (!parsed) object.fail("default_precision", "'" + precision + "' is not a precision");
    structure.default_precision = *parsed;
    read_fields(object, structure_flags, structure);
    read_fields(object, structure_counts, structure);
    read_fields(object, structure_numbers, structure);
    read_optional(object, structure);
    object.finish();
    return structure;
}

/// Numbers that a file may leave out: zero then.
constexpr std::array<Field<ProfileNumbers, double>, 4> optional_numbers = {
    {{"dp_contention_ratio", &ProfileNumbers::dp_contention_ratio, Range::not_negative},
     {"vocabulary_slowdown_ratio", &ProfileNumbers::vocabulary_slowdown_ratio, Range::not_negative},
     {"interlaced_slowdown_ratio", &ProfileNumbers::interlaced_slowdown_ratio, Range::not_negative},
     {"zero3_network_ratio", &ProfileNumbers::zero3_network_ratio, Range::ratio}}};
constexpr std::array<TimeField, 2> optional_times = {
    {{"broadcast_latency_us", &ProfileNumbers::broadcast_latency, micro},
     {"pass_overhead_us", &ProfileNumbers::pass_overhead, micro}}};

void read_optional(JsonObject& object, ProfileNumbers& numbers) {
    for (const auto& field : optional_numbers) {
        if (const auto value = object.optional<double>(field.key, field.range)) numbers.*field.member = *value;
    }
    for (const TimeField& time : optional_times) {
        const auto value = object.optional<double>(time.key, Range::not_negative);
        if (value) numbers.*time.member = Seconds(*value * time.unit);
    }
}

void write_optional(OrderedJson& out, const ProfileNumbers& numbers) {
    for (const auto& field : optional_numbers) {
        if (numbers.*field.member > 0.0) out[field.key] = numbers.*field.member;
    }
    for (const TimeField& time : optional_times) {
        const double value = (numbers.*time.member).value;
        if (value > 0.0) out[time.key] = in_unit(value, time.unit);
    }
}

ProfileNumbers read_numbers(JsonObject object) {
    ProfileNumbers numbers;
    read_fields(object, plain_numbers, numbers);
    const auto attention = object.optional<double>("attention_matmul_ratio", Range::ratio);
    numbers.attention_matmul_ratio = attention.value_or(0.0);
    read_optional(object, numbers);
    for (const TimeField& time : times) {
        numbers.*time.member = Seconds(object.required<double>(time.key, Range::not_negative) * time.unit);
    }
    object.finish();
    return numbers;
}

/// Some of the numbers; the others stay.
ProfileNumbers read_changes(JsonObject object, ProfileNumbers numbers) {
    for (const auto& field : plain_numbers) {
        if (const auto value = object.optional<double>(field.key, field.range)) numbers.*field.member = *value;
    }
    if (const auto ratio = object.optional<double>("attention_matmul_ratio", Range::ratio)) {
        numbers.attention_matmul_ratio = *ratio;
    }
    read_optional(object, numbers);
    for (const TimeField& time : times) {
        const auto value = object.optional<double>(time.key, Range::not_negative);
        if (value) numbers.*time.member = Seconds(*value * time.unit);
    }
    object.finish();
    return numbers;
}

void read_succession(JsonObject& root, SoftwareProfile& software) {
    if (!root.has("succeeds")) return;
    JsonObject object = root.object("succeeds");
    software.succeeds = {object.required<std::string>("profile"), object.required<std::string>("since")};
    const std::string& since = software.succeeds->since;
    const auto fits = [&](std::size_t i) { return i == 4 ? since[i] == '-' : since[i] >= '0' && since[i] <= '9'; };
    bool date = since.size() == 7;
    for (std::size_t i = 0; date && i < since.size(); ++i) date = fits(i);
    if (!date) object.fail("since", "'" + since + "' is not a year and month: 2024-02");
    object.finish();
}

void read_by_architecture(JsonObject& root, const Json& value, SoftwareProfile& software) {
    const char* key = "numbers_by_architecture";
    if (!root.has(key)) return;
    JsonObject all = root.object(key);
    for (const auto& [architecture, changes] : value.at(key).items()) {
        software.by_architecture.emplace_back(architecture, read_changes(all.object(architecture), software.numbers));
    }
    all.finish();
}

OrderedJson to_json(const ProfileStructure& structure) {
    OrderedJson out = OrderedJson::object();
    for (const auto& [name, kernel] : attention_names()) {
        if (kernel == structure.attention) out["attention"] = name;
    }
    out["default_precision"] = to_string(structure.default_precision);
    write_fields(out, structure_flags, structure);
    write_fields(out, structure_counts, structure);
    write_fields(out, structure_numbers, structure);
    for (const auto& [name, rule] : bucket_names()) {
        if (rule == structure.gradient_buckets) out["gradient_buckets"] = name;
    }
    if (structure.gradient_reduce_bytes > 0) out["gradient_reduce_bytes"] = structure.gradient_reduce_bytes;
    out["zero_gathers_by_broadcast"] = structure.zero_gathers_by_broadcast;
    out["zero_group_in_node"] = structure.zero_group_in_node;
    if (structure.counts_buffers) out["counts_buffers"] = true;
    if (structure.overlap_p2p_chunked) out["overlap_p2p_chunked"] = true;
    if (structure.fp32_products_in_tf32) out["fp32_products_in_tf32"] = true;
    return out;
}

OrderedJson to_json(const ProfileNumbers& numbers) {
    OrderedJson out = OrderedJson::object();
    write_fields(out, plain_numbers, numbers);
    if (numbers.attention_matmul_ratio > 0.0) out["attention_matmul_ratio"] = numbers.attention_matmul_ratio;
    write_optional(out, numbers);
    for (const TimeField& time : times) out[time.key] = in_unit((numbers.*time.member).value, time.unit);
    return out;
}

}  // namespace

SoftwareProfile read_software(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.software", source, path);
    SoftwareProfile software;
    software.id = root.required<std::string>("id");
    software.name = root.optional<std::string>("name").value_or(software.id);
    read_succession(root, software);
    software.structure = read_structure(root.object("structure"));
    software.numbers = read_numbers(root.object("numbers"));
    read_by_architecture(root, value, software);
    JsonObject uncertainty = root.object("uncertainty_pct");
    software.uncertainty_p90_pct = uncertainty.required<double>("p90", Range::not_negative);
    uncertainty.finish();
    root.ignore("sources");
    root.finish();
    return software;
}

OrderedJson to_json(const SoftwareProfile& software) {
    OrderedJson out = {
        {"schema", "foreshard.software"}, {"schema_version", "1.0"}, {"id", software.id}, {"name", software.name}};
    if (software.succeeds) {
        out["succeeds"] = {{"profile", software.succeeds->profile}, {"since", software.succeeds->since}};
    }
    out["structure"] = to_json(software.structure);
    out["numbers"] = to_json(software.numbers);
    for (const auto& [architecture, numbers] : software.by_architecture) {
        out["numbers_by_architecture"][architecture] = to_json(numbers);
    }
    out["uncertainty_pct"] = {{"p90", software.uncertainty_p90_pct}};
    return out;
}

}  // namespace foreshard
