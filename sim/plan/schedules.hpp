#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule.hpp"

/// Schedules beyond the classic ones of schedule.hpp, by definition. p ranks, m micro-batches, v chunks a rank; none of
/// them refuses a shape that completes. What an option or a name of a plan admits is said by check(job).
namespace foreshard {

/// A schedule with everything but its actions and directions.
Schedule blank_schedule(const char* name, Placement placement, int p, int m, int chunks);

/// Looped breadth-first (arXiv 2211.05953): all forwards of a chunk, then of the next; backwards in reverse.
Schedule breadth_first_schedule(int p, int m, int v);

/// Zero bubble with a split backward (arXiv 2401.10241 sections 2.1 and 2.2).
/// H1 warms up like 1F1B and runs W(j) after I(j+r); H2 warms up twice as long and runs W(j) after I(j+2r).
Schedule zb_h1_schedule(int p, int m);
Schedule zb_h2_schedule(int p, int m);

/// torch.distributed.pipelining ScheduleInterleavedZeroBubble; `group` micro-batches per chunk turn. v 1 is ZB-H1.
Schedule interleaved_zb_schedule(int p, int m, int v, int group);

/// Interleaved 1F1B as torch.distributed.pipelining writes it: with one chunk too it warms up for 2(p-1-r) forwards.
Schedule torch_interleaved_schedule(int p, int m, int v, int group);
/// Interleaved 1F1B with one more forward of warm-up, so that the F and the B of a pair are of different micro-batches
/// and run as one unit (Megatron-LM with overlapped expert communication).
Schedule overlapped_interleaved_schedule(int p, int m, int v, int group);

/// Micro-batches per chunk turn by which torch.distributed.pipelining interleaves: m div max(1, m div p).
int torch_group_size(int p, int m);

/// Saved tensors of one micro-batch on one stage, in any one unit: F takes them, I and W give their parts back.
struct SplitMemory {
    std::int64_t forward = 2;
    std::int64_t input_grad = 1;
    std::int64_t weight_grad = 1;
};

/// The heuristic of sail-sg/zero-bubble-pipeline-parallelism (zerobubble/scheduler/zb.py): eight variants are tried,
/// for the given costs and for equal ones, and the one with the shortest longest-rank span, then makespan, is kept. A
/// rank holds at most `limit` micro-batches of saved tensors; `limit` p is ZB-1p, 2p is ZB-2p. Costs have one entry per
/// stage, hop included.
Schedule zb_auto_schedule(const char* name, int p, int m, const PassCosts& costs, int limit, SplitMemory memory = {});
Schedule zb_1p_schedule(int p, int m, const PassCosts& costs, SplitMemory memory = {});
Schedule zb_2p_schedule(int p, int m, const PassCosts& costs, SplitMemory memory = {});

/// V-shaped placement, two chunks a rank, split backward.
/// ZB-V of torch.distributed.pipelining (ScheduleZBVZeroBubble); micro-batches of its padding are left out.
Schedule zb_v_handmade_schedule(int p, int m);
/// ZB-V as the greedy builder of sail (zerobubble/scheduler/zbv.py) makes it, with saved tensors for at most 2p chunks;
/// times are the means over stages.
Schedule zb_v_greedy_schedule(int p, int m, const PassCosts& costs, SplitMemory memory = {});
/// The better of the two, the greedy one for the given and for equal costs, among those that hold at most 2p chunks:
/// the shorter makespan, then the shorter longest-rank span under the given costs.
Schedule zb_v_schedule(int p, int m, const PassCosts& costs, SplitMemory memory = {});
/// V-Half and V-Min (arXiv 2405.15362; sail zerobubble/scheduler/zbv_greedy.py): a building block of period 6 is
/// repeated and squeezed without raising its peak.
Schedule v_half_schedule(int p, int m);
Schedule v_min_schedule(int p, int m);
/// V-Half whose vocabulary layers all ranks share with two barriers (arXiv 2411.05288, section 5.3): the last stage's
/// backward comes two turns later, so four more chunks are in flight. Turns stand where the costs have them: all ranks
/// take them together, so in another place they hold up the ranks whose passes last longer.
Schedule v_half_vocabulary_schedule(int p, int m, const PassCosts& costs);

/// DeepSeek-V3 (arXiv 2412.19437; deepseek-ai/DualPipe): two directions, two replicas of the weights, fused F&B pairs.
/// Precondition: p and m even.
Schedule dualpipe_schedule(int p, int m);
/// The same cut in half: V placement, one replica.
Schedule dualpipe_v_schedule(int p, int m);

/// Chimera (arXiv 2107.06925 sections 3.1, 3.5), units of p micro-batches directly concatenated. Precondition: p even.
Schedule chimera_schedule(int p, int m);
/// Hanayo (arXiv 2308.15762) as waves of Chimera cut in half: snake placement, v = 2 x waves chunks. Precondition: v
/// even.
Schedule hanayo_schedule(int p, int m, int v);

/// Whether the job's schedule is chosen by the times of passes.
bool follows_times(const Job& job);

/// The job's schedule; `costs` and `memory` serve those that follow times. Precondition: check(job) is empty.
/// @throws InputError when a schedule file is malformed or invalid
Schedule make_schedule(const Job& job, const PassCosts& costs, SplitMemory memory = {});

/// Asynchronous pipelines: the order of 1F1B, never drained between steps.
Schedule pipedream_schedule(int p, int m);
Schedule pipedream_2bw_schedule(int p, int m);

/// Weight version, in updates since the start, that the forward of micro-batch k sees on `rank` (PipeDream, SOSP'19
/// section 3.3: one update after every backward). Its backward uses the same, stashed version.
int pipedream_version(int p, int rank, int microbatch);
/// The same with vertical sync: every rank uses the version that stage 0 had at admission.
int pipedream_version_synced(int p, int microbatch);
/// The same for PipeDream-2BW (arXiv 2006.09503 section 3.1), which updates once per `accumulate` micro-batches.
int pipedream_2bw_version(int accumulate, int microbatch);

/// Distinct versions of the weights that a rank holds at a time, the current one included.
int pipedream_versions_held(int p, int rank);
inline constexpr int pipedream_2bw_versions_held = 2;

/// Share of the updates of all ranks by their staleness: [d] is the share of gradients that were computed with weights
/// d updates older than those they are applied to, in steady state. Sums to one.
std::vector<double> pipedream_staleness(int p);
std::vector<double> pipedream_2bw_staleness();

}  // namespace foreshard
