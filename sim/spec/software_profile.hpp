#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/spec/cluster_spec.hpp"
#include "sim/units.hpp"

/// What differs between frameworks and years for the same plan on the same GPU.
namespace foreshard {

/// unfused: score and context products counted as one kernel, with dropout's tensors kept.
/// single: a kernel for each product and for the softmax, in the order of execution; only what backward reads is kept.
enum class AttentionKernel { unfused, flash, single };

/// Which rule cuts gradients into buckets.
enum class GradientBuckets {
    megatron,   ///< max(40e6, 1e6 dp) parameters, on the first pipeline rank's first chunk only
    torch,      ///< 1 MiB, then 25 MiB, in the order in which gradients get ready (DDP's reducer)
    deepspeed,  ///< 5e8 elements (reduce_bucket_size)
};

/// Structural half: what is fused, saved and ordered. Read by lowering and by the buffer plan.
struct ProfileStructure {
    AttentionKernel attention = AttentionKernel::flash;
    bool dropout = false;               ///< dropout kernels run
    bool saves_dropout_masks = false;   ///< masks after attention and MLP are kept for backward
    bool saves_embedding_mask = false;  ///< so is the mask of the embedding's dropout
    bool fused_norm = true;    ///< false: RMSNorm out of single ops keeps its input in fp32 and the normalised tensor
    bool fused_swiglu = true;  ///< false: the activated gate is kept too
    int gradient_bytes_fp16 = 2;
    int gradient_bytes_bf16 = 4;
    int gradient_copy_bytes_bf16 = 0;  ///< further copies of all gradients that stay in memory (bf16)
    int gradient_partition_bytes = 0;  ///< copy of the rank's shard where the optimizer is sharded
    Precision default_precision = Precision::bf16;
    bool fp32_products_in_tf32 = false;  ///< where the device has TF32
    bool overlap_p2p = true;             ///< false: the sender's compute stream waits for the transfer
    bool overlap_p2p_chunked = false;    ///< interleaved schedules overlap all the same (Megatron-LM since 2023)
    bool scatter_gather_p2p = true;
    double sp_extra_all_gather_ratio = 0.0;  ///< backward re-gathers of sequence parallelism, exposed share of 2 AG
    bool fp32_cross_entropy = true;
    double logits_bytes_per_element = 12.0;
    double allocator_reserved_ratio = 1.12;
    GradientBuckets gradient_buckets = GradientBuckets::megatron;
    int gradient_reduce_bytes = 0;           ///< on the wire of sharded schemes, an element; 0: as the gradient
    bool zero_gathers_by_broadcast = false;  ///< parameters of a sharded optimizer: one broadcast a rank
    bool zero_group_in_node = false;         ///< optimizer shards stay within a node unless the plan says otherwise
    /// Buffers of passes are counted tensor by tensor, as the project's runtime allocates them; without fitted terms.
    bool counts_buffers = false;
    bool vocab_divisor_times_tp = true;  ///< the vocabulary is padded to a multiple of divisor * TP, not of the divisor
};

/// Numeric half: fitted factors. Read by cost only.
struct ProfileNumbers {
    double gemm_time_factor = 1.0;
    double memory_time_factor = 1.0;
    double flash_time_factor = 1.0;
    double flash_backward_ratio = 2.5;
    double attention_matmul_ratio = 0.0;  ///< 0: the device's
    double misaligned_attention_ratio = 0.025;
    double tp_time_factor = 1.0;
    double tp_overlap_ratio = 0.0;
    double dp_overlap_ratio = 0.0;
    double zero3_network_ratio = 0.0;  ///< NIC bandwidth that ZeRO-3's gathers between nodes reach; 0: as all others
    Seconds broadcast_latency{};       ///< of each of zero_gathers_by_broadcast
    double dp_contention_ratio = 0.0;  ///< compute under data-parallel communication takes so much longer, per its time
    double vocabulary_slowdown_ratio = 0.0;  ///< layers take so much longer beside vocabulary-parallel collectives
    double interlaced_slowdown_ratio = 0.0;  ///< the same where all ranks compute their shares at once
    Seconds host_forward;                    ///< per layer
    Seconds host_backward;                   ///< per layer
    Seconds host_collective;                 ///< per collective
    Seconds p2p_latency;
    Seconds pass_overhead;  ///< of every pass of a pipeline: what lies between two passes, per pass and not per layer
    double p2p_bandwidth_ratio = 0.8;
    double network_bandwidth_ratio = 0.9;
    double optimizer_bytes_per_parameter = 40.0;
    Seconds step_overhead;
    Seconds launch_blocking;  ///< added to every kernel under CUDA_LAUNCH_BLOCKING=1
    double cross_entropy_forward_bytes = 45.0;
    double cross_entropy_backward_bytes = 20.0;
};

/// A framework that changed under one name: another profile describes it before a date.
struct Succession {
    std::string profile;  ///< id of the one before
    std::string since;    ///< "2024-02": year and month
};

struct SoftwareProfile {
    std::string id;
    std::string name;
    std::optional<Succession> succeeds;
    ProfileStructure structure;
    ProfileNumbers numbers;
    /// Numbers that replace the above on devices of an architecture, for profiles that were fitted on several.
    std::vector<std::pair<std::string, ProfileNumbers>> by_architecture;
    double uncertainty_p90_pct = 22.0;
};

}  // namespace foreshard
