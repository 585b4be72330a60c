#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/transport.hpp"
#include "sim/plan/task_graph.hpp"

/// When every op inside the passes of a rank ran, on devices that block.
namespace foreshard::runtime {

/// A communication call inside an op.
struct CallSpan {
    Clock::time_point issued;
    Clock::time_point met;  ///< the last member had arrived
    Clock::time_point end;
};

struct OpSpan {
    std::int32_t op = 0;     ///< as in OpIndex
    std::int32_t call = -1;  ///< index into OpSpans::calls; -1: the op does not communicate
    Clock::time_point start;
    Clock::time_point end;
};

/// Of one run of the graph, in the order in which ops ran.
struct OpSpans {
    std::vector<OpSpan> ops;
    std::vector<CallSpan> calls;

    /// Appends; where room is reserved, without allocation.
    void add(const OpSpan& span, const std::optional<CallSpan>& call);
};

/// Numbers the ops of a graph's stages from 0 on, the same on every rank. What a step does besides, which is no op of a
/// stage, has the numbers behind the last: the update of the optimizer, and gradients set to zero.
class OpIndex {
public:
    explicit OpIndex(const TaskGraph& graph);

    std::int32_t update() const { return static_cast<std::int32_t>(ops_.size()); }
    std::int32_t zeroing() const { return update() + 1; }
    /// Number of an op that lies in one of the lists of the graph's blocks; its successors in the list follow.
    std::int32_t number_of(const Op* op) const;
    const Op& op(std::int32_t number) const { return *ops_[static_cast<std::size_t>(number)].op; }
    /// forward, input_grad or weight_grad: the list that the op is in.
    Pass pass(std::int32_t number) const { return ops_[static_cast<std::size_t>(number)].pass; }

private:
    struct Entry {
        const Op* op = nullptr;
        Pass pass = Pass::forward;
    };
    struct List {
        const Op* first = nullptr;
        std::int32_t number = 0;
    };

    void add(const std::vector<Op>& ops, Pass pass);

    std::vector<Entry> ops_;
    std::vector<List> lists_;  ///< by address
};

/// Spans that a run of the graph leaves on a rank: its passes' ops, and of each step an update and a zeroing.
std::size_t ops_per_run(const TaskGraph& graph, int simulated_rank);

}  // namespace foreshard::runtime
