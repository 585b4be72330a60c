#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/traces/trace_jobs.hpp"
#include "tests/traces/trace_reader.hpp"
#include "traces/chrome_trace.hpp"

namespace foreshard {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Plan {
    const char* name;
    JobRequest (*request)();

    friend void PrintTo(const Plan& plan, std::ostream* out) { *out << plan.name; }
};

class ChromeTraceOfPlan : public testing::TestWithParam<Plan> {
protected:
    const Evaluation evaluation = evaluate_request(GetParam().request());
    const Trace trace{evaluation};
    const TaskGraph& graph = evaluation.graph;
    const Timeline& timeline = evaluation.timeline;

    Picoseconds start(std::size_t task) const { return timeline.start[task]; }
    Picoseconds end(std::size_t task) const { return timeline.end[task]; }
};

TEST_P(ChromeTraceOfPlan, HasNoOverlapInsideALane) {
    for (const auto& [lane, spans] : trace.lanes()) {
        for (std::size_t i = 1; i < spans.size(); ++i) {
            EXPECT_LE(spans[i - 1].end, spans[i].start)
                << "pid " << lane.first << " tid " << lane.second << ": " << spans[i - 1].event << spans[i].event;
        }
    }
}

/// Rank, start, end, step, action or name.
using TaskKey = std::tuple<int, Picoseconds, Picoseconds, int, std::string>;

TEST_P(ChromeTraceOfPlan, HasEveryTaskOnce) {
    std::multiset<TaskKey> expected;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        const Task& task = graph.tasks[i];
        const auto id = static_cast<std::int32_t>(i);
        if (task.kind == TaskKind::step_end && start(i) == end(i)) continue;
        const std::string key = task.microbatch < 0 ? task_name(graph, id)
                                                    : to_string(Action{task.stage, task.microbatch, task.pass, false});
        expected.insert({graph.rank_of(id), start(i), end(i), task.step, key});
    }
    std::multiset<TaskKey> found;
    for (const Span& span : trace.spans) {
        if (is_inside_a_pass(span)) continue;
        const json& args = span.event["args"];
        found.insert({span.pid, span.start, span.end, args["step"].get<int>(),
                      args.contains("key") ? args["key"].get<std::string>() : span.event["name"].get<std::string>()});
    }
    EXPECT_EQ(found, expected);
}

TEST_P(ChromeTraceOfPlan, KeepsTheStreamsOfARankApart) {
    // Sends and receives of one peer have equal spans: only their lanes tell them apart.
    std::map<std::pair<int, int>, std::string> names;
    for (const json& event : trace.events("M")) {
        if (event["name"] != "thread_name") continue;
        const std::pair<int, int> lane(event["pid"], event["tid"]);
        EXPECT_TRUE(names.emplace(lane, event["args"]["name"].get<std::string>()).second) << event;
    }
    std::map<std::pair<int, std::string>, std::size_t> tasks;
    for (const Span& span : trace.spans) {
        if (is_inside_a_pass(span)) {
            EXPECT_EQ(span.tid, 1);
            continue;
        }
        const std::pair<int, int> lane(span.pid, span.tid);
        ASSERT_TRUE(names.count(lane)) << span.event;
        ++tasks[{span.pid, names[lane].substr(0, names[lane].find(" ("))}];
    }
    for (const Stream& stream : graph.streams) {
        std::string name(to_string(stream.lane));
        const bool sends = stream.lane == Lane::send_forward || stream.lane == Lane::send_backward;
        if (stream.peer >= 0) name += (sends ? " to " : " from ") + std::to_string(stream.peer);
        std::size_t expected = 0;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const auto i = static_cast<std::size_t>(id);
            if (graph.tasks[i].kind != TaskKind::step_end || start(i) < end(i)) ++expected;
        }
        const std::size_t found = tasks[{stream.rank, name}];
        EXPECT_EQ(found, expected) << "rank " << stream.rank << " " << name;
    }
}

