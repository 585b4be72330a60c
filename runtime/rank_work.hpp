#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "runtime/rank_setup.hpp"

/// Internal to RankModel.
namespace foreshard::runtime {

/// Tensors of one stage and micro-batch between its passes.
struct StagePass {
    std::vector<UnitState> units;
    Buffer activation;  ///< between the parts of a forward
    Buffer gradient;    ///< between the parts of a backward
};

/// Passes, messages and updates of one rank; contracts in rank_model.hpp. Passes run on one thread, messages are asked
/// for by others at the same time.
class RankWork {
public:
    RankWork(const Job& job, const TaskGraph& graph, int rank, Device& device, Transport& transport,
             ModelOptions options);

    void record_ops(OpSpans* into) { spans_ = into; }
    void begin_step(int step);
    PassMemory run(const Work& work, int microbatch);
    std::span<std::byte> incoming(const MessageKey& key);
    void arrived(const MessageKey& key);
    Elements outgoing(const MessageKey& key);
    void sent(const MessageKey& key);
    void finish_gradients();
    void optimizer_step();
    std::int64_t updated_elements();
    double loss() const;
    std::vector<double> losses() const;
    std::vector<RankModel::Parameter> described_parameters();
    ParameterStore& store(int stage) { return stores_.at(stage); }
    ParameterStore* tied_store();

    RankContext& context() { return context_; }
    MemoryPool& pool() { return pool_; }

private:
    void add_store(int stage, std::size_t index);
    void find_table();
    UnitRun unit_run(int stage, int unit, StagePass& pass, int microbatch);
    void run_ops(std::span<const Op> ops, UnitRun& run);
    void time_op(OpKernel kernel, UnitRun& run, std::int32_t number);
    void update_owned();
    void forward(int stage, int microbatch, int unit);
    void rebuild(int stage, int microbatch, int last, int units);
    void input_grad(int stage, int microbatch, int unit);
    void weight_grad(int stage, int microbatch, int unit);
    void after_backward(const Work& work, int microbatch);
    Buffer take(const MessageKey& key);
    void give(const MessageKey& key, Buffer tensor);
    const OpBlock& block_of(int stage, int unit) const;
    int unit_count(int stage) const { return static_cast<int>(units_.at(stage).size()); }
    const MicroBatch& data(int microbatch);
    void sum_over(const std::vector<int>& group, const std::vector<Tensor>& pieces);
    std::vector<int> copies_group(int copies) const;

    const Job& job_;
    const TaskGraph& graph_;
    MemoryPool pool_;
    RankContext context_;
    RankPosition at_;
    Device& device_;
    Transport& transport_;
    ModelOptions options_;
    std::map<int, ParameterStore> stores_;  ///< by stage
    std::map<int, std::vector<Unit>> units_;
    std::map<std::pair<int, int>, StagePass> passes_;  ///< by stage and micro-batch
    std::map<int, MicroBatch> data_;                   ///< of the step, by micro-batch
    std::set<MessageKey> sends_;
    std::mutex messages_;
    /// With overlapped steps a message of the next one may come before this one's is taken.
    std::map<MessageKey, std::deque<Buffer>> incoming_;
    std::map<MessageKey, std::deque<Buffer>> outgoing_;
    OpIndex op_index_;
    OpSpans* spans_ = nullptr;
    Buffer losses_;  ///< of the steps of one run of the graph, fp64; not counted
    int step_ = 0;
    std::int64_t updates_ = 0;
};

}  // namespace foreshard::runtime
