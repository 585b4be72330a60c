#include "sim/result/spans.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

namespace foreshard {

namespace {

SpanLane lane_of(Lane lane) {
    switch (lane) {
        case Lane::compute:
            return SpanLane::compute;
        case Lane::send_forward:
        case Lane::recv_forward:
        case Lane::send_backward:
        case Lane::recv_backward:
        case Lane::vocabulary:
            return SpanLane::p2p;
        case Lane::dp:
        case Lane::dp_replica:
        case Lane::embedding:
            return SpanLane::dp;
        case Lane::offload:
        case Lane::reload:
            return SpanLane::other;
    }
    return SpanLane::other;
}

SpanKind of_pass(Pass pass) {
    switch (pass) {
        case Pass::forward:
            return SpanKind::forward;
        case Pass::backward:
            return SpanKind::backward;
        case Pass::input_grad:
            return SpanKind::input_grad;
        case Pass::weight_grad:
            return SpanKind::weight_grad;
        case Pass::vocab_forward:
        case Pass::vocab_backward:
            return SpanKind::vocabulary;
    }
    return SpanKind::other;
}

SpanKind of_task(const Task& task) {
    switch (task.kind) {
        case TaskKind::pass:
            return of_pass(task.pass);
        case TaskKind::send:
        case TaskKind::recv:
            return SpanKind::p2p;
        case TaskKind::grad_reduce:
        case TaskKind::embedding_reduce:
        case TaskKind::param_gather:
            return SpanKind::dp;
        case TaskKind::optimizer:
            return SpanKind::optimizer;
        case TaskKind::vocabulary:
            return SpanKind::vocabulary;
        case TaskKind::step_end:
            return SpanKind::host;
        case TaskKind::offload:
        case TaskKind::reload:
            return SpanKind::offload;
    }
    return SpanKind::other;
}

/// A span before it has a row.
struct Piece {
    Picoseconds start = 0;
    Picoseconds end = 0;
    std::int32_t task = 0;
    SpanKind kind = SpanKind::other;
};

class SpanBuilder {
public:
    SpanBuilder(const TaskGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {}

    SpanTable build() {
        number_chunks();
        reserve();
        last_span_.assign(graph_.tasks.size(), none);
        first_span_.assign(graph_.tasks.size(), none);
        for (int rank = 0; rank < graph_.ranks; ++rank) add_rank(rank);
        connect();
        for (const Picoseconds end : table_.end) table_.finish = std::max(table_.finish, end);
        table_.names_lack_microbatch = true;
        table_.window_begin = timeline_.window_start;
        table_.window_end = timeline_.window_end;
        return std::move(table_);
    }

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    void number_chunks();
    void reserve();
    void add_rank(int rank);
    void add_pieces_of(std::int32_t id);
    void add_part(std::int32_t id, Spent spent, Picoseconds end);
    void add_rows(int rank, SpanLane lane, std::vector<Piece>& pieces);
    void add_row(int rank, SpanLane lane, int overflow, const std::vector<Piece>& pieces);
    void add_span(int rank, SpanLane lane, const Piece& piece);
    std::vector<Piece>& pieces_of(SpanLane lane) { return pieces_[static_cast<std::size_t>(lane)]; }
    std::uint64_t name_key(const Piece& piece, bool part_of_task) const;
    std::int32_t name_of(const Piece& piece, bool part_of_task);
    void connect();
    template <typename Visit>
    void for_own_inputs(std::int32_t id, const Visit& visit) const;
    void add_inputs(std::int32_t id);
    void add_input(std::int32_t task) {
        if (last_span_[static_cast<std::size_t>(task)] == none) return;
        table_.inputs.push_back(last_span_[static_cast<std::size_t>(task)]);
    }
    Picoseconds part(std::int32_t id, Spent spent) const;
    int collective_of(const Task& task) const {
        if (task.comm < 0) return -1;
        const Comm& comm = graph_.comms[static_cast<std::size_t>(task.comm)];
        return static_cast<int>(graph_.comm_classes[static_cast<std::size_t>(comm.comm_class)].kind);
    }

    const TaskGraph& graph_;
    const Timeline& timeline_;
    SpanTable table_;
    std::vector<std::int16_t> chunk_of_;                        ///< [rank * stages + stage]
    std::array<std::vector<Piece>, span_lane_count> pieces_;    ///< of the rank at hand, by lane
    std::vector<std::ptrdiff_t> row_of_;                        ///< per piece of the lane at hand
    std::vector<Picoseconds> row_ends_;                         ///< per row of it
    std::vector<std::uint32_t> last_span_;                      ///< per task: the span that ends it
    std::vector<std::uint32_t> first_span_;                     ///< per task: the span that starts it
    std::unordered_map<std::uint64_t, std::int32_t> name_ids_;  ///< by name_key
};

/// For a span a task; recomputation and exposed collectives add a few.
void SpanBuilder::reserve() {
    const std::size_t spans = graph_.tasks.size();
    for (auto* column : {&table_.start, &table_.end}) column->reserve(spans);
    for (auto* column : {&table_.stage, &table_.chunk, &table_.step}) column->reserve(spans);
    for (auto* column : {&table_.microbatch, &table_.task, &table_.comm, &table_.name}) column->reserve(spans);
    table_.kind.reserve(spans);
    table_.inputs.reserve(2 * spans);
}

void SpanBuilder::number_chunks() {
    const std::size_t stages = graph_.stages.size();
    chunk_of_.assign(static_cast<std::size_t>(graph_.ranks) * stages, -1);
    for (std::size_t rank = 0; rank < graph_.rank_stages.size(); ++rank) {
        std::int16_t chunk = 0;
        for (const int stage : graph_.rank_stages[rank]) {
            chunk_of_[rank * stages + static_cast<std::size_t>(stage)] = chunk++;
        }
    }
}

/// Of a task that took longer or shorter than its work alone, parts keep their shares.
Picoseconds SpanBuilder::part(std::int32_t id, Spent spent) const {
    const auto i = static_cast<std::size_t>(id);
    const std::int32_t work = graph_.tasks[i].work;
    if (work < 0 || timeline_.works.empty()) return 0;
    const WorkDuration& duration = timeline_.works[static_cast<std::size_t>(work)];
    return scaled(duration.spent[static_cast<std::size_t>(spent)], timeline_.end[i] - timeline_.start[i],
                  duration.total());
}

void SpanBuilder::add_part(std::int32_t id, Spent spent, Picoseconds end) {
    const Picoseconds length = part(id, spent);
    if (length <= 0) return;
    const SpanLane lane = spent == Spent::exposed_tp ? SpanLane::tp : SpanLane::cp_ep;
    const SpanKind kind = spent == Spent::exposed_tp   ? SpanKind::tp
                          : spent == Spent::exposed_cp ? SpanKind::cp
                                                       : SpanKind::ep;
    pieces_of(lane).push_back({end - length, end, id, kind});
}

void SpanBuilder::add_pieces_of(std::int32_t id) {
    const auto i = static_cast<std::size_t>(id);
    const Task& task = graph_.tasks[i];
    const SpanLane lane = lane_of(graph_.stream_of(id).lane);
    Picoseconds start = timeline_.start[i];
    const Picoseconds end = timeline_.end[i];
    const Picoseconds recompute = part(id, Spent::recompute);
    std::vector<Piece>& pieces = pieces_of(lane);
    if (recompute > 0) pieces.push_back({start, start + recompute, id, SpanKind::recompute});
    start += recompute;
    pieces.push_back({start, end, id, of_task(task)});
    Picoseconds at = end;
    for (const Spent spent : {Spent::exposed_ep, Spent::exposed_cp, Spent::exposed_tp}) {
        add_part(id, spent, at);
        at -= part(id, spent);
    }
}

void SpanBuilder::add_rank(int rank) {
    const RankPlace& place = graph_.places[static_cast<std::size_t>(rank)];
    const std::string replica = place.replica >= 0 ? fmt::format(" dp {}", place.replica) : "";
    table_.ranks.push_back({rank, place.pp, place.replica, fmt::format("PP{}{}", place.pp, replica)});
    for (std::vector<Piece>& pieces : pieces_) pieces.clear();
    for (const Stream& stream : graph_.streams) {
        if (stream.rank != rank) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) add_pieces_of(id);
    }
    for (std::size_t lane = 0; lane < pieces_.size(); ++lane)
        add_rows(rank, static_cast<SpanLane>(lane), pieces_[lane]);
}

/// First fit: a row for what runs side by side.
void SpanBuilder::add_rows(int rank, SpanLane lane, std::vector<Piece>& pieces) {
    const auto before = [](const Piece& a, const Piece& b) {
        return a.start != b.start ? a.start < b.start : a.end < b.end;
    };
    // A lane of one stream is in order as it comes.
    if (!std::is_sorted(pieces.begin(), pieces.end(), before)) std::stable_sort(pieces.begin(), pieces.end(), before);
    row_ends_.clear();
    row_of_.clear();
    for (const Piece& piece : pieces) {
        const auto fits = [&](Picoseconds end) { return end <= piece.start; };
        const auto found = std::find_if(row_ends_.begin(), row_ends_.end(), fits);
        row_of_.push_back(found - row_ends_.begin());
        if (found == row_ends_.end()) {
            row_ends_.push_back(piece.end);
        } else {
            *found = piece.end;
        }
    }
    for (std::size_t row = 0; row < row_ends_.size(); ++row) add_row(rank, lane, static_cast<int>(row), pieces);
}

/// Those of the pieces that are in the row.
void SpanBuilder::add_row(int rank, SpanLane lane, int overflow, const std::vector<Piece>& pieces) {
    SpanRow row;
    row.rank = rank;
    row.lane = lane;
    row.overflow = overflow;
    row.first = table_.size();
    row.name = overflow == 0 ? std::string(to_string(lane)) : fmt::format("{} {}", to_string(lane), overflow + 1);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (row_of_[i] == overflow) add_span(rank, lane, pieces[i]);
    }
    row.last = table_.size();
    table_.rows.push_back(std::move(row));
}

void SpanBuilder::add_span(int rank, SpanLane lane, const Piece& piece) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(piece.task)];
    const auto span = static_cast<std::uint32_t>(table_.size());
    const auto i = static_cast<std::size_t>(piece.task);
    const bool part_of_task = piece.kind == SpanKind::recompute || lane != lane_of(graph_.stream_of(piece.task).lane);
    if (!part_of_task) last_span_[i] = span;
    if (first_span_[i] == none || piece.kind == SpanKind::recompute) first_span_[i] = span;
    table_.start.push_back(piece.start);
    table_.end.push_back(piece.end);
    table_.kind.push_back(piece.kind);
    table_.stage.push_back(static_cast<std::int16_t>(task.stage));
    const std::size_t stages = graph_.stages.size();
    const bool known = task.stage >= 0 && static_cast<std::size_t>(task.stage) < stages && !is_vocabulary(task.pass) &&
                       task.kind != TaskKind::vocabulary;
    const auto place = static_cast<std::size_t>(rank) * stages + static_cast<std::size_t>(known ? task.stage : 0);
    table_.chunk.push_back(known ? chunk_of_[place] : std::int16_t{-1});
    table_.step.push_back(static_cast<std::int16_t>(task.step));
    table_.microbatch.push_back(task.microbatch);
    table_.task.push_back(piece.task);
    table_.comm.push_back(part_of_task ? -1 : task.comm);
    table_.name.push_back(name_of(piece, part_of_task));
}

