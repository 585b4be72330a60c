#include <array>

#include <gtest/gtest.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/engine/estimate.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/prefixes.hpp"
#include "sim/search/forms.hpp"
#include "sim/search/refined_bound.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/request_text.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/search_spaces.hpp"

/// The fast bounds of plans against estimate(), the engine and the report's memory.
namespace foreshard {
namespace {

using test::BoundedSpace;

std::string words(const JobRequest& plan) {
    return request_flags(plan);
}

bool exact_memory(const Job& job) {
    const bool replicated = job.plan.dp * job.plan.cp > 1;
    if (replicated && (shards_gradients(job.plan) || job.plan.overlap_grad_reduce)) return false;
    if (job.plan.offload_activation_layers > 0) return false;
    const ScheduleKind kind = job.plan.schedule;
    return kind == ScheduleKind::none || kind == ScheduleKind::one_f_one_b || kind == ScheduleKind::gpipe;
}

class BoundsOfSpace : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, BoundsOfSpace, testing::Range(std::uint64_t{1}, std::uint64_t{13}));

/// Every `stride`-th plan is simulated.
void compare_with_engine(const SearchRequest& request, std::size_t stride) {
    const BoundedSpace bounded = test::bounded_space(request);
    ASSERT_FALSE(bounded.plans.empty());
    for (std::size_t i = 0; i < bounded.plans.size(); i += stride) {
        const Candidate& plan = bounded.plans[i];
        const Job job = test::job_of(bounded.space, plan.key);
        SCOPED_TRACE(words(plan_request(bounded.space, plan.key)));
        ASSERT_TRUE(check(job).empty()) << check(job).front().rule;
        const Evaluation e = evaluate(job);
        EXPECT_LE(plan.step_time, e.timeline.step_time());
        EXPECT_LE(plan.memory, e.report.summary.peak_memory);
        if (exact_memory(job)) {
            EXPECT_EQ(plan.memory, e.report.summary.peak_memory);
        }
        const Estimate reference = estimate(job, e.schedule);
        // Of copies to the host only the search's bound knows.
        if (job.plan.offload_activation_layers == 0) {
            EXPECT_LE(plan.step_time, reference.step_time) << reference.form;
        }
        const CalibratedCost cost(job);
        const NcclNetwork network(job);
        const Picoseconds refined = refined_step_time(job, e.schedule, cost, network);
        EXPECT_LE(refined, e.timeline.step_time());
        EXPECT_LE(refined_memory(job, e.schedule), e.report.summary.peak_memory);
        if (reference.exact) {
            EXPECT_EQ(reference.step_time, e.timeline.step_time()) << reference.form;
        }
    }
}

TEST_P(BoundsOfSpace, AreNeverAboveTheEngine) {
    compare_with_engine(test::random_search(GetParam()), 29);
}

TEST_P(BoundsOfSpace, AreNeverAboveTheEngineInTheFullSpace) {
    const int group = static_cast<int>(GetParam()) % test::kept_axis_groups;
    SearchRequest request = test::with_kept_axes(test::random_search(GetParam()), group);
    if (GetParam() % 2 == 0) request.constraints["overlap_grad_reduce"] = "on";
    compare_with_engine(request, 499);
}

/// On links to the host that keep passes waiting, and on such that do not.
TEST_P(BoundsOfSpace, AreNeverAboveTheEngineWithTensorsOnTheHost) {
    SearchRequest request = test::random_search(GetParam());
    request.base.num_layers = 16;
    ClusterSpec cluster = load_cluster("dgx-a100-80g");
    cluster.device.host_link = BytesPerSecond(GetParam() % 3 == 0 ? 200e9 : 3e9 * static_cast<double>(GetParam()));
    request.base.cluster = cluster;
    request.space = SpaceKind::full;
    request.constraints["offload_activation_layers"] = "1,3,8,16";
    request.constraints["schedule"] = "none,1f1b,interleaved-1f1b,zb-v,hanayo,dualpipe,interleaved-zb";
    request.constraints["vpp"] = "1,2,4";
    request.constraints["zero"] = "1,3";
    request.constraints["offload_optimizer"] = GetParam() % 2 == 0 ? "on" : "off";
    request.constraints["data_parallel"] = GetParam() % 4 < 2 ? "ddp" : "fsdp2";
    request.constraints["precision"] = "bf16";
    request.constraints["order"] = "tp-cp-ep-dp-pp";
    request.constraints["tp_comm_overlap"] = "off";
    compare_with_engine(request, 5);
}

OpLaw some_law(const std::string& op, double base_us, double gflops, double gbytes) {
    return {op, Seconds(base_us * micro), FlopsPerSecond(gflops * giga), BytesPerSecond(gbytes * giga), 1.0, 1e12, {}};
}

/// All that a calibration may say of costs.
Calibration some_calibration() {
    Calibration out;
    out.id = out.name = "some";
    out.machine.dtype = "bf16";
    out.ops = {some_law("attention.matmul", 1.0, 40e3, 0.0), some_law("gemm.forward", 10.0, 90e3, 0.0),
               some_law("gemm.input_grad", 12.0, 80e3, 0.0), some_law("memory.any", 2.0, 0.0, 900.0)};
    out.collectives = {{CollectiveKind::all_reduce, 8, Seconds(30e-6), 1e-9, BytesPerSecond(150e9)}};
    out.messages = MessageLaw{Seconds(9e-6), BytesPerSecond(60e9)};
    out.optimizer = OptimizerLaw{Seconds(40e-6), 5e9};
    out.pass_overhead = Seconds(21e-6);
    out.step_overhead = Seconds(3e-3);
    out.wakeup = Seconds(7e-6);
    out.rank_wait_ratio = 0.03;
    out.overlap_contention_ratio = 0.2;
    return out;
}

SearchRequest calibrated_search(std::uint64_t seed, const Calibration& calibration) {
    SearchRequest request = test::random_search(seed);
    request.base.calibration = std::make_shared<const Calibration>(calibration);
    return request;
}

/// Bounds and engine read the same calibration.
TEST_P(BoundsOfSpace, HoldWithACalibration) {
    const BoundedSpace bounded = test::bounded_space(calibrated_search(GetParam(), some_calibration()));
    for (std::size_t i = 0; i < bounded.plans.size(); i += 97) {
        const Candidate& plan = bounded.plans[i];
        const Job job = test::job_of(bounded.space, plan.key);
        SCOPED_TRACE(words(plan_request(bounded.space, plan.key)));
        const Evaluation e = evaluate(job);
        EXPECT_LE(plan.step_time, e.timeline.step_time());
        EXPECT_EQ(plan.step_time, estimate(job, e.schedule).step_time);
    }
}

/// Where ranks of a host slow each other down, how much follows from the simulated step; a rank alone is a bound.
TEST(Bounds, HoldWhereRanksSlowEachOtherDown) {
    Calibration shared = some_calibration();
    shared.shared_host = {{2, 1.2, 1.5}, {8, 1.6, 3.0}};
    compare_with_engine(calibrated_search(3, shared), 211);
    shared.shared_host = {{2, 1.2, 1.5}, {8, 1.1, 3.0}};
    EXPECT_THROW(test::bounded_space(calibrated_search(3, shared)), InputError);
}

/// Every scheme of sharded parameters, with and without what overlaps.
TEST_P(BoundsOfSpace, AreNeverAboveTheEngineWithShardedParameters) {
    SearchRequest request = test::random_search(GetParam());
    const std::array<const char*, 4> schemes = {"fsdp1", "fsdp2", "hsdp", "ddp"};
    request.constraints["data_parallel"] = schemes[GetParam() % schemes.size()];
    request.constraints["zero"] = "2,3";
    request.constraints["dp"] = "2..16";
    request.base.gpus = 16;  // HSDP wants two nodes
    compare_with_engine(request, 23);
}

/// Where nothing of data parallelism overlaps, the default space is bounded as tightly as estimate() does.
TEST_P(BoundsOfSpace, AreThoseOfEstimate) {
    const BoundedSpace bounded = test::bounded_space(test::random_search(GetParam()));
    for (std::size_t i = 0; i < bounded.plans.size(); i += 19) {
        const Candidate& plan = bounded.plans[i];
        const Job job = test::job_of(bounded.space, plan.key);
        SCOPED_TRACE(words(plan_request(bounded.space, plan.key)));
        EXPECT_EQ(plan.step_time, estimate(job, schedule_of(job)).step_time);
    }
}

/// One rank per replica, parameters sharded: gathers and reductions hide under compute and slow it down.
TEST(RefinedBound, KnowsWhatShardingCosts) {
    for (const char* scheme : {"fsdp1", "fsdp2"}) {
        JobRequest request;
        request.model = "llama3-8b";
        request.cluster = "dgx-h100";
        request.gpus = 32;
        request.gbs = 128;
        request.mbs = 1;
        request.data_parallel = scheme;
        const Job job = test::valid_job(request);
        const Evaluation e = evaluate(job);
        const auto step = static_cast<double>(e.timeline.step_time());
        const CalibratedCost cost(job);
        const NcclNetwork network(job);
        const Picoseconds bound = refined_step_time(job, e.schedule, cost, network);
        EXPECT_LE(bound, e.timeline.step_time()) << scheme;
        EXPECT_GE(static_cast<double>(bound), 0.97 * step) << scheme;
        const auto peak = static_cast<double>(e.report.summary.peak_memory);
        EXPECT_GE(static_cast<double>(refined_memory(job, e.schedule)), 0.85 * peak) << scheme;
    }
}

/// What costs depend on is set by hand in the fast path; the resolved job must say the same.
TEST_P(BoundsOfSpace, PlansAreSetAsTheyAreResolved) {
    const int group = static_cast<int>(GetParam() + 3) % test::kept_axis_groups;
    SearchRequest request = test::with_kept_axes(test::random_search(GetParam()), group);
    if (GetParam() % 2 == 0) request.base.software = "internlm";
    const BoundedSpace bounded = test::bounded_space(request);
    for (std::size_t i = 0; i < bounded.plans.size(); i += 301) {
        const PlanKey& key = bounded.plans[i].key;
        Job fast = bounded.space.templates[static_cast<std::size_t>(key.form)][static_cast<std::size_t>(key.sharding)];
        set_plan(bounded.space, key, fast);
        const Job job = test::job_of(bounded.space, key);
        SCOPED_TRACE(words(plan_request(bounded.space, key)));
        const ParallelPlan& a = fast.plan;
        const ParallelPlan& b = job.plan;
        EXPECT_EQ(std::tie(a.dp, a.tp, a.pp, a.vpp, a.cp, a.ep, a.sequence_parallel, a.schedule),
                  std::tie(b.dp, b.tp, b.pp, b.vpp, b.cp, b.ep, b.sequence_parallel, b.schedule));
        EXPECT_EQ(expert_tp(a), expert_tp(b));
        EXPECT_EQ(std::tie(a.recompute, a.recompute_num_layers, a.zero_stage, a.distributed_optimizer),
                  std::tie(b.recompute, b.recompute_num_layers, b.zero_stage, b.distributed_optimizer));
        EXPECT_EQ(std::tie(a.recompute_method, a.offload_activation_layers, a.offload_optimizer, a.offload_parameters,
                           a.tp_comm_overlap),
                  std::tie(b.recompute_method, b.offload_activation_layers, b.offload_optimizer, b.offload_parameters,
                           b.tp_comm_overlap));
        EXPECT_EQ(std::tie(a.overlap_p2p, a.overlap_grad_reduce, a.overlap_param_gather, a.reshard_after_forward),
                  std::tie(b.overlap_p2p, b.overlap_grad_reduce, b.overlap_param_gather, b.reshard_after_forward));
        EXPECT_EQ(std::tie(a.fsdp_shard_size, a.zero_shard_size, a.sync_every_microbatch, a.precision, a.order),
                  std::tie(b.fsdp_shard_size, b.zero_shard_size, b.sync_every_microbatch, b.precision, b.order));
        EXPECT_EQ(std::tie(fast.gpus, fast.global_batch, fast.micro_batch),
                  std::tie(job.gpus, job.global_batch, job.micro_batch));
    }
}

}  // namespace
}  // namespace foreshard
