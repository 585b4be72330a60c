#pragma once

#include <cstdint>
#include <string>

#include "sim/sim.hpp"
#include "sim/spec/job_request.hpp"

/// Jobs for tests.
namespace foreshard::test {

/// gpt-tiny on pp ranks of one DGX A100 node or more, m micro-batches of one sequence.
JobRequest tiny_request(int pp, int m);

/// A job whose passes take f, i and w picoseconds on every stage and messages `hop`.
Job timed_job(ScheduleKind kind, int p, int m, int v, Picoseconds f, Picoseconds i, Picoseconds w, Picoseconds hop = 0);

/// A valid job drawn from a seed: catalogue model with random depth, degrees, schedule, batch, recompute, overlap.
Job random_job(std::uint64_t seed);

/// A valid job of any schedule and any data-parallel scheme that go together, drawn from a seed.
Job any_plan(std::uint64_t seed);

/// Resolves and checks; fails the calling test (and throws) when a rule is broken.
Job valid_job(const JobRequest& request);

/// Fails the calling test unless resolve() refuses the request, with both texts in its reason.
void expect_refused(const JobRequest& request, const std::string& flag, const std::string& reason);

/// The tables of published figures, or empty when FORESHARD_DATA is not set.
std::string data_folder();

}  // namespace foreshard::test