/// All that decides a name but the micro-batch's number: whether there is one, the collective, part of a task or not.
std::uint64_t SpanBuilder::name_key(const Piece& piece, bool part_of_task) const {
    const Task& task = graph_.tasks[static_cast<std::size_t>(piece.task)];
    std::uint64_t key = static_cast<std::uint32_t>(task.stage);
    const auto append = [&key](auto value) { key = key << 5U | static_cast<std::uint64_t>(value); };
    append(task.kind);
    append(task.pass);
    append(piece.kind);
    append(collective_of(task) + 1);
    append(task.microbatch >= 0);
    append(part_of_task);
    append(task.use);
    append(is_lookup(graph_, task));
    return key;
}

/// Spans that differ in their micro-batch only share a name.
std::int32_t SpanBuilder::name_of(const Piece& piece, bool part_of_task) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(piece.task)];
    const auto [found, added] =
        name_ids_.try_emplace(name_key(piece, part_of_task), static_cast<std::int32_t>(table_.names.size()));
    if (added) {
        std::string name = task_name(graph_, piece.task);
        if (task.microbatch >= 0) name.erase(name.find_last_not_of("0123456789") + 1);
        table_.names.push_back(part_of_task ? fmt::format("{} {}", to_string(piece.kind), name) : name);
    }
    return found->second;
}

