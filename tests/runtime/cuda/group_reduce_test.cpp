#include "runtime/cuda/bodies/group_reduce.hpp"

#include <random>

#include <gtest/gtest.h>

#include "runtime/bf16.hpp"
#include "runtime/cuda/group_kernels.hpp"

/// The kernel that adds up over virtual ranks, on the processor, against what ranks as threads do.
namespace foreshard::runtime {
namespace {

template <class T>
constexpr ElementType type_of() {
    if (std::is_same_v<T, float>) return ElementType::fp32;
    if (std::is_same_v<T, double>) return ElementType::fp64;
    return ElementType::bf16;
}

/// Members with random numbers; results of a reduce-scatter go to each one's place in its own operand.
template <class T>
class Members {
public:
    Members(int members, int count, CallKind kind) : kind_(kind) {
        std::mt19937 engine(static_cast<unsigned>(members * 1000 + count));
        std::uniform_real_distribution<float> between(-3.0F, 3.0F);
        data_.resize(static_cast<std::size_t>(members));
        for (std::vector<T>& mine : data_) {
            mine.reserve(static_cast<std::size_t>(count));
            for (int i = 0; i < count; ++i) mine.push_back(T(between(engine)));
        }
    }

    std::vector<MemberCall> calls(Reduction reduction) {
        std::vector<MemberCall> calls;
        calls.reserve(data_.size());
        for (std::size_t member = 0; member < data_.size(); ++member) {
            const std::span<std::byte> all = std::as_writable_bytes(std::span(data_[member]));
            std::span<std::byte> mine = all;
            if (kind_ == CallKind::reduce_scatter) {
                const Range part = shard_of(static_cast<std::int64_t>(data_[member].size()),
                                            static_cast<int>(data_.size()), static_cast<int>(member));
                mine = all.subspan(static_cast<std::size_t>(part.begin) * sizeof(T),
                                   static_cast<std::size_t>(part.size()) * sizeof(T));
            }
            calls.push_back({kind_, all, mine, type_of<T>(), reduction, true, nullptr});
        }
        return calls;
    }

    std::vector<std::vector<std::byte>> results(const std::vector<MemberCall>& calls) const {
        std::vector<std::vector<std::byte>> bytes;
        bytes.reserve(calls.size());
        for (const MemberCall& call : calls) bytes.emplace_back(call.output.begin(), call.output.end());
        return bytes;
    }

private:
    CallKind kind_;
    std::vector<std::vector<T>> data_;
};

template <class T>
class GroupReduceTest : public testing::Test {};
using Types = testing::Types<float, double, Bf16>;
TYPED_TEST_SUITE(GroupReduceTest, Types);

TYPED_TEST(GroupReduceTest, GivesTheBitsOfRanksAsThreads) {
    for (const int members : {1, 2, 3, 8, cuda::most_members}) {
        for (const int count : {1, 7, 64, 1000}) {
            for (const Reduction reduction : {Reduction::sum, Reduction::max}) {
                Members<TypeParam> kernel(members, count, CallKind::all_reduce);
                Members<TypeParam> host(members, count, CallKind::all_reduce);
                cuda::group_reduce(nullptr, kernel.calls(reduction));
                std::vector<MemberCall> expected = host.calls(reduction);
                carry_on_host(expected);
                EXPECT_EQ(kernel.results(kernel.calls(reduction)), host.results(expected))
                    << members << " members, " << count << " elements";
            }
        }
    }
}

TYPED_TEST(GroupReduceTest, ScattersAsShardsAreCut) {
    for (const int members : {1, 2, 3, 5, 8}) {
        for (const int count : {1, 5, 13, 64, 1001}) {
            Members<TypeParam> kernel(members, count, CallKind::reduce_scatter);
            Members<TypeParam> host(members, count, CallKind::reduce_scatter);
            cuda::group_reduce(nullptr, kernel.calls(Reduction::sum));
            std::vector<MemberCall> expected = host.calls(Reduction::sum);
            carry_on_host(expected);
            EXPECT_EQ(kernel.results(kernel.calls(Reduction::sum)), host.results(expected))
                << members << " members, " << count << " elements";
        }
    }
}

}  // namespace
}  // namespace foreshard::runtime
