#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/job.hpp"

/// Pipeline schedules as data: for every rank, the order of its actions.
namespace foreshard {

/// F forward; B full backward, which releases its input gradient at its end; I input gradient; W weight gradient.
/// Vocabulary-parallel pipelines: S logits of a rank's share of the vocabulary, T their gradients.
enum class Pass : std::uint8_t { forward, backward, input_grad, weight_grad, vocab_forward, vocab_backward };
bool is_vocabulary(Pass pass);
char letter(Pass pass);

struct Action {
    std::int32_t stage = 0;  ///< S and T: the rank, whose share of the vocabulary it is
    std::int32_t microbatch = 0;
    Pass pass = Pass::forward;
    bool fused_with_next = false;  ///< one unit with the next action: starts when both can, outputs leave at its end
    bool operator==(const Action&) const = default;
};

/// "2F0": stage, pass, micro-batch (torch.distributed.pipelining's spelling).
std::string to_string(const Action& action);

struct Schedule {
    std::string name;
    int ranks = 0;
    int stages = 0;
    int microbatches = 0;
    int chunks = 1;                            ///< stages that a rank holds
    std::vector<std::vector<Action>> actions;  ///< per rank, in order
    /// Rank of stage s for micro-batch direction d at [d * stages + s].
    std::vector<int> stage_rank;
    /// Direction of every micro-batch; empty when all go the same way.
    std::vector<std::uint8_t> direction;
    /// Set when every rank runs S and T of every micro-batch.
    std::optional<VocabularySplit> vocabulary = std::nullopt;

    int rank_of(int stage, int microbatch) const {
        const int d = direction.empty() ? 0 : direction[static_cast<std::size_t>(microbatch)];
        return stage_rank[static_cast<std::size_t>(d) * stages + stage];
    }
};

/// Rank of every stage under a placement of one direction (not bidirectional).
/// linear s; loop s mod p; v s or 2p-1-s; snake alternating (schedules of ZB-V and Hanayo).
std::vector<int> stage_ranks(Placement placement, int ranks, int stages);

/// Schedules by definition. p ranks, m micro-batches, v chunks a rank; none of them refuses a shape that completes.
Schedule gradient_accumulation(int m);        ///< one rank: F0 B0 F1 B1 ...
Schedule naive_schedule(int p, int m);        ///< one micro-batch in the whole pipeline at a time
Schedule gpipe_schedule(int p, int m);        ///< all F, then all B ascending
Schedule one_f_one_b_schedule(int p, int m);  ///< PipeDream-flush
/// Megatron's interleaved 1F1B (schedules.py get_schedule_table); `group` micro-batches per chunk turn.
Schedule interleaved_schedule(int p, int m, int v, int group);

/// Vocabulary-parallel 1F1B (arXiv 2411.05288). With b = 2 f the makespan is (m + p - 1)(f + b) + m (s + t); a rank
/// holds as many micro-batches as 1F1B and 2 (two barriers), 1 (one barrier) or p / 2 (interlaced) more.
Schedule vocabulary_schedule(int p, int m, VocabularySplit split);

/// The job's schedule, from its name or its file; those that follow times are made for the given stage times, else for
/// equal ones. Precondition: check(job) is empty.
/// @throws InputError when a schedule file is malformed or invalid
Schedule make_schedule(const Job& job);

/// The first rule that a schedule breaks, and where: `index` is the action's place in the rank's list, or the list's
/// length when an action is missing.
struct ScheduleFault {
    std::string reason;
    int rank = -1;
    int index = -1;
};
/// Empty when every micro-batch runs F and (B or I then W) once on every stage, on the stage's rank, and with a split
/// vocabulary S then T once on every rank, in an order that completes. Precondition: stage_rank and direction have the
/// sizes that Schedule says.
std::optional<ScheduleFault> locate_fault(const Schedule& schedule);

/// What is wrong with a schedule: empty when every micro-batch runs F and (B or I then W) once on every stage, on the
/// stage's rank, in an order that completes. Otherwise the reason and the grid with the fault marked.
std::string find_fault(const Schedule& schedule);

/// @throws std::logic_error with find_fault's text: our own generators must be right
void validate(const Schedule& schedule);

/// The grid, one line a rank; `mark_rank`/`mark_index` (or -1) get "<-- ERROR HERE", and of a big grid only the part
/// around that action is printed.
std::string to_string(const Schedule& schedule, int mark_rank = -1, int mark_index = -1);

}  // namespace foreshard
