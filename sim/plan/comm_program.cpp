#include "sim/plan/comm_program.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

class StepParser {
public:
    StepParser(int rank, int index, const std::string& text, int ranks)
        : rank_(rank), index_(index), text_(text), ranks_(ranks) {}

    CommStep parse() const {
        if (text_.empty()) fail("is empty");
        if (text_.front() != '[') return {text_, {}};
        if (text_.back() != ']') fail("has no closing bracket");
        std::string_view rest = std::string_view(text_).substr(1, text_.size() - 2);
        CommStep step;
        while (true) {
            const std::size_t comma = rest.find(',');
            step.ops.push_back(parse_op(rest.substr(0, comma)));
            if (comma == std::string_view::npos) return step;
            rest.remove_prefix(comma + 1);
        }
    }

private:
    CommOp parse_op(std::string_view text) const {
        while (text.starts_with(' ')) text.remove_prefix(1);
        if (text.empty() || (text.front() != 'S' && text.front() != 'R')) fail("an operation begins with S or R");
        CommOp op;
        op.send = text.front() == 'S';
        text.remove_prefix(1);
        const std::size_t colon = std::min(text.find(':'), text.size());
        const auto [end, error] = std::from_chars(text.data(), text.data() + colon, op.peer);
        if (error != std::errc() || end != text.data() + colon) fail("after S or R must come a rank");
        if (op.peer < 0 || op.peer >= ranks_) fail(fmt::format("ranks are 0 to {}", ranks_ - 1));
        if (op.peer == rank_) fail("a rank cannot exchange with itself");
        if (colon < text.size()) op.tag = text.substr(colon + 1);
        return op;
    }

    [[noreturn]] void fail(const std::string& rule) const {
        throw InputError("communication program", fmt::format("rank {}, step {}", rank_, index_),
                         fmt::format("'{}': {}", text_, rule));
    }

    int rank_;
    int index_;
    const std::string& text_;
    int ranks_;
};

/// A compute or a set of operations issued together, and what must end before it can begin.
struct Node {
    int rank = 0;
    int step = 0;
    std::vector<CommOp> ops;
    std::vector<int> after;                   ///< nodes that must be done before this one is posted
    std::vector<std::optional<int>> partner;  ///< per op, the node that holds its counterpart
    std::vector<int> successors;
    int open_before = 0;  ///< of `after`
    int open_partners = 0;
    bool posted = false;
    bool done = false;
};

int add_node(std::vector<Node>& nodes, int rank, int step, std::vector<CommOp> ops, std::vector<int> after) {
    Node node;
    node.rank = rank;
    node.step = step;
    node.ops = std::move(ops);
    node.after = std::move(after);
    nodes.push_back(std::move(node));
    return static_cast<int>(nodes.size()) - 1;
}

/// Every step waits for the one before it.
std::vector<Node> blocking_nodes(const CommProgram& program) {
    std::vector<Node> nodes;
    for (int r = 0; r < static_cast<int>(program.ranks.size()); ++r) {
        int previous = -1;
        for (int i = 0; i < static_cast<int>(program.ranks[r].size()); ++i) {
            std::vector<int> after;
            if (previous >= 0) after.push_back(previous);
            previous = add_node(nodes, r, i, program.ranks[r][i].ops, std::move(after));
        }
    }
    return nodes;
}

/// A rank whose operations with each peer form a lane of their own beside compute.
class PairLanes {
public:
    PairLanes(int rank, std::vector<Node>& nodes) : rank_(rank), nodes_(nodes) {}

    void add(int index, const CommStep& step) {
        if (step.ops.empty()) {
            add_compute(index);
            return;
        }
        std::map<int, std::vector<CommOp>> by_peer;
        for (const CommOp& op : step.ops) by_peer[op.peer].push_back(op);
        for (auto& [peer, ops] : by_peer) add_ops(index, peer, std::move(ops));
    }

private:
    void add_compute(int index) {
        std::vector<int> after;
        if (compute_ >= 0) after.push_back(compute_);
        for (const auto& [peer, node] : last_receive_) after.push_back(node);
        last_receive_.clear();  // the next compute waits for them through this one
        compute_ = add_node(nodes_, rank_, index, {}, std::move(after));
    }

