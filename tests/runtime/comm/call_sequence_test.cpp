#include "runtime/comm/call_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foreshard::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Channel dp_channel{Axis::dp, Lane::dp};
constexpr Channel tp_channel{Axis::tp, Lane::compute};
constexpr Channel forward{Axis::pp, Lane::send_forward};
constexpr Channel backward{Axis::pp, Lane::send_backward};

IssuedCall reduce(int communicator, std::int64_t count, ElementType type = ElementType::fp32, int group = -1) {
    return {communicator, {CommOp::all_reduce, nullptr, nullptr, count, type, Reduction::sum, -1}, group};
}
/// Messages of communicators with one direction: the sender is member 0.
IssuedCall send(int communicator, std::int64_t bytes, int group = -1, int peer = 1) {
    return {communicator, {CommOp::send, nullptr, nullptr, bytes, std::nullopt, Reduction::sum, peer}, group};
}
IssuedCall receive(int communicator, std::int64_t bytes, int group = -1, int peer = 0) {
    return {communicator, {CommOp::receive, nullptr, nullptr, bytes, std::nullopt, Reduction::sum, peer}, group};
}

/// Two ranks with an all-reduce of dp and of tp, and messages both ways.
CallSequence two_ranks() {
    CallSequence sequence;
    sequence.communicators = {group_communicator(dp_channel, std::vector<int>{0, 1}),
                              group_communicator(tp_channel, std::vector<int>{0, 1}),
                              message_communicator(forward, 0, 1), message_communicator(backward, 1, 0)};
    sequence.ranks.resize(2);
    return sequence;
}

TEST(CallSequence, EqualOrdersAreFine) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {reduce(1, 8), send(2, 64), reduce(0, 100), receive(3, 64), reduce(1, 8)};
    sequence.ranks[1] = {reduce(1, 8), receive(2, 64), reduce(0, 100), send(3, 64), reduce(1, 8)};
    EXPECT_THAT(broken_rules(sequence), IsEmpty());
}

TEST(CallSequence, CollectivesInAnotherOrderAreFound) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {reduce(0, 100), reduce(0, 200)};
    sequence.ranks[1] = {reduce(0, 200), reduce(0, 100)};
    EXPECT_THAT(broken_rules(sequence),
                ElementsAre(AllOf(HasSubstr("rank 0, call 0: all-reduce of 100 fp32"), HasSubstr("200 fp32"))));
}

TEST(CallSequence, CollectivesOfAnotherTypeOrKindAreFound) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {reduce(0, 100)};
    sequence.ranks[1] = {reduce(0, 100, ElementType::fp64)};
    EXPECT_THAT(broken_rules(sequence), ElementsAre(HasSubstr("fp64")));
    sequence.ranks[1] = {reduce(0, 100)};
    sequence.ranks[1].front().call.op = CommOp::reduce_scatter;
    EXPECT_THAT(broken_rules(sequence), ElementsAre(HasSubstr("reduce-scatter")));
    sequence.ranks[1] = {reduce(0, 100)};
    sequence.ranks[1].front().call.reduction = Reduction::max;
    EXPECT_EQ(broken_rules(sequence).size(), 1U);
}

TEST(CallSequence, AMissingCollectiveIsFound) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {reduce(0, 100), reduce(0, 100)};
    sequence.ranks[1] = {reduce(0, 100)};
    EXPECT_THAT(broken_rules(sequence), ElementsAre(AllOf(HasSubstr("rank 0 issues 2"), HasSubstr("rank 1 1"))));
}

TEST(CallSequence, MessagesThatDoNotMatchAreFound) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {send(2, 64), send(2, 32)};
    sequence.ranks[1] = {receive(2, 32), receive(2, 64)};
    EXPECT_THAT(broken_rules(sequence), ElementsAre(AllOf(HasSubstr("message 0"), HasSubstr("send of 64 bytes"),
                                                          HasSubstr("receive of 32 bytes"))));
    sequence.ranks[1] = {receive(2, 64)};
    EXPECT_THAT(broken_rules(sequence), ElementsAre(HasSubstr("sends 2 messages")));
    sequence.ranks[0] = {send(2, 64, -1, 5)};
    EXPECT_THAT(broken_rules(sequence), testing::Contains(HasSubstr("no such peer")));
}

/// On one communicator both send first: each waits for the other's receive. Grouped, both are under way at a time.
TEST(CallSequence, LoneSendsOnOneCommunicatorDeadlock) {
    CallSequence sequence;
    sequence.communicators = {group_communicator(forward, std::vector<int>{0, 1})};
    sequence.ranks = {{send(0, 64, -1, 1), receive(0, 64, -1, 1)}, {send(0, 64, -1, 0), receive(0, 64, -1, 0)}};
    EXPECT_THAT(broken_rules(sequence), testing::Contains(HasSubstr("deadlock")));
    for (auto& calls : sequence.ranks) {
        for (IssuedCall& call : calls) call.group = 4;
    }
    EXPECT_THAT(broken_rules(sequence), IsEmpty());
}

