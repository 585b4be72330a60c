#include "runtime/microbench/kernel_bench.hpp"

#include <algorithm>

#include "runtime/microbench/bench_tensor.hpp"

namespace foreshard::runtime {

namespace {

/// Products of 4096 x 4096 take seconds on a processor.
template <class Issue>
Repeats fitting(const Device& device, const Repeats& repeats, const Issue& issue) {
    constexpr std::chrono::milliseconds long_call{100};
    if (device.runs_behind()) return repeats;
    const auto begin = std::chrono::steady_clock::now();
    issue();
    const bool takes_long = std::chrono::steady_clock::now() - begin > long_call;
    return takes_long ? Repeats{0, std::min(repeats.samples, 3), 1} : repeats;
}

class KernelBench {
public:
    KernelBench(Device& device, const BenchSizes& sizes, const std::function<void()>& after_each)
        : device_(device),
          sizes_(sizes),
          after_each_(after_each),
          element_(static_cast<double>(element_bytes(device.type()))) {}

    std::vector<BenchRow> run();

private:
    using Shape = std::vector<std::pair<std::string, std::int64_t>>;

    template <class Issue>
    void add(const char* group, const char* op, const Shape& shape, double flops, double bytes, const Issue& issue) {
        const Repeats repeats = fitting(device_, sizes_.repeats, issue);
        rows_.push_back({group, op, shape, flops, bytes, time_calls(device_, 0, repeats, issue)});
        after_each_();
    }
    BenchTensor random(std::int64_t rows, std::int64_t columns) { return {device_, rows, columns, device_.type()}; }
    BenchTensor state(std::int64_t rows, std::int64_t columns) {
        return {device_, rows, columns, device_.state_type()};
    }
    void bench_gemm(const GemmSize& size);
    void bench_attention(const AttentionShape& shape);
    void bench_scores(const AttentionShape& shape);
    void bench_memory_bound(std::int64_t elements);
    void bench_norms(std::int64_t rows);
    void bench_optimizer(std::int64_t elements);
    void bench_launch();