TEST_P(ChromeTraceOfPlan, SpendsOnComputeLanesWhatTheWorksTake) {
    std::vector<Picoseconds> expected(static_cast<std::size_t>(graph.ranks), 0);
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        if (graph.tasks[i].work < 0) continue;
        const auto work = static_cast<std::size_t>(graph.tasks[i].work);
        expected[static_cast<std::size_t>(graph.rank_of(static_cast<std::int32_t>(i)))] +=
            evaluation.durations.works[work].total();
    }
    std::vector<Picoseconds> found(expected.size(), 0);
    for (const Span& span : trace.spans) {
        if (span.tid == 0) found[static_cast<std::size_t>(span.pid)] += span.end - span.start;
    }
    EXPECT_EQ(found, expected);
}

TEST_P(ChromeTraceOfPlan, SaysWhatAPassIsMadeOf) {
    for (const Span& span : trace.spans) {
        if (span.tid != 0) continue;
        Picoseconds sum = 0;
        for (const auto& [key, value] : span.event["args"].items()) {
            if (key.ends_with("_ms")) sum += value.get<Picoseconds>();
        }
        EXPECT_EQ(sum, span.end - span.start) << span.event;
    }
}

TEST_P(ChromeTraceOfPlan, DrawsCollectivesInsideTheirPass) {
    auto lanes = trace.lanes();
    for (const Span& span : trace.spans) {
        if (!is_inside_a_pass(span)) continue;
        const std::vector<Span>& passes = lanes[{span.pid, 0}];
        const auto holds = [&](const Span& pass) { return pass.start <= span.start && span.end <= pass.end; };
        const auto pass = std::find_if(passes.begin(), passes.end(), holds);
        ASSERT_NE(pass, passes.end()) << span.event;
        EXPECT_EQ(span.event["args"]["key"], pass->event["args"]["key"]);
        const std::string key = span.event["cat"].get<std::string>() + "_ms";
        EXPECT_EQ(span.end - span.start, pass->event["args"][key].get<Picoseconds>());
    }
}

/// The span of the compute lane around a moment of an arrow; null when there is none.
std::unique_ptr<Span> pass_around(const std::map<std::pair<int, int>, std::vector<Span>>& lanes, const json& arrow) {
    const auto ts = arrow["ts"].get<Picoseconds>();
    const auto lane = lanes.find({arrow["pid"], arrow["tid"]});
    if (lane == lanes.end()) return nullptr;
    for (const Span& span : lane->second) {
        if (span.start <= ts && ts < span.end) return std::make_unique<Span>(span);
    }
    return nullptr;
}

TEST_P(ChromeTraceOfPlan, DrawsAnArrowPerMessageBetweenItsPasses) {
    const auto lanes = trace.lanes();
    std::map<std::int64_t, json> ends;
    for (const json& end : trace.events("f")) {
        EXPECT_EQ(end["bp"], "e");
        EXPECT_TRUE(ends.insert({end["id"].get<std::int64_t>(), end}).second) << end;
    }
    for (const json& begin : trace.events("s")) {
        const auto found = ends.find(begin["id"].get<std::int64_t>());
        ASSERT_NE(found, ends.end()) << begin;
        const json end = found->second;
        ends.erase(found);
        EXPECT_EQ(begin["name"], end["name"]);
        EXPECT_EQ(begin["cat"], end["cat"]);
        EXPECT_LE(begin["ts"].get<Picoseconds>(), end["ts"].get<Picoseconds>());
        const auto producer = pass_around(lanes, begin);
        const auto consumer = pass_around(lanes, end);
        ASSERT_TRUE(producer != nullptr && consumer != nullptr) << begin << end;
        const json& made = producer->event["args"];
        const json& used = consumer->event["args"];
        EXPECT_EQ(made["microbatch"], used["microbatch"]);
        EXPECT_EQ(made["step"], used["step"]);
        const int direction = begin["name"] == "activation" ? 1 : -1;
        EXPECT_EQ(used["stage"].get<int>() - made["stage"].get<int>(), direction);
    }
    EXPECT_THAT(ends, IsEmpty());
}