/// Three ranks in a ring, each sends on and then receives on a communicator of all.
TEST(CallSequence, ARingOfWaitsIsFound) {
    CallSequence sequence;
    sequence.communicators = {group_communicator(forward, std::vector<int>{0, 1, 2})};
    sequence.ranks.resize(3);
    for (int rank = 0; rank < 3; ++rank) {
        sequence.ranks[static_cast<std::size_t>(rank)] = {send(0, 8, -1, (rank + 1) % 3),
                                                          receive(0, 8, -1, (rank + 2) % 3)};
    }
    EXPECT_THAT(broken_rules(sequence),
                testing::Contains(AllOf(HasSubstr("deadlock"), HasSubstr("rank 0"), HasSubstr("rank 2"))));
}

/// Each communicator is in order, but one rank takes the other communicator first: with kernels that do not fit side by
/// side on a device, both wait for ever.
TEST(CallSequence, OrdersOverCommunicatorsMustAgree) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {reduce(0, 100), reduce(1, 8)};
    sequence.ranks[1] = {reduce(1, 8), reduce(0, 100)};
    EXPECT_THAT(broken_rules(sequence), ElementsAre(AllOf(HasSubstr("different orders"), HasSubstr("rank 0, call 0"),
                                                          HasSubstr("rank 1, call 0"))));
    sequence.ranks[0] = {send(2, 64), receive(3, 64)};
    sequence.ranks[1] = {send(3, 64), receive(2, 64)};
    EXPECT_THAT(broken_rules(sequence), ElementsAre(HasSubstr("different orders")));
}

TEST(CallSequence, AGroupOfOneSideOnlyIsFound) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {send(2, 64, 0), receive(3, 64, 0)};
    sequence.ranks[1] = {receive(2, 64, 7), send(3, 64, 7)};
    EXPECT_THAT(broken_rules(sequence), IsEmpty());
    sequence.ranks[1] = {receive(2, 64), send(3, 64)};
    EXPECT_THAT(broken_rules(sequence), testing::Contains(HasSubstr("grouped on one side only")));
    sequence.ranks[1] = {receive(2, 64, 1), send(3, 64, 2)};
    EXPECT_THAT(broken_rules(sequence), testing::Contains(HasSubstr("grouped on one side only")));
}

/// The checker itself must see a group as one: its calls in the other order on the other side are fine.
TEST(CallSequence, CallsOfAGroupHaveNoOrder) {
    CallSequence sequence = two_ranks();
    sequence.ranks[0] = {send(2, 64, 0), receive(3, 64, 0), reduce(0, 5)};
    sequence.ranks[1] = {send(3, 64, 0), receive(2, 64, 0), reduce(0, 5)};
    EXPECT_THAT(broken_rules(sequence), IsEmpty());
}

TEST(CommCall, UnevenPartsBecomeAGroupWithARootEach) {
    std::vector<std::byte> all(5 * 4);
    const Elements elements{all, ElementType::fp32};
    const std::span<std::byte> mine = std::span(all).subspan(2 * 4, 2 * 4);  // member 1 of 3: parts 2, 2, 1
    const auto gathers = all_gather_calls(mine, elements, 3, 1);
    ASSERT_EQ(gathers.size(), 3U);
    std::int64_t count = 0;
    for (int member = 0; member < 3; ++member) {
        const CommCall& call = gathers[static_cast<std::size_t>(member)];
        EXPECT_EQ(call.op, CommOp::broadcast);
        EXPECT_EQ(call.peer, member);
        EXPECT_EQ(call.to, all.data() + count * 4);
        count += call.count;
    }
    EXPECT_EQ(count, 5);
    EXPECT_EQ(gathers[1].from, mine.data());
    std::vector<std::byte> sum(2 * 4);
    const auto reduces = reduce_scatter_calls(elements, {sum, ElementType::fp32}, 3, 1);
    ASSERT_EQ(reduces.size(), 3U);
    EXPECT_EQ(reduces[1].to, sum.data());
    EXPECT_EQ(reduces[2].from, all.data() + 4 * 4);
    EXPECT_EQ(reduces[2].count, 1);
    const auto none =
        all_gather_calls({}, {std::span(all).first(4), ElementType::fp32}, 3, 2);  // 1 element of 3 members
    ASSERT_EQ(none.size(), 1U);
    EXPECT_EQ(none[0].peer, 0);
}

TEST(CommCall, EvenPartsAreOneCall) {
    std::vector<std::byte> all(6 * 8);
    const Elements elements{all, ElementType::fp64};
    const auto gather = all_gather_calls(std::span(all).first(16), elements, 3, 0);
    ASSERT_EQ(gather.size(), 1U);
    EXPECT_EQ(gather[0].op, CommOp::all_gather);
    EXPECT_EQ(gather[0].count, 2);
    const auto scatter = reduce_scatter_calls(elements, {std::span(all).first(16), ElementType::fp64}, 3, 0);
    ASSERT_EQ(scatter.size(), 1U);
    EXPECT_EQ(scatter[0].op, CommOp::reduce_scatter);
    EXPECT_EQ(scatter[0].count, 2);
}

TEST(SplitRounds, NoRankIsInTwoGroupsOfARound) {
    const std::vector<Communicator> chain = {message_communicator(forward, 0, 1), message_communicator(forward, 1, 2),
                                             message_communicator(forward, 2, 3),
                                             group_communicator(dp_channel, std::vector<int>{0, 1, 2, 3})};
    EXPECT_THAT(split_rounds(chain), ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(3)));
}

}  // namespace
}  // namespace foreshard::runtime
