#include "runtime/carrier.hpp"

#include <cstring>

#include "runtime/reduce.hpp"

namespace foreshard::runtime {

namespace {

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.data() != to.data() && !from.empty()) std::memmove(to.data(), from.data(), from.size());
}

void all_reduce(std::vector<MemberCall>& calls) {
    const Elements total{calls.front().output, calls.front().type};
    copy(calls.front().input, total.bytes);
    for (std::size_t i = 1; i < calls.size(); ++i) reduce_into(total, calls[i].input, calls[i].reduction);
    for (std::size_t i = 1; i < calls.size(); ++i) copy(total.bytes, calls[i].output);
}

void all_gather(std::vector<MemberCall>& calls) {
    for (MemberCall& reader : calls) {
        std::size_t offset = 0;
        for (const MemberCall& writer : calls) {
            copy(writer.input, reader.output.subspan(offset, writer.input.size()));
            offset += writer.input.size();
        }
    }
}

void broadcast(std::vector<MemberCall>& calls) {
    const std::span<const std::byte> data = calls[static_cast<std::size_t>(calls.front().root)].input;
    for (MemberCall& call : calls) copy(data, call.output);
}

/// Every part is summed up in a buffer of its own, since outputs may lie in inputs.
void reduce_scatter(std::vector<MemberCall>& calls) {
    const std::size_t element = element_bytes(calls.front().type);
    const auto count = static_cast<std::int64_t>(calls.front().input.size() / element);
    const auto members = static_cast<int>(calls.size());
    std::vector<std::vector<std::byte>> sums;
    sums.reserve(calls.size());
    for (int member = 0; member < members; ++member) {
        const Range part = shard_of(count, members, member);
        const std::size_t begin = static_cast<std::size_t>(part.begin) * element;
        const std::size_t bytes = static_cast<std::size_t>(part.size()) * element;
        const auto first = calls.front().input.subspan(begin, bytes);
        std::vector<std::byte> sum(first.begin(), first.end());
        for (std::size_t i = 1; i < calls.size(); ++i) {
            reduce_into({sum, calls[i].type}, calls[i].input.subspan(begin, bytes), Reduction::sum);
        }
        sums.push_back(std::move(sum));
    }
    for (std::size_t i = 0; i < calls.size(); ++i) copy(sums[i], calls[i].output);
}

}  // namespace

const char* name_of(CallKind kind) {
    switch (kind) {
        case CallKind::message:
            return "message";
        case CallKind::all_reduce:
            return "all-reduce";
        case CallKind::all_gather:
            return "all-gather";
        case CallKind::reduce_scatter:
            return "reduce-scatter";
        case CallKind::broadcast:
            return "broadcast";
        case CallKind::barrier:
            return "barrier";
    }
    return "";
}

void carry_on_host(std::vector<MemberCall>& calls) {
    switch (calls.front().kind) {
        case CallKind::message:
            copy(calls[0].input, calls[1].output);
            return;
        case CallKind::all_reduce:
            return all_reduce(calls);
        case CallKind::all_gather:
            return all_gather(calls);
        case CallKind::reduce_scatter:
            return reduce_scatter(calls);
        case CallKind::broadcast:
            return broadcast(calls);
        case CallKind::barrier:
            return;
    }
}

}  // namespace foreshard::runtime
