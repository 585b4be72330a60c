#include "tests/traces/trace_jobs.hpp"

#include <gtest/gtest.h>

namespace foreshard {

Evaluation evaluate_request(const JobRequest& request) {
    const Job job = resolve(request);
    for (const BrokenRule& rule : check(job)) ADD_FAILURE() << rule.fields << ": " << rule.rule;
    return evaluate(job);
}

namespace {

JobRequest tiny(int gpus, int pp) {
    JobRequest request;
    request.model = "gpt-tiny";
    request.cluster = "dgx-a100-80g";
    request.gpus = gpus;
    request.pp = pp;
    request.num_layers = 8;
    request.gbs = 16;
    return request;
}

}  // namespace

JobRequest one_f_one_b() {
    return tiny(4, 4);
}

JobRequest interleaved() {
    JobRequest request = tiny(4, 4);
    request.vpp = 2;
    request.schedule = "interleaved";
    return request;
}

JobRequest tensor_parallel() {
    JobRequest request = tiny(4, 2);
    request.tp = 2;
    request.sp = true;
    request.recompute = "full";
    return request;
}

JobRequest overlapped_data_parallel() {
    JobRequest request = tiny(4, 2);
    request.dp = 2;
    request.bucket_mb = 0.1;
    request.overlap_grad_reduce = true;
    return request;
}

JobRequest distributed_optimizer() {
    JobRequest request = overlapped_data_parallel();
    request.use_distributed_optimizer = true;
    request.overlap_param_gather = true;
    return request;
}

JobRequest steps_that_overlap() {
    JobRequest request = distributed_optimizer();
    request.hidden_size = 1024;
    request.ffn_hidden_size = 4096;
    request.num_attention_heads = 16;
    request.kv_channels = 64;
    request.num_layers = 9;
    request.layout = "Et|ttttttttL";
    request.untie_embeddings_and_output_weights = true;
    return request;
}

JobRequest fused_passes() {
    JobRequest request = tiny(2, 2);
    request.gbs = 3;
    request.schedule_file = ScheduleFile{.name = "fused.csv",
                                         .text =
                                             "0F0,0F1,0F2&0B0,0B1,0B2\n"
                                             "1F0,1B0,1F1,1B1&1F2,1B2\n"};
    return request;
}

JobRequest blocking_messages() {
    JobRequest request = tiny(4, 4);
    request.software = "megatron-2021";
    return request;
}

JobRequest one_rank() {
    return tiny(1, 1);
}

namespace {

/// All passes equally long; a message is in flight for `hop`.
JobRequest given_times(Picoseconds pass, Picoseconds hop) {
    JobRequest request;
    StageTimes times;
    times.stages.assign(4, {pass, pass, pass});
    times.hop = hop;
    request.stage_times = times;
    request.gbs = 12;
    request.schedule = "gpipe";
    return request;
}

}  // namespace

JobRequest long_hop() {
    return given_times(1'000'001, 10'000'003);
}

JobRequest no_hop() {
    return given_times(1'000'001, 0);
}

JobRequest no_time_at_all() {
    return given_times(0, 0);
}

}  // namespace foreshard
