#include "sim/result/json_summary.hpp"

namespace foreshard {

OrderedJson summary_json(const Summary& s) {
    OrderedJson json = {{"step_time_ms", s.step_time_ms}};
    if (s.step_time_low_ms) json["step_time_low_ms"] = *s.step_time_low_ms;
    if (s.step_time_high_ms) json["step_time_high_ms"] = *s.step_time_high_ms;
    if (s.runs) json["runs"] = *s.runs;
    if (s.step_time_mean_ms) json["step_time_mean_ms"] = *s.step_time_mean_ms;
    if (s.step_time_p90_ms) json["step_time_p90_ms"] = *s.step_time_p90_ms;
    json["samples_per_s"] = s.samples_per_s;
    json["tokens_per_s"] = s.tokens_per_s;
    json["tokens_per_s_per_gpu"] = s.tokens_per_s_per_gpu;
    json["model_tflops_per_gpu"] = s.model_tflops_per_gpu;
    json["model_tflops_per_gpu_causal"] = s.model_tflops_per_gpu_causal;
    json["mfu_ratio"] = s.mfu_ratio;
    json["hfu_ratio"] = s.hfu_ratio;
    json["gpu_busy_ratio"] = s.gpu_busy_ratio;
    json["bubble_ratio"] = s.bubble_ratio;
    json["bubble_over_ideal_ratio"] = s.bubble_over_ideal_ratio;
    json["bubble_span_ratio"] = s.bubble_span_ratio;
    json["exposed_comm_ms"] = {{"tp", s.exposed_tp_ms},
                               {"cp", s.exposed_cp_ms},
                               {"ep", s.exposed_ep_ms},
                               {"pp", s.exposed_pp_ms},
                               {"dp", s.exposed_dp_ms}};
    if (s.exposed_offload_ms > 0.0) json["exposed_comm_ms"]["offload"] = s.exposed_offload_ms;
    json["hidden_comm_ms"] = {{"dp", s.hidden_dp_ms}};
    json["peak_memory_bytes"] = s.peak_memory;
    json["peak_reserved_bytes"] = s.peak_reserved;
    json["peak_device_bytes"] = s.peak_device;
    json["peak_memory_rank"] = s.peak_memory_rank;
    json["memory_capacity_bytes"] = s.memory_capacity;
    json["memory_verdict"] = to_string(s.verdict);
    json["fits"] = s.fits;
    if (s.staleness) {
        json["staleness"] = {{"mean", s.staleness->mean}, {"histogram", s.staleness->histogram}};
        json["learning_rate_scale"] = s.staleness->learning_rate_scale;
        json["updates_per_s"] = s.staleness->updates_per_s;
    }
    return json;
}

}  // namespace foreshard