    void add_ops(int index, int peer, std::vector<CommOp> ops) {
        const bool sends = std::any_of(ops.begin(), ops.end(), [](const CommOp& op) { return op.send; });
        const bool receives = std::any_of(ops.begin(), ops.end(), [](const CommOp& op) { return !op.send; });
        std::vector<int> after;
        if (const auto last = lane_.find(peer); last != lane_.end()) after.push_back(last->second);
        // A receive is posted at once; what is sent must have been computed.
        if (sends && compute_ >= 0) after.push_back(compute_);
        const int node = add_node(nodes_, rank_, index, std::move(ops), std::move(after));
        lane_[peer] = node;
        if (receives) last_receive_[peer] = node;
    }

    int rank_;
    std::vector<Node>& nodes_;
    int compute_ = -1;
    std::map<int, int> lane_;          ///< peer -> last node
    std::map<int, int> last_receive_;  ///< peer -> last node that receives, since the last compute
};

std::vector<Node> pair_nodes(const CommProgram& program) {
    std::vector<Node> nodes;
    for (int r = 0; r < static_cast<int>(program.ranks.size()); ++r) {
        PairLanes lanes(r, nodes);
        for (int i = 0; i < static_cast<int>(program.ranks[r].size()); ++i) lanes.add(i, program.ranks[r][i]);
    }
    return nodes;
}

std::string describe(const Node& node) {
    return fmt::format("rank {} in {} (step {})", node.rank, to_string(CommStep{"", node.ops}), node.step);
}

/// Runs nodes until all are done or none can go on.
class Rendezvous {
public:
    explicit Rendezvous(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

    CommFault run() {
        mismatch_ = match();
        for (int n = 0; n < size(); ++n) {
            for (const int before : nodes_[n].after) nodes_[before].successors.push_back(n);
            nodes_[n].open_before = static_cast<int>(nodes_[n].after.size());
            nodes_[n].open_partners = static_cast<int>(nodes_[n].ops.size());
        }
        for (int n = 0; n < size(); ++n) {
            if (nodes_[n].after.empty()) ready_.push_back(n);
        }
        while (!ready_.empty()) {
            const int n = ready_.back();
            ready_.pop_back();
            post(n);
        }
        return verdict();
    }

private:
    struct Endpoint {
        int node = 0;
        int op = 0;
    };
    struct Channel {
        std::vector<Endpoint> sends;
        std::vector<Endpoint> receives;
    };

    int size() const { return static_cast<int>(nodes_.size()); }

    /// Joins the n-th send of every ordered pair with its n-th receive. @returns the first tag mismatch
    CommFault match() {
        std::map<std::pair<int, int>, Channel> channels;
        for (int n = 0; n < size(); ++n) {
            nodes_[n].partner.resize(nodes_[n].ops.size());
            for (int i = 0; i < static_cast<int>(nodes_[n].ops.size()); ++i) {
                const CommOp& op = nodes_[n].ops[i];
                const int rank = nodes_[n].rank;
                if (op.send) channels[{rank, op.peer}].sends.push_back({n, i});
                if (!op.send) channels[{op.peer, rank}].receives.push_back({n, i});
            }
        }
        CommFault fault;
        for (const auto& [pair, channel] : channels) {
            const std::size_t matched = std::min(channel.sends.size(), channel.receives.size());
            for (std::size_t i = 0; i < matched; ++i) join(channel.sends[i], channel.receives[i], fault);
        }
        return fault;
    }

    void join(Endpoint send, Endpoint receive, CommFault& fault) {
        Node& from = nodes_[send.node];
        Node& to = nodes_[receive.node];
        from.partner[send.op] = receive.node;
        to.partner[receive.op] = send.node;
        const std::string& sent = from.ops[send.op].tag;
        const std::string& expected = to.ops[receive.op].tag;
        if (sent.empty() || expected.empty() || sent == expected || fault.kind != CommFault::Kind::none) return;
        fault = {CommFault::Kind::tag_mismatch, fmt::format("tag mismatch: {} sends {}, which arrives at {} as {}",
                                                            describe(from), sent, describe(to), expected)};
    }

    void post(int n) {
        Node& node = nodes_[n];
        node.posted = true;
        for (const std::optional<int>& partner : node.partner) {
            if (!partner || !nodes_[*partner].posted) continue;
            --node.open_partners;
            if (--nodes_[*partner].open_partners == 0) finish(*partner);
        }
        if (node.open_partners == 0) finish(n);
    }

    void finish(int n) {
        nodes_[n].done = true;
        for (const int next : nodes_[n].successors) {
            if (--nodes_[next].open_before == 0) ready_.push_back(next);
        }
    }

    /// A cycle tells more than an operation without a counterpart, which may lie beyond the end of an excerpt.
    CommFault verdict() {
        std::optional<int> unmatched;
        for (int n = 0; n < size(); ++n) {
            if (nodes_[n].done || !nodes_[n].posted) continue;
            const std::vector<int> cycle = cycle_from(n, unmatched);
            if (!cycle.empty()) return {CommFault::Kind::cyclic_wait, describe_cycle(cycle)};
        }
        if (mismatch_.kind != CommFault::Kind::none) return mismatch_;
        if (!unmatched) return {};
        return {CommFault::Kind::unmatched,
                "unmatched: " + describe(nodes_[*unmatched]) + " waits for an operation that its peer never issues"};
    }

    /// Follows what node n waits for, until a node comes again (the cycle is returned) or has no counterpart.
    std::vector<int> cycle_from(int n, std::optional<int>& unmatched) const {
        std::vector<int> path;
        std::vector<char> seen(nodes_.size(), 0);
        while (seen[n] == 0) {
            seen[n] = 1;
            path.push_back(n);
            const std::optional<int> next = waits_for(n);
            if (!next) {
                if (!unmatched) unmatched = n;
                return {};
            }
            n = *next;
        }
        path.erase(path.begin(), std::find(path.begin(), path.end(), n));
        return path;
    }

    /// An open node that holds up node n; none when n has an operation without counterpart.
    std::optional<int> waits_for(int n) const {
        const Node& node = nodes_[n];
        if (!node.posted) {
            return *std::find_if(node.after.begin(), node.after.end(),
                                 [&](int before) { return !nodes_[before].done; });
        }
        for (const std::optional<int>& partner : node.partner) {
            if (partner && !nodes_[*partner].posted) return *partner;
        }
        return std::nullopt;
    }

    /// Names the operations that are under way; steps behind them only pass the wait on.
    std::string describe_cycle(const std::vector<int>& cycle) const {
        std::string text = "cyclic wait: ";
        int first_rank = -1;
        for (const int n : cycle) {
            if (!nodes_[n].posted) continue;
            text += (first_rank < 0 ? "" : " waits for ") + describe(nodes_[n]);
            if (first_rank < 0) first_rank = nodes_[n].rank;
        }
        return text + fmt::format(" waits for rank {}", first_rank);
    }

    std::vector<Node> nodes_;
    std::vector<int> ready_;
    CommFault mismatch_;  ///< tags may differ in a program that completes
};

std::pair<int, int> ordered(int a, int b) {
    return {std::min(a, b), std::max(a, b)};
}

}  // namespace