TEST_P(ChromeTraceOfPlan, DrawsAllArrowsWhenPassesTakeTime) {
    std::size_t sends = 0;
    Picoseconds shortest = timeline.makespan;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        if (graph.tasks[i].kind == TaskKind::send) ++sends;
        if (graph.tasks[i].kind == TaskKind::pass) shortest = std::min(shortest, end(i) - start(i));
    }
    EXPECT_THAT(trace.events("s"), SizeIs(shortest > 0 ? sends : 0));
}

TEST_P(ChromeTraceOfPlan, CountsMemoryFromZeroSavedTensorsToZero) {
    std::map<std::pair<int, std::string>, std::vector<json>> counters;
    for (const json& event : trace.events("C")) {
        ASSERT_THAT(event["args"], SizeIs(1));
        counters[{event["pid"], event["name"]}].push_back(event);
    }
    const auto bytes = [](const json& event) { return event["args"]["bytes"].get<ByteCount>(); };
    for (const RankReport& rank : evaluation.report.ranks) {
        const std::vector<json>& saved = counters[{rank.pp_rank, "activations_bytes"}];
        const std::vector<json>& buffers = counters[{rank.pp_rank, "buffers_bytes"}];
        const std::vector<json>& allocated = counters[{rank.pp_rank, "allocated_bytes"}];
        ASSERT_FALSE(saved.empty() || buffers.empty() || allocated.empty());
        EXPECT_EQ(bytes(saved.front()), 0);
        EXPECT_EQ(bytes(saved.back()), 0);
        EXPECT_EQ(bytes(buffers.front()), bytes(buffers.back()));
        EXPECT_EQ(bytes(allocated.front()), rank.memory.states.total() + bytes(buffers.front()));
        EXPECT_EQ(bytes(allocated.back()), bytes(allocated.front()));
        ByteCount peak = 0;
        for (const json& event : allocated) peak = std::max(peak, bytes(event));
        EXPECT_EQ(peak, rank.memory.peak);
    }
    for (const auto& [counter, events] : counters) {
        for (std::size_t i = 1; i < events.size(); ++i) {
            EXPECT_LE(events[i - 1]["ts"].get<Picoseconds>(), events[i]["ts"].get<Picoseconds>())
                << counter.second << " of rank " << counter.first;
        }
    }
}

TEST_P(ChromeTraceOfPlan, IsTheSameBytesEachTime) {
    EXPECT_EQ(trace.text, Trace(evaluate_request(GetParam().request())).text);
}

TEST_P(ChromeTraceOfPlan, SaysWhereItComesFrom) {
    const json& data = trace.root["otherData"];
    EXPECT_EQ(data["tool"], "foreshard");
    EXPECT_EQ(data["tool_version"], version());
    EXPECT_EQ(data["model"], evaluation.job.model.id);
    EXPECT_EQ(data["cluster"], evaluation.job.cluster.id);
    EXPECT_EQ(data["step_time_ms"].get<double>(), evaluation.report.summary.step_time_ms);
    EXPECT_THAT(data["plan"], HasSubstr("pp " + std::to_string(graph.ranks)));
    EXPECT_EQ(data["assumptions"].get<std::vector<std::string>>(), evaluation.report.assumptions);
    EXPECT_EQ(trace.root["displayTimeUnit"], "ms");
    EXPECT_THAT(trace.warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Plans, ChromeTraceOfPlan,
    testing::Values(Plan{"OneRank", one_rank}, Plan{"OneFOneB", one_f_one_b}, Plan{"Interleaved", interleaved},
                    Plan{"TensorParallel", tensor_parallel}, Plan{"OverlappedDataParallel", overlapped_data_parallel},
                    Plan{"DistributedOptimizer", distributed_optimizer}, Plan{"StepsThatOverlap", steps_that_overlap},
                    Plan{"FusedPasses", fused_passes}, Plan{"BlockingMessages", blocking_messages},
                    Plan{"LongHop", long_hop}, Plan{"NoHop", no_hop}, Plan{"NoTimeAtAll", no_time_at_all}),
    [](const auto& plan) { return std::string(plan.param.name); });

}  // namespace
}  // namespace foreshard
