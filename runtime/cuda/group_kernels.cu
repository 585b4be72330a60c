#include "runtime/cuda/bodies/group_reduce.hpp"
#include "runtime/cuda/group_kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda {

namespace {

template <class T, bool scatter>
void reduce_typed(Queue queue, const std::vector<MemberCall>& calls) {
    GroupReduce<T, scatter> work{};
    work.members = static_cast<int>(calls.size());
    work.maximum = calls.front().reduction == Reduction::max;
    work.count = static_cast<std::int64_t>(calls.front().input.size() / sizeof(T));
    for (std::size_t member = 0; member < calls.size(); ++member) {
        work.from[member] = reinterpret_cast<const T*>(calls[member].input.data());
        work.to[member] = reinterpret_cast<T*>(calls[member].output.data());
    }
    launch_each(queue, "group_reduce", work, work.count);
}

template <class T>
void reduce_any(Queue queue, const std::vector<MemberCall>& calls) {
    if (calls.front().kind == CallKind::reduce_scatter) {
        reduce_typed<T, true>(queue, calls);
    } else {
        reduce_typed<T, false>(queue, calls);
    }
}

}  // namespace

void group_reduce(Queue queue, const std::vector<MemberCall>& calls) {
    switch (calls.front().type) {
        case ElementType::fp32:
            return reduce_any<float>(queue, calls);
        case ElementType::fp64:
            return reduce_any<double>(queue, calls);
        case ElementType::bf16:
            return reduce_any<Bf16>(queue, calls);
    }
}

}  // namespace foreshard::runtime::cuda
