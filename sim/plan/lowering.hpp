#pragma once

#include <utility>
#include <vector>

#include "sim/plan/data_parallel/gradient_buckets.hpp"
#include "sim/plan/data_parallel/shard_plan.hpp"
#include "sim/plan/dry_run.hpp"
#include "sim/plan/rank_grid.hpp"
#include "sim/plan/task_graph.hpp"
#include "sim/spec/schedule_kinds.hpp"

/// Internal to lowering*.cpp: state of one compilation of a job to a TaskGraph.
namespace foreshard {

/// A directed link for one kind of message. The n-th send matches the n-th receive.
struct Channel {
    int from = 0;
    int to = 0;
    bool forward = true;
    std::vector<std::int32_t> producers;  ///< index of the producing action in the sender's list
    std::vector<Action> consumers;        ///< pass of the next (or previous) stage that waits for the message
};

/// A collective of the lane `vocabulary`, the same list on every rank.
struct VocabularyComm {
    VocabularyUse use = VocabularyUse::none;
    std::int32_t microbatch = 0;
    CollectiveKind kind = CollectiveKind::all_reduce;
    Bytes message;
};

/// Lookups of a rank's share that are tasks apart: micro-batches by the place in the rank's list that they stand in
/// front of, one place more than there are actions.
struct Lookups {
    std::vector<std::vector<std::int32_t>> forward;
    std::vector<std::vector<std::int32_t>> backward;
};

inline bool releases_gradient(Pass pass) {
    return pass == Pass::backward || pass == Pass::input_grad;
}
inline bool finishes_weights(Pass pass) {
    return pass == Pass::backward || pass == Pass::weight_grad;
}

class Lowering {
public:
    /// @param unrolled when asynchronous: the schedule holds the micro-batches of all steps
    Lowering(const Job& job, const Schedule& schedule, std::vector<StageBuckets> buckets, const UnrolledSteps& unrolled)
        : job_(job), schedule_(schedule), unrolled_(unrolled), buckets_(std::move(buckets)) {}

    TaskGraph run();

private:
    void describe();
    void settle_steps();
    void find_channels();
    Channel& channel(int from, int to, bool forward);
    void note_message(int rank, int index, const Action& action);
    void find_buckets();
    void add_rank(int rank);
    void add_compute_stream(int rank);
    void add_step(int rank, int step);
    void add_step_end(int rank, int step);
    void add_update(int rank, const Action& action);
    void add_action(int rank, int step, int index);
    Work whole_pass(const Action& action) const;
    void add_pass(int step, const Action& action, const Work& work);
    void add_parts(int rank, int step, const Action& action);
    bool reduces_in(int rank, int index) const;
    void add_p2p_streams(int rank);
    void add_p2p_stream(int rank, std::size_t channel, bool send);
    void add_data_parallel_streams(int rank);
    void add_reduce_tasks(int rank, int step);
    void add_reduce(int rank, int step, int stage, double elements, Seconds wait);
    void add_gather_tasks(int rank, int step);
    void add_embedding_stream(int rank);
    void add_outer_step(int rank, int step);
    void add_one_process_tasks(int rank, int step);
    void connect_one_process(int rank, int step);
    void add_server_tasks(int rank, int step);
    void connect_server(int rank, int step);
    void find_shards(int rank);
    void add_shard_items(int rank, int step, int index);
    void add_shard_streams(int rank);
    void connect_shards(int rank, int step);
    double shard_elements(std::int32_t stage, std::int32_t group) const;
    std::int32_t gather_class(const ShardGather& gather);
    std::int32_t reduce_class(const ShardReduce& reduce);
    void add_replica_reduces(int rank, int step);
    void connect_messages();
    void connect_message(std::size_t channel, std::size_t message, int step);
    void connect_rank(int rank, int step);
    void connect_reduces(int rank, int step);
    void connect_gathers(int rank, int step);
    void connect_embedding();
    void plan_vocabulary();
    void append_meeting(const Meeting& meeting);
    void append_statistics(std::int32_t microbatch);
    void plan_lookups(const DryRun& run);
    void place_lookup(const DryRun& run, std::int32_t microbatch, Picoseconds before, Picoseconds after);
    void add_lookups(int rank, int step, std::size_t place);
    void note_share_gradients(int rank, int step);
    void connect_hidden_state(int rank, int step, const VocabularyComm& comm, std::int32_t task);
    void connect_lookup(int rank, int step, const VocabularyComm& comm, std::int32_t task);
    void add_vocabulary_stream(int rank);
    void connect_vocabulary();
    void connect_vocabulary(int rank, int step, std::size_t comm);
    void wait_for_output_gradient(int step, std::size_t comm);
    void hold_up_next(int rank, int step, const VocabularyComm& comm, std::int32_t task);
    std::int32_t vocabulary_action(int rank, Pass pass, std::int32_t microbatch) const;
    void add_vocabulary_parts(int step, const Action& action);
    bool cuts_vocabulary(const Action& action) const;
    bool looks_up_apart() const {
        return schedule_.vocabulary && sync_ && !sharded_ && job_.software.structure.counts_buffers;
    }
    void find_offloaded();
    std::int32_t add_cut_pass(int step, const Action& action, const Work& work);
    void add_offload_streams(const Stream& compute);
    std::int32_t add_copy(TaskKind kind, std::int32_t pass);
    ByteCount offloaded_by(const Task& task) const;
    std::size_t contents_of(const Action& action) const {
        return is_vocabulary(action.pass) ? graph_.stages.size() - 1 : static_cast<std::size_t>(action.stage);
    }
    bool completes_gradients(int rank, int index, const Action& action) const;
    void connect_replicas(int step);
    void connect_replica(int rank, int step, std::int32_t task, std::size_t place);
    void find_consumers();
    void store_deps();
    void need(std::int32_t task, std::int32_t dep) { pending_deps_.emplace_back(task, dep); }
    std::int32_t start_of(int rank, int step, std::int32_t action) const;
    std::int32_t end_of(int rank, int step, std::int32_t action) const;

