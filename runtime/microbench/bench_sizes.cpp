#include "runtime/microbench/bench_sizes.hpp"

#include <algorithm>

#include "runtime/rank_setup.hpp"
#include "sim/plan/op_builders.hpp"

namespace foreshard::runtime {

namespace {

void add(std::vector<GemmSize>& gemms, GemmSize size) {
    if (std::find(gemms.begin(), gemms.end(), size) == gemms.end()) gemms.push_back(size);
}

/// The linears of a layer and the output layer on one tensor parallel rank.
std::vector<GemmSize> layer_gemms(const Job& job) {
    const OpShapes shapes = op_shapes(job);
    const std::int64_t rows = shapes.tokens;
    const std::int64_t query = shapes.heads * shapes.head_dim;
    std::vector<GemmSize> gemms;
    add(gemms, {rows, query + 2 * shapes.kv, shapes.hidden});
    add(gemms, {rows, shapes.hidden, query});
    const std::int64_t ffn = job.model.ffn_hidden / job.plan.tp;
    add(gemms, {rows, (job.model.gated_mlp ? 2 : 1) * ffn, shapes.hidden});
    add(gemms, {rows, shapes.hidden, ffn});
    add(gemms, {rows, padded_vocab(job) / job.plan.tp, shapes.hidden});
    return gemms;
}

void add_sweep(BenchSizes& sizes) {
    for (const std::int64_t side : {256, 512, 1024, 2048, 4096}) add(sizes.gemms, {side, side, side});
    for (const std::int64_t rows : {512, 1024, 2048, 4096, 8192}) {
        add(sizes.gemms, {rows, 4096, 4096});
        add(sizes.gemms, {rows, 1024, 4096});
        add(sizes.gemms, {rows, 4096, 1024});
    }
    for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 28; bytes *= 2) sizes.message_bytes.push_back(bytes);
    for (std::int64_t elements = 1 << 12; elements <= std::int64_t{1} << 28; elements *= 2) {
        sizes.elements.push_back(elements);
    }
}

BenchSizes tiny_sizes(const AttentionShape& shape) {
    BenchSizes sizes;
    sizes.gemms = {{16, 24, 32}};
    sizes.attentions = {shape};
    sizes.elements = {1 << 10};
    sizes.columns = 64;
    sizes.message_bytes = {1 << 10};
    sizes.overlap_gemm = {32, 32, 32};
    sizes.overlap_bytes = 1 << 12;
    sizes.repeats = {1, 2, 2};
    return sizes;
}

/// Kernels but for the one beside which communication is timed are left out.
BenchSizes communication_sizes(const Job& job) {
    constexpr std::int64_t largest = std::int64_t{1} << 26;
    BenchSizes sizes;
    for (std::int64_t bytes = 512; bytes <= largest; bytes *= 4) sizes.message_bytes.push_back(bytes);
    sizes.columns = job.model.hidden;
    sizes.overlap_gemm = layer_gemms(job).back();
    sizes.repeats = {.warmup = 2, .samples = 7, .inner = 2};
    return sizes;
}

}  // namespace

BenchSizes bench_sizes(const Job& job, Effort effort) {
    const AttentionShape shape = attention_shape(job, op_shapes(job));
    if (effort == Effort::tiny) return tiny_sizes(shape);
    if (effort == Effort::communication) return communication_sizes(job);
    BenchSizes sizes;
    sizes.gemms = layer_gemms(job);
    sizes.attentions = {shape};
    if (effort == Effort::full) {
        add_sweep(sizes);
    } else {
        for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 24; bytes *= 4)
            sizes.message_bytes.push_back(bytes);
        for (std::int64_t elements = 1 << 12; elements <= std::int64_t{1} << 24; elements *= 16) {
            sizes.elements.push_back(elements);
        }
    }
    sizes.columns = job.model.hidden;
    sizes.overlap_gemm = sizes.gemms[2];
    return sizes;
}

}  // namespace foreshard::runtime