/// In-rank edges, and the task before in the same stream. Messages of a stream may start while earlier ones are still
/// in flight.
template <typename Visit>
void SpanBuilder::for_own_inputs(std::int32_t id, const Visit& visit) const {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    for (std::size_t d = 0; d < task.deps; ++d) visit(graph_.deps[task.first_dep + d]);
    const auto i = static_cast<std::size_t>(id);
    if (graph_.stream_of(id).first < id && timeline_.end[i - 1] <= timeline_.start[i]) visit(id - 1);
}

/// A receive has its send. Others that meet in a communication start together: what the last of them waited for.
void SpanBuilder::add_inputs(std::int32_t id) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    for_own_inputs(id, [this](std::int32_t input) { add_input(input); });
    if (task.comm < 0) return;
    const auto members = graph_.members_of(task.comm);
    if (task.kind == TaskKind::recv && members.size() == 2) return add_input(members[0]);
    std::int32_t last = -1;
    const auto keep_last = [&](std::int32_t input) {
        const auto end_of = [this](std::int32_t of) { return timeline_.end[static_cast<std::size_t>(of)]; };
        if (last < 0 || end_of(input) > end_of(last)) last = input;
    };
    for (const std::int32_t member : members) {
        if (member != id) for_own_inputs(member, keep_last);
    }
    if (last >= 0) add_input(last);
}

