#include "sim/plan/expand.hpp"

#include <algorithm>
#include <cassert>

#include "sim/plan/rank_grid.hpp"

namespace foreshard {

namespace {

class Expansion {
public:
    Expansion(const Job& job, const TaskGraph& from, int replicas)
        : job_(job),
          from_(from),
          replicas_(replicas),
          tasks_(static_cast<std::int32_t>(from.tasks.size())),
          streams_(static_cast<std::int32_t>(from.streams.size())),
          classes_from_(static_cast<std::size_t>(from.ranks) * static_cast<std::size_t>(replicas)),
          made_(from.comm_classes.size(), -1) {}

    TaskGraph run() {
        to_.ranks = from_.ranks * replicas_;
        to_.pipeline_ranks = from_.pipeline_ranks;
        to_.ranks_represented = std::max(from_.ranks_represented / replicas_, 1);
        to_.steps = from_.steps;
        to_.microbatches = from_.microbatches;
        to_.works = from_.works;
        to_.stages = from_.stages;
        to_.layout = from_.layout;
        for (int replica = 0; replica < replicas_; ++replica) copy_replica(replica);
        for (std::int32_t comm = 0; comm < static_cast<std::int32_t>(from_.comms.size()); ++comm) join(comm);
        rename_classes_of_works();
        return std::move(to_);
    }

private:
    void copy_replica(int replica);
    void join(std::int32_t comm);
    void rename_classes_of_works();
    void add_comm(const CommClass& comm_class, const std::vector<std::int32_t>& members);