CommProgram parse_comm_program(const std::vector<std::vector<std::string>>& steps) {
    CommProgram program;
    const int ranks = static_cast<int>(steps.size());
    for (int r = 0; r < ranks; ++r) {
        std::vector<CommStep>& list = program.ranks.emplace_back();
        for (int i = 0; i < static_cast<int>(steps[r].size()); ++i) {
            list.push_back(StepParser(r, i, steps[r][i], ranks).parse());
        }
    }
    return program;
}

std::string to_string(const CommStep& step) {
    if (step.ops.empty()) return step.compute;
    std::string text;
    for (const CommOp& op : step.ops) {
        text += fmt::format("{}{}{}{}{}", text.empty() ? "[" : ",", op.send ? 'S' : 'R', op.peer,
                            op.tag.empty() ? "" : ":", op.tag);
    }
    return text + "]";
}

CommFault check_rendezvous(const CommProgram& program) {
    return Rendezvous(blocking_nodes(program)).run();
}

CommFault check_in_order_pairs(const CommProgram& program) {
    return Rendezvous(pair_nodes(program)).run();
}

CommFault check_lazy_communicators(const CommProgram& program) {
    CommProgram creation;
    for (int r = 0; r < static_cast<int>(program.ranks.size()); ++r) {
        std::vector<CommStep>& list = creation.ranks.emplace_back();
        std::vector<char> known(program.ranks.size(), 0);
        for (const CommStep& step : program.ranks[r]) {
            for (const CommOp& op : step.ops) {
                if (known[op.peer] != 0) continue;
                known[op.peer] = 1;
                // Creating is a meeting of both: as if each sent to the other.
                list.push_back({"", {{true, op.peer, "create"}, {false, op.peer, "create"}}});
            }
        }
    }
    return check_rendezvous(creation);
}

std::vector<std::pair<int, int>> communicator_pairs(const CommProgram& program) {
    std::vector<std::pair<int, int>> pairs;
    for (int r = 0; r < static_cast<int>(program.ranks.size()); ++r) {
        for (const CommStep& step : program.ranks[r]) {
            for (const CommOp& op : step.ops) pairs.push_back(ordered(r, op.peer));
        }
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
}

}  // namespace foreshard
