#include "sim/validate/validate.hpp"

/// Effects switched off one at a time. A factor of nearly zero stands for "takes no time".
namespace foreshard {

namespace {

constexpr double next_to_nothing = 1e-9;

void no_host(Job& job) {
    job.software.numbers.host_forward = Seconds(0.0);
    job.software.numbers.host_backward = Seconds(0.0);
    job.software.numbers.host_collective = Seconds(0.0);
}

void no_p2p(Job& job) {
    job.software.numbers.p2p_latency = Seconds(0.0);
    job.software.numbers.p2p_bandwidth_ratio = 1e9;
    job.plan.overlap_p2p = true;
}

void no_attention(Job& job) {
    job.software.numbers.flash_time_factor = next_to_nothing;
    job.software.numbers.attention_matmul_ratio = 1e9;
    job.software.numbers.misaligned_attention_ratio = 1e9;
}

}  // namespace

const std::vector<Ablation>& ablations() {
    static const std::vector<Ablation> all = {
        {"no host floor", no_host},
        {"no memory-bound kernels", [](Job& job) { job.software.numbers.memory_time_factor = next_to_nothing; }},
        {"no attention products", no_attention},
        {"no head-dimension rule",
         [](Job& job) {
             ProfileNumbers& n = job.software.numbers;
             n.misaligned_attention_ratio =
                 n.attention_matmul_ratio > 0 ? n.attention_matmul_ratio : job.cluster.device.attention_matmul_ratio;
         }},
        {"no TP communication", [](Job& job) { job.software.numbers.tp_time_factor = 0.0; }},
        {"TP communication fully exposed", [](Job& job) { job.software.numbers.tp_overlap_ratio = 0.0; }},
        {"no p2p", no_p2p},
        {"no fp32 cross entropy", [](Job& job) { job.software.structure.fp32_cross_entropy = false; }},
        {"no optimizer", [](Job& job) { job.software.numbers.optimizer_bytes_per_parameter = 0.0; }},
        {"no fixed step overhead", [](Job& job) { job.software.numbers.step_overhead = Seconds(0.0); }},
        {"equal stages", [](Job& job) { job.plan.layout.clear(); }},
    };
    return all;
}

}  // namespace foreshard