    std::int32_t begin_stream(int rank, Lane lane, int peer);
    std::int32_t add_task(TaskKind kind, int step);
    std::int32_t work_index(const Work& work);
    std::int32_t comm_class(const CommClass& wanted);
    std::int32_t add_comm(std::span<const std::int32_t> members, std::int32_t comm_class);
    std::int32_t add_comm(std::int32_t member, std::int32_t comm_class) {
        return add_comm(std::span(&member, 1), comm_class);
    }
    bool overlaps_gradients() const { return overlap_grad_ && group_.size > 1; }
    /// Two directions: every stage has a replica on two ranks.
    bool replicated() const { return !schedule_.direction.empty(); }
    /// Index into Schedule::stage_rank of the replica that runs an action.
    std::size_t place_of(const Action& action) const;
    /// Step that an action belongs to, in a round of the rank's list.
    int step_of(int round, const Action& action) const;
    bool ends_update(const Action& action) const;

    const Job& job_;
    const Schedule& schedule_;
    UnrolledSteps unrolled_;
    TaskGraph graph_;
    GroupPlacement group_;
    bool overlap_grad_ = false;
    bool sharded_ = false;  ///< parameters are gathered layer by layer
    bool blocking_p2p_ = false;
    bool sync_ = true;  ///< optimizer, gradient sync and per-step work are part of the graph
    int rounds_ = 1;    ///< times that the lists are run: once a step, or once in all when asynchronous
    Bytes message_;
    std::vector<Channel> channels_;
    std::vector<std::vector<std::int32_t>> out_channel_;  ///< per rank, channels that start there
    std::vector<std::vector<std::int32_t>> in_channel_;
    std::vector<StageBuckets> buckets_;             ///< per stage
    std::vector<ShardGroups> shard_groups_;         ///< per stage
    std::vector<ShardPlan> shards_;                 ///< per rank
    std::vector<std::int32_t> last_weight_action_;  ///< like Schedule::stage_rank: index in that rank's list

    struct RankTasks {
        std::vector<std::vector<std::int32_t>> first_part;  ///< [step][action index]
        std::vector<std::vector<std::int32_t>> last_part;
        std::vector<std::int32_t> optimizer;  ///< per step
        std::vector<std::int32_t> step_end;
        std::vector<std::vector<std::int32_t>>
            bucket_part;                                  ///< [step] tasks that complete a bucket, in dp stream order
        std::vector<std::vector<std::int32_t>> reduces;   ///< [step] dp tasks, same order
        std::vector<std::int32_t> last_reduce;            ///< [step] what the optimizer waits for, or -1
        std::vector<std::vector<std::int32_t>> gathers;   ///< [step]
        std::vector<std::vector<std::int32_t>> outer;     ///< [step] second level of each reduction, or the same task
        std::vector<std::vector<std::int32_t>> items;     ///< [step] compute tasks of sharded parameters' items
        std::vector<std::int32_t> embedding;              ///< per step, or empty
        std::vector<std::int32_t> vocabulary;             ///< per step: first task of the lane, or empty
        std::vector<std::vector<std::int32_t>> replicas;  ///< [step] reduction of each stage with its replica, by stage
        std::vector<std::vector<std::int32_t>> lookups;   ///< [step][micro-batch]
        std::vector<std::vector<std::int32_t>> lookup_grads;
    };
    std::vector<RankTasks> rank_tasks_;
    std::vector<std::int32_t> send_task_;  ///< per channel: first send task
    std::vector<std::int32_t> recv_task_;
    std::vector<std::pair<std::int32_t, std::int32_t>> pending_deps_;  ///< (task, dep)
    std::vector<std::int32_t> unit_counts_;                            ///< per stage
    std::vector<std::vector<ByteCount>> offloaded_;       ///< [stage][unit] bytes that leave for the host; empty: none
    std::vector<std::int32_t> forward_at_;                ///< [stage * m + micro-batch] index of F in its rank's list
    std::vector<std::int32_t> gradient_at_;               ///< the same for B or I
    std::vector<VocabularyComm> vocabulary_comms_;        ///< of one step, in the lane's order
    std::vector<std::int32_t> last_vocabulary_backward_;  ///< per rank, index of its last T
    std::vector<std::int32_t> vocabulary_at_;             ///< [(rank * m + micro-batch) * 2] index of S, then of T
    /// Per rank; empty where S and T look up themselves. The runtime computes with the rows of a lookup, so there they
    /// are of the micro-batch that needs them; elsewhere any micro-batch's take the time.
    std::vector<Lookups> lookups_;
};

}  // namespace foreshard