void SpanBuilder::connect() {
    table_.first_input.reserve(table_.size() + 1);
    for (std::size_t span = 0; span < table_.size(); ++span) {
        table_.first_input.push_back(static_cast<std::uint32_t>(table_.inputs.size()));
        const std::int32_t id = table_.task[span];
        const auto i = static_cast<std::size_t>(id);
        if (first_span_[i] == span) {
            add_inputs(id);
        } else if (last_span_[i] == span) {
            table_.inputs.push_back(first_span_[i]);  // the recomputation in front
        }
    }
    table_.first_input.push_back(static_cast<std::uint32_t>(table_.inputs.size()));
}

}  // namespace

std::string_view to_string(SpanKind kind) {
    static constexpr std::array<std::string_view, span_kind_count> names = {
        "forward", "backward", "input grad", "weight grad", "recompute", "vocabulary", "optimizer", "host",
        "tp",      "cp",       "ep",         "p2p",         "dp",        "offload",    "other"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(SpanLane lane) {
    static constexpr std::array<std::string_view, span_lane_count> names = {"compute", "TP", "CP/EP",
                                                                            "p2p",     "DP", "other"};
    return names[static_cast<std::size_t>(lane)];
}

bool is_compute(SpanKind kind) {
    return kind <= SpanKind::host;
}

char letter(SpanKind kind) {
    static constexpr std::string_view letters = "FBIWRSOHTCEPDM?";
    return letters[static_cast<std::size_t>(kind)];
}

SpanTable make_spans(const TaskGraph& graph, const Timeline& timeline) {
    return SpanBuilder(graph, timeline).build();
}

std::string span_name(const SpanTable& spans, std::size_t span) {
    const std::string& name = spans.names[static_cast<std::size_t>(spans.name[span])];
    const std::int32_t microbatch = spans.microbatch[span];
    return spans.names_lack_microbatch && microbatch >= 0 ? fmt::format("{}{}", name, microbatch) : name;
}

}  // namespace foreshard
