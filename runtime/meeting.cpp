#include "runtime/meeting.hpp"

#include <algorithm>

namespace foreshard::runtime {

namespace {

/// Both ends of a message call it by the sender's lane.
Lane shared_lane(Lane lane) {
    if (lane == Lane::recv_forward) return Lane::send_forward;
    return lane == Lane::recv_backward ? Lane::send_backward : lane;
}

}  // namespace

Meeting meeting_of(const TaskGraph& graph, const Ranks& ranks, int rank, std::int32_t task) {
    const std::int32_t comm = graph.tasks[static_cast<std::size_t>(task)].comm;
    const CommClass& kind =
        graph.comm_classes[static_cast<std::size_t>(graph.comms[static_cast<std::size_t>(comm)].comm_class)];
    const Stream& stream = graph.stream_of(task);
    Meeting meeting{{kind.axis, shared_lane(stream.lane)}, kind.kind, {}, -1};
    const auto members = graph.members_of(comm);
    if (members.size() == 1) {
        meeting.group = ranks.group(rank, kind.axis);
        return meeting;
    }
    meeting.group.reserve(members.size());
    for (const std::int32_t member : members) {
        const int pp = graph.places[static_cast<std::size_t>(graph.rank_of(member))].pp;
        meeting.group.push_back(ranks.on_pipeline_rank(rank, pp));
    }
    std::sort(meeting.group.begin(), meeting.group.end());
    if (kind.kind == CollectiveKind::send_recv) meeting.peer = ranks.on_pipeline_rank(rank, stream.peer);
    return meeting;
}

int broadcast_root(const TaskGraph& graph, VocabularyUse use) {
    const bool hidden = use == VocabularyUse::hidden_state;
    if (!hidden && use != VocabularyUse::embedding_gradient) return -1;
    const int stage = hidden ? static_cast<int>(graph.layout.size()) - 1 : 0;
    for (std::size_t rank = 0; rank < graph.rank_stages.size(); ++rank) {
        const std::vector<int>& stages = graph.rank_stages[rank];
        if (std::find(stages.begin(), stages.end(), stage) != stages.end()) return static_cast<int>(rank);
    }
    return -1;
}

}  // namespace foreshard::runtime
