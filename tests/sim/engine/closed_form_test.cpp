#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

/// The simulator against closed forms, exactly, through the whole chain: job, schedule, lowering, engine.
/// Sources: GPipe (arXiv 1811.06965), PipeDream-flush / Megatron (arXiv 2104.04473 section 2.2).
namespace foreshard {
namespace {

struct Shape {
    int p;
    int m;
    int v;
};

std::vector<Shape> shapes(std::vector<int> ps, std::vector<int> vs, bool whole_groups) {
    std::vector<Shape> all;
    for (const int p : ps) {
        for (const int v : vs) {
            for (const int m : {1, 2, 3, p - 1, p, p + 1, 2 * p - 1, 2 * p, 3 * p, 4 * p, 37}) {
                if (m < 1 || (whole_groups && m % p != 0)) continue;
                all.push_back({p, m, v});
            }
        }
    }
    return all;
}

struct Times {
    Picoseconds f;
    Picoseconds i;
    Picoseconds w;
    Picoseconds b() const { return i + w; }
};

const std::vector<Times>& times() {
    static const std::vector<Times> all = {{1, 1, 1}, {2, 3, 1}, {7, 5, 11}, {1000, 1500, 501}, {13, 1, 0}};
    return all;
}

Picoseconds step(ScheduleKind kind, const Shape& s, const Times& t, Picoseconds hop = 0) {
    const Job job = test::timed_job(kind, s.p, s.m, s.v, t.f, t.i, t.w, hop);
    return evaluate(job).timeline.step_time();
}

TEST(ClosedForm, GPipe) {
    for (const Shape& s : shapes({2, 3, 4, 6, 8, 16}, {1}, false)) {
        for (const Times& t : times()) {
            ASSERT_EQ(step(ScheduleKind::gpipe, s, t), (s.m + s.p - 1) * (t.f + t.b())) << s.p << " " << s.m;
            // A message pays its latency once per hop of the first and the last micro-batch.
            const Picoseconds hop = 3;
            ASSERT_EQ(step(ScheduleKind::gpipe, s, t, hop), (s.m + s.p - 1) * (t.f + t.b()) + 2 * (s.p - 1) * hop);
        }
    }
}

TEST(ClosedForm, OneForwardOneBackward) {
    for (const Shape& s : shapes({2, 3, 4, 5, 6, 7, 8, 12, 16, 24}, {1}, false)) {
        for (const Times& t : times()) {
            ASSERT_EQ(step(ScheduleKind::one_f_one_b, s, t), (s.m + s.p - 1) * (t.f + t.b())) << s.p << " " << s.m;
        }
    }
}

TEST(ClosedForm, Interleaved) {
    for (const Shape& s : shapes({2, 3, 4, 6, 8, 12, 16}, {2, 3, 4, 5, 6}, true)) {
        for (const Times& t : times()) {
            ASSERT_EQ(step(ScheduleKind::interleaved, s, t), s.m * s.v * (t.f + t.b()) + (s.p - 1) * (t.f + t.b()))
                << s.p << " " << s.m << " " << s.v;
        }
    }
}

TEST(ClosedForm, Naive) {
    for (const Shape& s : shapes({2, 3, 4, 8}, {1}, false)) {
        for (const Times& t : times()) {
            ASSERT_EQ(step(ScheduleKind::naive, s, t), static_cast<Picoseconds>(s.p) * s.m * (t.f + t.b()));
        }
    }
}

/// The tests above evaluate at least 2,000 shapes (p, m, v, times).
TEST(ClosedForm, GridIsLargeEnough) {
    const std::size_t count = 2 * shapes({2, 3, 4, 6, 8, 16}, {1}, false).size() +
                              shapes({2, 3, 4, 5, 6, 7, 8, 12, 16, 24}, {1}, false).size() +
                              shapes({2, 3, 4, 6, 8, 12, 16}, {2, 3, 4, 5, 6}, true).size() +
                              shapes({2, 3, 4, 8}, {1}, false).size();
    EXPECT_GE(count * times().size(), 2000U);
}

TEST(ClosedForm, BubbleRatiosAreTheLiteraturesOnes) {
    const int p = 4;
    const int m = 12;
    const Evaluation e = evaluate(test::timed_job(ScheduleKind::one_f_one_b, p, m, 1, 100, 100, 100));
    EXPECT_DOUBLE_EQ(e.report.summary.bubble_ratio, 3.0 / 15.0);             // (p-1) / (m+p-1)
    EXPECT_DOUBLE_EQ(e.report.summary.bubble_over_ideal_ratio, 3.0 / 12.0);  // (p-1) / m
    EXPECT_DOUBLE_EQ(e.report.summary.bubble_span_ratio, 3.0 / 15.0);        // rank 0 spans the whole step
}

/// Peak of live saved tensors, in micro-batches of a chunk, counted from the memory profile.
std::vector<int> peaks_in_flight(const Evaluation& e) {
    std::vector<int> peaks;
    for (const Stream& stream : e.graph.streams) {
        if (stream.lane != Lane::compute) continue;
        int live = 0;
        int peak = 0;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const Pass pass = e.graph.tasks[static_cast<std::size_t>(id)].pass;
            live += pass == Pass::forward ? 1 : -1;
            peak = std::max(peak, live);
        }
        peaks.push_back(peak);
    }
    return peaks;
}

TEST(ClosedForm, PeakInFlight) {
    for (const Shape& s : shapes({2, 4, 8}, {1}, false)) {
        const auto gpipe = peaks_in_flight(evaluate(test::timed_job(ScheduleKind::gpipe, s.p, s.m, 1, 1, 1, 1)));
        const auto flush = peaks_in_flight(evaluate(test::timed_job(ScheduleKind::one_f_one_b, s.p, s.m, 1, 1, 1, 1)));
        for (int r = 0; r < s.p; ++r) {
            ASSERT_EQ(gpipe[static_cast<std::size_t>(r)], s.m);
            ASSERT_EQ(flush[static_cast<std::size_t>(r)], std::min(s.m, s.p - r));
        }
    }
    for (const Shape& s : shapes({2, 4, 8}, {2, 3}, true)) {
        const auto peaks =
            peaks_in_flight(evaluate(test::timed_job(ScheduleKind::interleaved, s.p, s.m, s.v, 1, 1, 1)));
        for (int r = 0; r < s.p; ++r) {
            ASSERT_EQ(peaks[static_cast<std::size_t>(r)], std::min(s.m * s.v, 2 * (s.p - r - 1) + (s.v - 1) * s.p + 1));
        }
    }
}

}  // namespace
}  // namespace foreshard
