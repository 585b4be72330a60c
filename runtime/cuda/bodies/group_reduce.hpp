#pragma once

#include "runtime/bf16.hpp"
#include "runtime/cuda/bodies/block.hpp"

namespace foreshard::runtime::cuda {

/// Ranks that one kernel adds up.
inline constexpr int most_members = 64;

/// Operands of a reduction over the members of a group, one call per element: reads the element of every member, adds
/// in the order of ranks, rounded to T after every addition as on the processor, then writes. So a result may lie in
/// its own operand.
template <class T, bool scatter>
struct GroupReduce {
    const T* from[most_members];
    T* to[most_members];
    int members;
    bool maximum;
    std::int64_t count;

    FORESHARD_KERNEL T combine(T a, T b) const {
        if (maximum) return widened(a) < widened(b) ? b : a;
        return T(widened(a) + widened(b));
    }

    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        T result = from[0][i];
        for (int member = 1; member < members; ++member) result = combine(result, from[member][i]);
        if constexpr (scatter) {
            const int owner = owner_of(i);
            to[owner][i - begin_of(owner)] = result;
        } else {
            for (int member = 0; member < members; ++member) to[member][i] = result;
        }
    }

    /// As shard_of (runtime/transport.hpp): the first parts are one longer where it does not divide.
    FORESHARD_KERNEL std::int64_t begin_of(int member) const {
        const std::int64_t longer = count % members;
        return member * (count / members) + (member < longer ? member : longer);
    }
    FORESHARD_KERNEL int owner_of(std::int64_t i) const {
        const std::int64_t part = count / members;
        const std::int64_t longer = count % members;
        const std::int64_t in_longer = longer * (part + 1);
        return static_cast<int>(i < in_longer ? i / (part + 1) : longer + (i - in_longer) / part);
    }

private:
    FORESHARD_KERNEL static float widened(Bf16 value) { return static_cast<float>(value); }
    FORESHARD_KERNEL static float widened(float value) { return value; }
    FORESHARD_KERNEL static double widened(double value) { return value; }
};

}  // namespace foreshard::runtime::cuda