    Device& device_;
    const BenchSizes& sizes_;
    const std::function<void()>& after_each_;
    double element_;
    std::vector<BenchRow> rows_;
};

void KernelBench::bench_gemm(const GemmSize& size) {
    const BenchTensor x = random(size.m, size.k);
    const BenchTensor w = random(size.n, size.k);
    const BenchTensor y = random(size.m, size.n);
    const BenchTensor dw = state(size.n, size.k);
    const BenchTensor dx = random(size.m, size.k);
    const Shape shape = {{"m", size.m}, {"n", size.n}, {"k", size.k}};
    const double flops = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
    const double mk = static_cast<double>(size.m) * static_cast<double>(size.k);
    const double nk = static_cast<double>(size.n) * static_cast<double>(size.k);
    const double mn = static_cast<double>(size.m) * static_cast<double>(size.n);
    const double bytes = element_ * (mk + nk + mn);
    const double state_bytes = 2.0 * static_cast<double>(element_bytes(device_.state_type()));  // read and written
    add("gemm", "forward", shape, flops, bytes, [&] { device_.linear(x.tensor(), {w.tensor(), {}}, y.tensor()); });
    add("gemm", "input_grad", shape, flops, bytes,
        [&] { device_.linear_input_grad(y.tensor(), w.tensor(), dx.tensor()); });
    add("gemm", "weight_grad", shape, flops, element_ * (mk + mn) + state_bytes * nk, [&] {
        device_.linear_weight_grad(y.tensor(), x.tensor(), {dw.tensor(), {}});
    });
}

/// FLOPs of the two products; half of them where the mask is causal.
double attention_flops(const AttentionShape& shape) {
    const double pairs =
        static_cast<double>(shape.sequences * shape.heads) * static_cast<double>(shape.seq * shape.seq);
    return 4.0 * pairs * static_cast<double>(shape.head_dim) * (shape.mask == AttentionMask::causal ? 0.5 : 1.0);
}

std::vector<std::pair<std::string, std::int64_t>> shape_of(const AttentionShape& shape) {
    return {{"sequences", shape.sequences}, {"seq", shape.seq},
            {"heads", shape.heads},         {"kv_heads", shape.kv_heads},
            {"head_dim", shape.head_dim},   {"causal", shape.mask == AttentionMask::causal}};
}

void KernelBench::bench_attention(const AttentionShape& shape) {
    const std::int64_t tokens = shape.sequences * shape.seq;
    const std::int64_t width = shape.query_width() + 2 * shape.kv_width();
    const BenchTensor qkv = random(tokens, width);
    const BenchTensor dqkv = random(tokens, width);
    const BenchTensor context = random(tokens, shape.query_width());
    const BenchTensor dcontext = random(tokens, shape.query_width());
    const BenchTensor log_sum = state(shape.score_rows(), 1);
    const double flops = attention_flops(shape);
    constexpr double backward_factor = 2.5;  // five products for two
    add("attention", "flash_forward", shape_of(shape), flops, 0.0,
        [&] { device_.flash_attention(shape, qkv.tensor(), context.tensor(), log_sum.tensor()); });
    add("attention", "flash_backward", shape_of(shape), backward_factor * flops, 0.0, [&] {
        device_.flash_attention_grad(shape, qkv.tensor(), context.tensor(), log_sum.tensor(), dcontext.tensor(),
                                     dqkv.tensor());
    });
    add("memory", "rotate", {{"rows", tokens}, {"columns", width}}, 0.0,
        2.0 * element_ * static_cast<double>(tokens) * static_cast<double>(shape.query_width() + shape.kv_width()),
        [&] { device_.rotate(shape, qkv.tensor(), Turn::forward); });
}

void KernelBench::bench_scores(const AttentionShape& shape) {
    const std::int64_t tokens = shape.sequences * shape.seq;
    const BenchTensor qkv = random(tokens, shape.query_width() + 2 * shape.kv_width());
    const BenchTensor scores = random(shape.score_rows(), shape.seq);
    const BenchTensor context = random(tokens, shape.query_width());
    const double half = attention_flops(shape) / 2.0;
    add("attention", "scores", shape_of(shape), half, 0.0,
        [&] { device_.attention_scores(shape, qkv.tensor(), scores.tensor()); });
    add("attention", "softmax", shape_of(shape), 0.0,
        2.0 * element_ * static_cast<double>(shape.score_rows()) * static_cast<double>(shape.seq),
        [&] { device_.attention_softmax(shape, scores.tensor()); });
    add("attention", "context", shape_of(shape), half, 0.0,
        [&] { device_.attention_context(shape, qkv.tensor(), scores.tensor(), context.tensor()); });
}

void KernelBench::bench_memory_bound(std::int64_t elements) {
    const std::int64_t rows = std::max<std::int64_t>(elements / sizes_.columns, 1);
    const BenchTensor a = random(rows, sizes_.columns);
    const BenchTensor b = random(rows, sizes_.columns);
    const BenchTensor c = random(rows, sizes_.columns);
    const double bytes = element_ * static_cast<double>(rows) * static_cast<double>(sizes_.columns);
    const Shape shape = {{"rows", rows}, {"columns", sizes_.columns}};
    add("memory", "fill", shape, 0.0, bytes, [&] { device_.fill(a.tensor(), 0.5); });
    add("memory", "copy", shape, 0.0, 2.0 * bytes, [&] { device_.copy(a.tensor(), b.tensor()); });
    add("memory", "add", shape, 0.0, 3.0 * bytes, [&] { device_.add(a.tensor(), b.tensor()); });
    add("memory", "add_residual", shape, 0.0, 3.0 * bytes,
        [&] { device_.add_residual(a.tensor(), b.tensor(), {}, c.tensor()); });
    add("memory", "gelu", shape, 0.0, 2.0 * bytes,
        [&] { device_.activation(ActivationKind::gelu, a.tensor(), b.tensor()); });
    add("memory", "gelu_grad", shape, 0.0, 3.0 * bytes,
        [&] { device_.activation_grad(ActivationKind::gelu, a.tensor(), b.tensor(), c.tensor()); });
    bench_norms(rows);
}

void KernelBench::bench_norms(std::int64_t rows) {
    const BenchTensor x = random(rows, sizes_.columns);
    const BenchTensor y = random(rows, sizes_.columns);
    const BenchTensor dx = random(rows, sizes_.columns);
    const BenchTensor statistics = state(rows, 2);
    const BenchTensor weight = random(1, sizes_.columns);
    const BenchTensor dweight = state(1, sizes_.columns);
    const double bytes = element_ * static_cast<double>(rows) * static_cast<double>(sizes_.columns);
    const Shape shape = {{"rows", rows}, {"columns", sizes_.columns}};
    add("memory", "rms_norm", shape, 0.0, 3.0 * bytes, [&] {
        device_.norm_statistics(NormKind::rms_norm, x.tensor(), statistics.tensor());
        device_.norm(NormKind::rms_norm, x.tensor(), statistics.tensor(), {weight.tensor(), {}}, y.tensor());
    });
    add("memory", "rms_norm_grad", shape, 0.0, 3.0 * bytes, [&] {
        device_.norm_grad(NormKind::rms_norm, y.tensor(), x.tensor(), statistics.tensor(), weight.tensor(), {},
                          dx.tensor(), {dweight.tensor(), {}});
    });
}

void KernelBench::bench_optimizer(std::int64_t elements) {
    const BenchTensor gradient = state(1, elements);
    const BenchTensor first = state(1, elements);
    const BenchTensor second = state(1, elements);
    const BenchTensor weight = state(1, elements);
    device_.fill(second.tensor(), 1.0);
    const bool mixed = device_.type() != device_.state_type();
    const BenchTensor copy = random(1, mixed ? elements : 1);
    const auto states = static_cast<double>(element_bytes(device_.state_type()));
    const double bytes = static_cast<double>(elements) * (7.0 * states + (mixed ? element_ : 0.0));
    AdamStep step;
    step.step = 10;
    add("optimizer", "adamw", {{"elements", elements}}, 0.0, bytes, [&] {
        device_.adamw(step, gradient.tensor(), first.tensor(), second.tensor(), weight.tensor(),
                      mixed ? copy.tensor() : Tensor{});
    });
}

/// A kernel on one element: what starting one costs.
void KernelBench::bench_launch() {
    const BenchTensor one = random(1, 1);
    add("launch", "fill_one", {{"elements", 1}}, 0.0, 0.0, [&] { device_.fill(one.tensor(), 0.0); });
}

std::vector<BenchRow> KernelBench::run() {
    bench_launch();
    for (const GemmSize& size : sizes_.gemms) bench_gemm(size);
    for (const AttentionShape& shape : sizes_.attentions) {
        bench_attention(shape);
        bench_scores(shape);
    }
    for (const std::int64_t elements : sizes_.elements) {
        bench_memory_bound(elements);
        bench_optimizer(elements);
    }
    return std::move(rows_);
}

}  // namespace

std::vector<BenchRow> bench_kernels(Device& device, const BenchSizes& sizes, const std::function<void()>& after_each) {
    return KernelBench(device, sizes, after_each).run();
}

}  // namespace foreshard::runtime
