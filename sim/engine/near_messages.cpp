#include "sim/engine/near_messages.hpp"

#include <algorithm>
#include <vector>

namespace foreshard {

namespace {

using PassIds = std::vector<std::int32_t>;

/// Passes of every rank, in order.
std::vector<PassIds> passes_of(const TaskGraph& graph) {
    std::vector<PassIds> passes(static_cast<std::size_t>(graph.ranks));
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::compute) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            if (graph.tasks[static_cast<std::size_t>(id)].kind != TaskKind::pass) continue;
            passes[static_cast<std::size_t>(stream.rank)].push_back(id);
        }
    }
    return passes;
}

class NearMessages {
public:
    NearMessages(const TaskGraph& graph, const Timeline& timeline, double ratio, BufferPlan& buffers)
        : graph_(graph),
          timeline_(timeline),
          ratio_(ratio),
          buffers_(buffers),
          passes_(passes_of(graph)),
          begins_(passes_.size()) {}

    void run() {
        for (Holding& holding : buffers_.holdings) {
            if (holding.kind == HoldingKind::message && kind_of(holding.from) == TaskKind::recv) receive(holding);
        }
        note_begins();
        for (Holding& holding : buffers_.holdings) {
            if (holding.kind == HoldingKind::message && kind_of(holding.to) == TaskKind::send) send(holding);
        }
    }

private:
    TaskKind kind_of(std::int32_t task) const { return graph_.tasks[static_cast<std::size_t>(task)].kind; }
    int step_of(std::int32_t task) const { return graph_.tasks[static_cast<std::size_t>(task)].step; }
    Picoseconds start(std::int32_t task) const { return timeline_.start[static_cast<std::size_t>(task)]; }
    Picoseconds end(std::int32_t task) const { return timeline_.end[static_cast<std::size_t>(task)]; }
    const PassIds& passes_beside(std::int32_t task) const {
        return passes_[static_cast<std::size_t>(graph_.rank_of(task))];
    }
    /// At `time`, some time behind the end of a pass.
    bool is_near(Picoseconds time, Picoseconds behind, std::int32_t pass) const {
        return static_cast<double>(time - behind) <= ratio_ * static_cast<double>(end(pass) - start(pass));
    }
    Picoseconds begin_of(const Holding& holding) const {
        return holding.from_end ? end(holding.from) : start(holding.from);
    }

    /// From the start of the last pass that is over when it comes.
    void receive(Holding& holding) {
        const Picoseconds comes = begin_of(holding);
        const PassIds& passes = passes_beside(holding.from);
        const auto behind = std::upper_bound(passes.begin(), passes.end(), comes,
                                             [&](Picoseconds at, std::int32_t pass) { return at < end(pass); });
        if (behind == passes.begin()) return;
        const std::int32_t pass = *std::prev(behind);
        if (step_of(pass) == step_of(holding.from) && is_near(comes, end(pass), pass)) {
            holding.from = pass;
            holding.from_end = false;
        }
    }

    /// Beside the next pass as well. It is gone soon after that begins, so it only counts where nothing else comes.
    void send(Holding& holding) {
        const PassIds& passes = passes_beside(holding.to);
        const auto maker = std::lower_bound(passes.begin(), passes.end(), start(holding.from),
                                            [&](std::int32_t pass, Picoseconds at) { return start(pass) < at; });
        if (maker == passes.end() || *maker != holding.from || maker + 1 == passes.end()) return;
        const std::int32_t next = *(maker + 1);
        const Picoseconds gone = end(holding.to);
        const bool near = start(next) >= gone && is_near(start(next), gone, *maker);
        if (!near || step_of(next) != step_of(holding.to) || another_comes(next)) return;
        holding.to = next;
        holding.until_start = false;
    }

    void note_begins() {
        for (const Holding& holding : buffers_.holdings) {
            if (holding.kind != HoldingKind::message) continue;
            begins_[static_cast<std::size_t>(graph_.rank_of(holding.from))].push_back(begin_of(holding));
        }
        for (std::vector<Picoseconds>& begins : begins_) std::sort(begins.begin(), begins.end());
    }

    bool another_comes(std::int32_t pass) const {
        const std::vector<Picoseconds>& begins = begins_[static_cast<std::size_t>(graph_.rank_of(pass))];
        const auto first = std::lower_bound(begins.begin(), begins.end(), start(pass));
        return first != begins.end() && *first < end(pass);
    }

    const TaskGraph& graph_;
    const Timeline& timeline_;
    double ratio_;
    BufferPlan& buffers_;
    std::vector<PassIds> passes_;
    std::vector<std::vector<Picoseconds>> begins_;  ///< of messages, by rank
};

}  // namespace

void count_near_messages(const TaskGraph& graph, const Timeline& timeline, double ratio, BufferPlan& buffers) {
    NearMessages(graph, timeline, ratio, buffers).run();
}

}  // namespace foreshard
