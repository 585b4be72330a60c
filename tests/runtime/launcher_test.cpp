#include "runtime/launcher.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/comm/message_groups.hpp"
#include "runtime/cpu/cpu_device.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "tests/runtime/cuda/emulated_device.hpp"
#include "tests/support/jobs.hpp"

/// The order in which one thread a rank issues tasks, and what it tells the device.
namespace foreshard::runtime {
namespace {

std::size_t at(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

JobRequest request_of(int pp, int tp, int dp, int m) {
    JobRequest request = foreshard::test::tiny_request(pp, m * dp);
    request.tp = tp;
    request.dp = dp;
    request.gpus = pp * tp * dp;
    return request;
}

/// Plans of every schedule, of every data-parallel scheme, and of several steps.
std::vector<std::pair<std::string, Job>> plans() {
    std::vector<std::pair<std::string, Job>> result;
    for (const ScheduleTraits& traits : schedule_kinds()) {
        for (const int pp : {2, 4}) {
            if (traits.kind == ScheduleKind::none) continue;
            JobRequest request = request_of(pp, 1, 1, 8);
            request.schedule = std::string(traits.id);
            request.vpp = traits.chunks;
            request.num_layers = pp * traits.chunks;
            result.emplace_back(std::string(traits.id) + " on " + std::to_string(pp),
                                foreshard::test::valid_job(request));
        }
    }
    for (const std::string scheme : {"ddp", "zero-1", "zero-1 overlapped", "zero-3", "fsdp2", "hsdp"}) {
        JobRequest request = request_of(scheme == "zero-3" ? 1 : 2, 1, 4, 4);
        if (scheme.starts_with("zero")) request.zero = scheme[5] - '0';
        if (!scheme.starts_with("zero")) request.data_parallel = scheme;
        if (scheme == "hsdp") request.fsdp_shard_size = 2;
        request.overlap_grad_reduce = true;
        request.overlap_param_gather = scheme == "zero-1 overlapped";
        result.emplace_back(scheme, foreshard::test::valid_job(request));
    }
    return result;
}

/// Tasks that are surely done when one is issued: those before it on its queue, those it waits for, and theirs.
class Covered {
public:
    explicit Covered(const IssueList& list) : list_(list), done_(at(list.tasks)) {
        std::map<int, std::int32_t> last;
        for (const Issue& issue : list.issues) {
            std::set<std::int32_t>& mine = done_[at(issue.task - list.first_task)];
            if (const auto before = last.find(issue.queue); before != last.end()) add(mine, before->second);
            for (const std::int32_t wait : issue.waits) add(mine, wait);
            last[issue.queue] = issue.task;
        }
    }
    const std::set<std::int32_t>& before(std::int32_t task) const { return done_[at(task - list_.first_task)]; }

private:
    void add(std::set<std::int32_t>& mine, std::int32_t task) {
        const std::set<std::int32_t>& more = before(task);
        mine.insert(more.begin(), more.end());
        mine.insert(task);
    }

    const IssueList& list_;
    std::vector<std::set<std::int32_t>> done_;
};

void expect_order(const TaskGraph& graph, const std::vector<std::int32_t>& order) {
    ASSERT_EQ(order.size(), graph.tasks.size());
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = i;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(order.size()); ++id) {
        const Task& task = graph.tasks[at(id)];
        const bool first = id == graph.stream_of(id).first;
        EXPECT_TRUE(first || place[at(id - 1)] < place[at(id)]) << task_name(graph, id);
        for (std::uint32_t d = 0; d < task.deps; ++d) {
            EXPECT_LT(place[at(graph.deps[task.first_dep + d])], place[at(id)]) << task_name(graph, id);
        }
        if (task.comm < 0) continue;
        const auto members = graph.members_of(task.comm);
        EXPECT_LT(place[at(id)] - place[at(members.front())], members.size()) << "members stand side by side";
    }
}

void expect_list(const TaskGraph& graph, const IssueList& list) {
    const Covered covered(list);
    std::set<std::int32_t> awaited;
    for (const Issue& issue : list.issues) awaited.insert(issue.waits.begin(), issue.waits.end());
    std::map<int, std::int32_t> last;
    for (const Issue& issue : list.issues) {
        const Task& task = graph.tasks[at(issue.task)];
        const std::set<std::int32_t>& before = covered.before(issue.task);
        for (std::uint32_t d = 0; d < task.deps; ++d) {
            EXPECT_TRUE(before.contains(graph.deps[task.first_dep + d])) << task_name(graph, issue.task);
        }
        EXPECT_EQ(issue.awaited, awaited.contains(issue.task));
        for (const std::int32_t wait : issue.waits) {
            bool known = last.contains(issue.queue) && covered.before(last[issue.queue]).contains(wait);
            for (const std::int32_t other : issue.waits) {
                known = known || (other != wait && covered.before(other).contains(wait));
            }
            EXPECT_FALSE(known) << task_name(graph, issue.task) << " waits for " << task_name(graph, wait)
                                << ", which something else covers";
        }
        last[issue.queue] = issue.task;
    }
}

TEST(IssueOrder, KeepsDependenciesAndHasEveryNeededWaitAndNoOther) {
    for (const auto& [name, job] : plans()) {
        SCOPED_TRACE(name);
        const TaskGraph graph = lower(job, make_schedule(job));
        const std::vector<std::int32_t> order = issue_order(graph);
        expect_order(graph, order);
        std::size_t tasks = 0;
        for (int rank = 0; rank < graph.ranks; ++rank) {
            const IssueList list = issue_list(graph, rank, order);
            expect_list(graph, list);
            tasks += list.issues.size();
        }
        EXPECT_EQ(tasks, graph.tasks.size());
    }
}

/// Writes down what it is told.
class TellingDevice final : public test::EmulatedDevice {
public:
    TellingDevice() : EmulatedDevice(ElementType::fp32) {}
    bool runs_behind() const override { return true; }
    void begin_run(Recording /*recording*/) override { say("begin"); }
    void end_run() override { say("end"); }
    void use_queue(int queue) override { queue_ = queue; }
    void record(int mark) override { say("record " + std::to_string(mark)); }
    void wait(int mark) override { say("wait " + std::to_string(mark)); }
    void stamp(int index) override {
        EmulatedDevice::stamp(index);
        say("stamp " + std::to_string(index));
    }
    void enter(const std::string& name) override { say("enter " + name); }
    void leave() override { say("leave"); }
    void say(const std::string& what) { told.push_back(std::to_string(queue_) + ": " + what); }

