#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/meeting.hpp"
#include "runtime/rank_model.hpp"
#include "runtime/reduce_plan.hpp"

/// What every kind of task does on a rank: passes and updates are the model's, communication the transport's.
namespace foreshard::runtime {

class RankTasks {
public:
    RankTasks(const Job& job, const TaskGraph& graph, const Ranks& ranks, RankModel& model, Transport& transport);

    /// See executor.hpp: Perform.
    std::optional<Met> perform(std::int32_t task);

    /// Messages between the two are issued as one group; tensors that they send are kept until `finish`.
    void begin_group();
    void end_group();
    /// After the group, for each of its tasks on its queue.
    void finish(std::int32_t task);

    /// The graph is run again, for the steps from `step` on.
    void begin_run(int step) { first_step_ = step; }

    /// Spoils one element of what this rank gives to this task, in every run from now on.
    void spoil(std::int32_t task) { spoiled_ = task; }

    /// Sends half of the message that this task says.
    void shorten(std::int32_t task) { shortened_ = task; }

    /// After a run, for comparisons: gives every replica the whole gradients and parameters.
    void make_whole();

private:
    struct ShardTask {
        int stage = 0;
        int group = 0;
    };

    void find_shard_tasks();
    std::optional<Met> dispatch(std::int32_t id);
    void run_pass(std::int32_t id, const Task& task);
    Met send(std::int32_t id, const Task& task, const Meeting& meeting);
    Met receive(const Task& task, const Meeting& meeting);
    Met reduce_pieces(std::int32_t id, const Meeting& meeting);
    Met reduce_piece(const Piece& piece, const Meeting& meeting);
    Met reduce_shard(std::int32_t id, const Meeting& meeting);
    Met reduce_tied(std::int32_t id, const Meeting& meeting);
    Met exchange(std::int32_t id, const Task& task, const Meeting& meeting);
    Met gather_shard(std::int32_t id, const Meeting& meeting);
    Met gather_pieces(int stage, Elements whole, const Meeting& meeting);
    void make_group_whole(int stage, int group, const Meeting& meeting);
    Meeting shard_meeting() const;
    void spoil_if_asked(std::int32_t task, Elements payload) const;

    const Job& job_;
    const TaskGraph& graph_;
    const Ranks& ranks_;
    RankModel& model_;
    Transport& transport_;
    ReducePlan reductions_;
    std::map<std::int32_t, ShardTask> shard_tasks_;                ///< gathers and reductions of sharded parameters
    std::map<std::int32_t, std::vector<ShardTask>> frees_;         ///< groups whose last use a pass is
    std::map<std::int32_t, std::vector<std::int32_t>> completes_;  ///< reductions of what a pass completes
    std::map<std::int32_t, Elements> on_the_way_;                  ///< whole gradients, per reduction
    bool two_levels_ = false;
    bool in_group_ = false;
    int first_step_ = 0;
    int step_ = -1;
    std::int32_t spoiled_ = -1;
    std::int32_t shortened_ = -1;
};

}  // namespace foreshard::runtime
