#include "sim/cost/tp_overlap.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "sim/plan/op_builders.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

/// Plays the exchange: tile i is there after i exchanges, tiles run one after the other.
double played(double tile, double collective, int tiles) {
    double end = 0.0;
    for (int i = 0; i < tiles; ++i) end = std::max(end, i * collective / (tiles - 1)) + tile;
    return end;
}

TEST(TpOverlap, TiledTimeIsThatOfThePlayedExchange) {
    for (const int tiles : {2, 4, 8}) {
        for (const double tile : {1.0, 3.0, 10.0}) {
            for (const double collective : {0.0, 1.0, 7.0, 20.0, 100.0}) {
                EXPECT_NEAR(tiled_time(Seconds(tile), Seconds(collective), tiles).value,
                            played(tile, collective, tiles), 1e-9);
            }
        }
    }
}

TEST(TpOverlap, ATileIsAGemmOfFewerRows) {
    const Op whole = gemm("g", 4096, 1024, 2048, 2);
    const Op tile = row_tiles(whole, 1, 4);
    const Op expected = gemm("g", 1024, 1024, 2048, 2);
    EXPECT_EQ(tile.m, 1024);
    EXPECT_EQ(tile.flops, expected.flops);
    EXPECT_EQ(tile.read, expected.read);
    EXPECT_EQ(tile.written, expected.written);
}

TEST(TpOverlap, CollectivesFindTheGemmThatUsesOrMakesTheirData) {
    const Op norm = memory("norm", 1.0, 1.0);
    const Op product = gemm("g", 8, 8, 8, 2);
    const Op gather = collective("ag", CollectiveKind::all_gather, Axis::tp, 8.0);
    const Op scatter = collective("rs", CollectiveKind::reduce_scatter, Axis::tp, 8.0);
    const Op reduce = collective("ar", CollectiveKind::all_reduce, Axis::tp, 8.0);
    Op regather = gather;
    regather.exposed_share = 0.1;
    const std::vector<Op> ops = {norm, gather, product, norm, product, regather, scatter, reduce, gather};
    EXPECT_EQ(overlapped_gemm(ops, 1), 2);
    EXPECT_EQ(overlapped_gemm(ops, 5), -1) << "mostly hidden already";
    EXPECT_EQ(overlapped_gemm(ops, 6), 4);
    EXPECT_EQ(overlapped_gemm(ops, 7), -1) << "all-reduces do not overlap";
    EXPECT_EQ(overlapped_gemm(ops, 8), -1);
}

TEST(TpOverlap, HidesMostOfTheTensorParallelTimeOfALargeLayer) {
    JobRequest request;
    request.model = "gpt3-175b";
    request.cluster = "dgx-h100";
    request.software = "megatron-2022";
    request.num_layers = 4;
    request.tp = 8;
    request.sp = true;
    request.gbs = 4;
    const Evaluation exposed = evaluate(test::valid_job(request));
    request.tp_comm_overlap = true;
    const Evaluation hidden = evaluate(test::valid_job(request));
    EXPECT_LT(hidden.report.summary.exposed_tp_ms, 0.6 * exposed.report.summary.exposed_tp_ms);
    EXPECT_GT(hidden.report.summary.exposed_tp_ms, 0.0) << "a tile of each remains";
    EXPECT_LT(hidden.timeline.step_time(), exposed.timeline.step_time());
}

TEST(TpOverlap, NeedsSequenceParallelism) {
    JobRequest request = test::tiny_request(1, 1);
    request.tp = 2;
    request.gpus = 2;
    request.tp_comm_overlap = true;
    ASSERT_EQ(check(resolve(request)).size(), 1U);
    request.sp = true;
    EXPECT_TRUE(check(resolve(request)).empty());
}

}  // namespace
}  // namespace foreshard