    std::vector<std::string> told;

private:
    int queue_ = -1;
};

TEST(Launcher, TellsTheDeviceQueuesMarksAndTimes) {
    const Job job = foreshard::test::valid_job(request_of(2, 1, 1, 1));
    const TaskGraph graph = lower(job, make_schedule(job));
    const IssueList list = issue_list(graph, 0, issue_order(graph));
    WaitingRoom room(std::chrono::seconds(1));
    TellingDevice device;
    const RankSpans spans = launch(graph, list, 0, room, device, [&](std::int32_t task) {
        device.say(task_name(graph, task));
        return std::optional<Met>{};
    });
    EXPECT_EQ(spans.first_task, list.first_task);
    ASSERT_EQ(spans.spans.size(), at(list.tasks));
    for (const TaskSpan& span : spans.spans) EXPECT_LE(span.issued, span.end);

    const std::string told = testing::PrintToString(device.told);
    // Forks from the first queue and joins it again, so that a run can be captured.
    EXPECT_TRUE(device.told[0].ends_with(": begin")) << told;
    EXPECT_EQ(device.told[1], "0: record " + std::to_string(list.tasks)) << told;
    EXPECT_EQ(std::count_if(device.told.begin(), device.told.end(),
                            [&](const std::string& s) { return s.ends_with(": wait " + std::to_string(list.tasks)); }),
              list.queues - 1)
        << told;
    EXPECT_EQ(device.told.back(), "0: end") << told;
    for (int queue = 1; queue < list.queues; ++queue) {
        EXPECT_THAT(device.told, testing::Contains("0: wait " + std::to_string(list.tasks + queue)));
    }
    // A pass on the first queue, and the message that waits for it on another.
    const auto pass = std::find(device.told.begin(), device.told.end(), "0: 0F0");
    ASSERT_LT(device.told.end() - device.told.begin(), 1000);
    ASSERT_NE(pass, device.told.end()) << told;
    EXPECT_EQ(*(pass - 2), "0: enter 0F0");
    EXPECT_TRUE((pass - 1)->starts_with("0: stamp ")) << told;
    EXPECT_TRUE((pass + 1)->starts_with("0: stamp ")) << told;
    EXPECT_EQ(*(pass + 2), "0: leave");
    const std::string mark = *(pass + 3);
    ASSERT_TRUE(mark.starts_with("0: record ")) << told;
    const auto sent = std::find_if(device.told.begin(), device.told.end(),
                                   [](const std::string& s) { return s.ends_with("enter 0SEND_F0"); });
    ASSERT_NE(sent, device.told.end()) << told;
    EXPECT_EQ(*(sent - 1), sent->substr(0, 3) + "wait " + mark.substr(10)) << told;
}

TEST(Launcher, LeavesOutTimesWhenNothingIsRecorded) {
    const Job job = foreshard::test::valid_job(request_of(2, 1, 1, 2));
    const TaskGraph graph = lower(job, make_schedule(job));
    WaitingRoom room(std::chrono::seconds(1));
    TellingDevice device;
    const auto nothing = [](std::int32_t) { return std::optional<Met>{}; };
    const IssueList list = issue_list(graph, 1, issue_order(graph));
    EXPECT_TRUE(launch(graph, list, 1, room, device, nothing, Recording::off).spans.empty());
    EXPECT_THAT(device.told, testing::Not(testing::Contains(testing::HasSubstr("stamp"))));
}

TEST(Launcher, NamesRankAndTaskOfAFailure) {
    const Job job = foreshard::test::valid_job(request_of(2, 1, 1, 2));
    const TaskGraph graph = lower(job, make_schedule(job));
    WaitingRoom room(std::chrono::seconds(1));
    TellingDevice device;
    const Perform perform = [&](std::int32_t task) -> std::optional<Met> {
        if (task_name(graph, task) == "1F1") throw OutOfMemory(8);
        return std::nullopt;
    };
    try {
        launch(graph, issue_list(graph, 1, issue_order(graph)), 1, room, device, perform);
        FAIL();
    } catch (const TransportError& error) {
        EXPECT_EQ(error.rank(), 1);
        EXPECT_STREQ(error.what(), "rank 1 failed in 1F1: out of memory: no room for a tensor of 8 bytes");
    }
}

/// A send is torch's by the stage that gives, a task's by the one that takes.
TEST(Launcher, NamesRangesAsTorchDoes) {
    JobRequest request = request_of(2, 1, 2, 2);
    request.use_distributed_optimizer = true;
    const Job job = foreshard::test::valid_job(request);
    const TaskGraph graph = lower(job, make_schedule(job));
    std::map<Lane, std::set<std::string>> names;
    for (std::int32_t task = 0; task < static_cast<std::int32_t>(graph.tasks.size()); ++task) {
        names[graph.stream_of(task).lane].insert(range_name(graph, task));
    }
    EXPECT_THAT(names[Lane::send_forward], testing::ElementsAre("0SEND_F0", "0SEND_F1"));
    EXPECT_THAT(names[Lane::recv_forward], testing::ElementsAre("1RECV_F0", "1RECV_F1"));
    EXPECT_THAT(names[Lane::send_backward], testing::ElementsAre("1SEND_B0", "1SEND_B1"));
    EXPECT_THAT(names[Lane::recv_backward], testing::ElementsAre("0RECV_B0", "0RECV_B1"));
    EXPECT_THAT(names[Lane::compute], testing::IsSupersetOf({"0F0", "0B1", "1F1", "1B0"}));
}

/// What is done around messages that go together, in order.
TEST(Launcher, GroupsMessages) {
    JobRequest request = request_of(2, 1, 1, 8);
    request.schedule = std::string("1f1b");
    const Job job = foreshard::test::valid_job(request);
    const TaskGraph graph = lower(job, make_schedule(job));
    const std::vector<std::int32_t> order = issue_order(graph);
    IssueList list = issue_list(graph, 0, order);
    group_messages(list, message_groups(graph, order));
    WaitingRoom room(std::chrono::seconds(10));
    room.expect(1);
    const WaitingRoom::Guest guest(room, 0);
    const std::unique_ptr<Device> device = make_cpu_device(ElementType::fp32);
    std::vector<std::string> log;
    int performed = 0;
    const GroupCalls group{[&] { log.emplace_back("begin"); }, [&] { log.emplace_back("end"); },
                           [&](std::int32_t task) { log.push_back("finish " + task_name(graph, task)); }};
    const Perform perform = [&](std::int32_t task) -> std::optional<Met> {
        ++performed;
        if (!log.empty() && log.back() != "end" && !log.back().starts_with("finish"))
            log.push_back(task_name(graph, task));
        return std::nullopt;
    };
    launch(graph, list, 0, room, *device, perform, Recording::off, group);
    EXPECT_EQ(performed, list.tasks);
    ASSERT_EQ(log.size() % 6, 0U);
    ASSERT_GE(log.size(), 6U);
    for (std::size_t i = 0; i < log.size(); i += 6) {
        EXPECT_EQ(log[i], "begin");
        EXPECT_EQ(log[i + 3], "end");
        EXPECT_EQ(log[i + 4], "finish " + log[i + 1]);
        EXPECT_EQ(log[i + 5], "finish " + log[i + 2]);
    }
}

}  // namespace
}  // namespace foreshard::runtime
