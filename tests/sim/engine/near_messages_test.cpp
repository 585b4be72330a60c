#include "sim/engine/near_messages.hpp"

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

/// Messages that come with the end of a pass.
namespace foreshard {
namespace {

/// Peaks of two pipeline ranks under 1F1B, the passes of the last stage so many times as long as those of the first.
std::vector<ByteCount> pipeline_peaks(double longer, double near) {
    JobRequest request = test::tiny_request(2, 6);
    request.software = "foreshard";
    Job job = test::valid_job(request);
    const auto time = static_cast<Picoseconds>(1e6 * longer);
    job.stage_times = StageTimes{{{1000'000, 1000'000, 1000'000}, {time, time, time}}, 1000};
    const Evaluation e = evaluate(job);
    BufferPlan buffers = plan_buffers(e.job, e.graph);
    if (near > 0.0) count_near_messages(e.graph, e.timeline, near, buffers);
    std::vector<ByteCount> peaks;
    for (const RankMemory& memory : memory_profiles(e.graph, buffers, e.timeline, 0)) peaks.push_back(memory.peak);
    return peaks;
}

/// Passes of equal stages end together, and a message comes before or behind the end of the receiver's pass by a hair.
/// The run holds it in both; so must a prediction that cannot tell which it is.
TEST(NearMessages, DoNotDependOnWhichOfTwoEqualPassesEndsFirst) {
    const std::vector<ByteCount> earlier = pipeline_peaks(0.99, 0.0);
    const std::vector<ByteCount> later = pipeline_peaks(1.01, 0.0);
    EXPECT_NE(earlier, later) << "or this test shows nothing";
    for (const double longer : {0.99, 1.0, 1.01}) {
        const std::vector<ByteCount> peaks = pipeline_peaks(longer, near_message_ratio);
        for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
            EXPECT_EQ(peaks[rank], std::max(earlier[rank], later[rank])) << rank << ": " << longer;
        }
    }
    EXPECT_EQ(pipeline_peaks(2.0, near_message_ratio), pipeline_peaks(2.0, 0.0)) << "far apart, nothing changes";
}

/// The project's own profile counts its buffers one by one; others have fitted working sets.
TEST(NearMessages, CountForBuffersThatAreCountedOneByOne) {
    for (const char* software : {"foreshard", "megatron-2022"}) {
        JobRequest request = test::tiny_request(2, 6);
        request.software = software;
        const Evaluation e = evaluate(test::valid_job(request));
        const std::vector<Holding> plain = plan_buffers(e.job, e.graph).holdings;
        ASSERT_EQ(e.buffers.holdings.size(), plain.size());
        int moved = 0;
        for (std::size_t i = 0; i < plain.size(); ++i) moved += e.buffers.holdings[i].from != plain[i].from ? 1 : 0;
        EXPECT_EQ(moved > 0, e.job.software.structure.counts_buffers) << software;
    }
}

}  // namespace
}  // namespace foreshard