    const Job& job_;
    const TaskGraph& from_;
    int replicas_;
    std::int32_t tasks_;
    std::int32_t streams_;
    TaskGraph to_;
    std::vector<std::vector<std::int32_t>> classes_from_;  ///< per simulated rank: classes with this from_rank
    std::vector<std::int32_t> made_;                       ///< per class of `from`: the first class made of it
};

void Expansion::copy_replica(int replica) {
    const std::int32_t first_task = replica * tasks_;
    const auto first_dep = static_cast<std::uint32_t>(to_.deps.size());
    for (Stream stream : from_.streams) {
        stream.rank += replica * from_.ranks;
        if (stream.peer >= 0) stream.peer += replica * from_.ranks;
        stream.first += first_task;
        stream.last += first_task;
        to_.streams.push_back(stream);
    }
    for (Task task : from_.tasks) {
        task.stream += replica * streams_;
        task.first_dep += first_dep;
        to_.tasks.push_back(task);
    }
    for (const std::int32_t dep : from_.deps) to_.deps.push_back(dep + first_task);
    for (const GatheredParameters& g : from_.gathered) {
        to_.gathered.push_back({g.gather + first_task, g.first_use + first_task, g.last_use + first_task, g.elements});
    }
    for (const ReducedGradients& r : from_.reduced) {
        to_.reduced.push_back({r.producer + first_task, r.reduce + first_task, r.elements});
    }
    for (const OffloadedTensors& o : from_.offloaded) {
        to_.offloaded.push_back({o.offload + first_task, o.reload + first_task, o.stage, o.bytes});
    }
    for (std::size_t rank = 0; rank < from_.rank_stages.size(); ++rank) {
        to_.rank_stages.push_back(from_.rank_stages[rank]);
        to_.places.push_back({from_.places[rank].pp, replica});
    }
}

/// Classes of pairs are told apart by their simulated ranks, those of groups by the rank of the first member.
void Expansion::add_comm(const CommClass& wanted, const std::vector<std::int32_t>& members) {
    const auto id = static_cast<std::int32_t>(to_.comms.size());
    to_.comms.push_back({static_cast<std::int32_t>(to_.comm_classes.size()),
                         static_cast<std::int32_t>(to_.comm_members.size()),
                         static_cast<std::int32_t>(members.size())});
    for (const std::int32_t member : members) {
        to_.comm_members.push_back(member);
        to_.tasks[static_cast<std::size_t>(member)].comm = id;
    }
    std::vector<std::int32_t>& known = classes_from_[static_cast<std::size_t>(wanted.from_rank)];
    const auto same = [&](std::int32_t c) {
        const CommClass& other = to_.comm_classes[static_cast<std::size_t>(c)];
        return other.kind == wanted.kind && other.axis == wanted.axis && other.message == wanted.message &&
               other.from_rank == wanted.from_rank && other.to_rank == wanted.to_rank && other.every == wanted.every &&
               other.wait == wanted.wait;
    };
    const auto found = std::find_if(known.begin(), known.end(), same);
    if (found == known.end()) {
        known.push_back(static_cast<std::int32_t>(to_.comm_classes.size()));
        to_.comm_classes.push_back(wanted);
    } else {
        to_.comms.back().comm_class = *found;
    }
}

void Expansion::join(std::int32_t comm) {
    const auto members = from_.members_of(comm);
    const auto known = static_cast<std::size_t>(from_.comms[static_cast<std::size_t>(comm)].comm_class);
    const auto add = [&](const std::vector<std::int32_t>& all) {
        CommClass wanted = from_.comm_classes[known];
        wanted.from_rank = to_.rank_of(all.front());
        wanted.to_rank = members.size() == 1 ? wanted.from_rank : to_.rank_of(all.back());
        add_comm(wanted, all);
        if (made_[known] < 0) made_[known] = to_.comms.back().comm_class;
    };
    if (members.size() == 1) {
        for (const std::vector<int>& group : replica_groups(job_, from_.comm_classes[known].axis)) {
            std::vector<std::int32_t> all;
            all.reserve(group.size());
            for (const int replica : group) all.push_back(members[0] + replica * tasks_);
            add(all);
        }
        return;
    }
    for (int replica = 0; replica < replicas_; ++replica) {
        std::vector<std::int32_t> copy(members.begin(), members.end());
        for (std::int32_t& member : copy) member += replica * tasks_;
        add(copy);
    }
}

/// Works are shared by all replicas; what runs beside them takes as long in each.
void Expansion::rename_classes_of_works() {
    for (Work& work : to_.works) {
        for (std::int32_t& comm_class : work.under) {
            if (comm_class >= 0) comm_class = made_[static_cast<std::size_t>(comm_class)];
        }
    }
}

/// Speeds of the replica's devices and links, pipeline ranks in order, the slowest of each tensor and context group.
std::vector<double> speeds(const Job& job, const RankGrid& grid, int replica) {
    std::vector<double> all;
    for (int pp = 0; pp < job.plan.pp; ++pp) {
        double compute = 1e9;
        double nic = 1e9;
        double nvlink = 1e9;
        for (int cp = 0; cp < job.plan.cp; ++cp) {
            for (int tp = 0; tp < job.plan.tp; ++tp) {
                const int rank = grid.rank({tp, cp, replica, pp});
                compute = std::min(compute, speed_of(job.plan.variability, rank, pp));
                nic = std::min(nic, link_speed_of(job.plan.variability, LinkKind::nic, rank));
                nvlink = std::min(nvlink, link_speed_of(job.plan.variability, LinkKind::nvlink, rank));
            }
        }
        all.insert(all.end(), {compute, nic, nvlink});
    }
    return all;
}

}  // namespace

TaskGraph expand_replicas(const Job& job, const TaskGraph& graph, int replicas) {
    assert(graph.ranks == graph.pipeline_ranks);
    return Expansion(job, graph, replicas).run();
}

bool replicas_differ(const Job& job) {
    const Variability& v = job.plan.variability;
    if (job.plan.dp <= 1) return false;
    if (job.plan.no_symmetry || v.jitter_pct > 0.0) return true;
    if (v.speed.empty() && v.links.empty()) return false;
    const RankGrid grid = rank_grid(job);
    const std::vector<double> first = speeds(job, grid, 0);
    for (int replica = 1; replica < job.plan.dp; ++replica) {
        if (speeds(job, grid, replica) != first) return true;
    }
    return false;
}

}  // namespace foreshard
