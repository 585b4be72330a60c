#include "runtime/comm/comm_call.hpp"

namespace foreshard::runtime {

namespace {

std::int64_t bytes_in(std::span<const std::byte> data) {
    return static_cast<std::int64_t>(data.size());
}

std::int64_t offset_of(Range part, ElementType type) {
    return part.begin * static_cast<std::int64_t>(element_bytes(type));
}

}  // namespace

const char* to_string(CommOp op) {
    switch (op) {
        case CommOp::send:
            return "send";
        case CommOp::receive:
            return "receive";
        case CommOp::all_reduce:
            return "all-reduce";
        case CommOp::all_gather:
            return "all-gather";
        case CommOp::reduce_scatter:
            return "reduce-scatter";
        case CommOp::broadcast:
            return "broadcast";
        case CommOp::reduce:
            return "reduce";
    }
    return "";
}

CommCall send_call(std::span<const std::byte> data, int peer) {
    return {CommOp::send, data.data(), nullptr, bytes_in(data), std::nullopt, Reduction::sum, peer};
}

CommCall receive_call(std::span<std::byte> data, int peer) {
    return {CommOp::receive, nullptr, data.data(), bytes_in(data), std::nullopt, Reduction::sum, peer};
}

CommCall all_reduce_call(Elements data, Reduction reduction) {
    return {CommOp::all_reduce,
            data.bytes.data(),
            data.bytes.data(),
            static_cast<std::int64_t>(data.count()),
            data.type,
            reduction,
            -1};
}

CommCall broadcast_call(Elements data, int root) {
    return {CommOp::broadcast,
            data.bytes.data(),
            data.bytes.data(),
            static_cast<std::int64_t>(data.count()),
            data.type,
            Reduction::sum,
            root};
}

std::vector<CommCall> all_gather_calls(std::span<const std::byte> mine, Elements all, int members, int place) {
    const auto count = static_cast<std::int64_t>(all.count());
    if (count % members == 0) {
        return {{CommOp::all_gather, mine.data(), all.bytes.data(), count / members, all.type, Reduction::sum, -1}};
    }
    std::vector<CommCall> calls;
    calls.reserve(static_cast<std::size_t>(members));
    for (int member = 0; member < members; ++member) {
        const Range part = shard_of(count, members, member);
        if (part.size() == 0) continue;
        std::byte* to = all.bytes.data() + offset_of(part, all.type);
        const std::byte* from = member == place ? mine.data() : to;  // read at the root only
        calls.push_back({CommOp::broadcast, from, to, part.size(), all.type, Reduction::sum, member});
    }
    return calls;
}

std::vector<CommCall> reduce_scatter_calls(Elements all, Elements mine, int members, int place) {
    const auto count = static_cast<std::int64_t>(all.count());
    if (count % members == 0) {
        return {{CommOp::reduce_scatter, all.bytes.data(), mine.bytes.data(), count / members, all.type, Reduction::sum,
                 -1}};
    }
    std::vector<CommCall> calls;
    calls.reserve(static_cast<std::size_t>(members));
    for (int member = 0; member < members; ++member) {
        const Range part = shard_of(count, members, member);
        if (part.size() == 0) continue;
        std::byte* from = all.bytes.data() + offset_of(part, all.type);
        std::byte* to = member == place ? mine.bytes.data() : from;  // written at the root only
        calls.push_back({CommOp::reduce, from, to, part.size(), all.type, Reduction::sum, member});
    }
    return calls;
}

}  // namespace foreshard::runtime
