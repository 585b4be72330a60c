#include "tests/support/jobs.hpp"

#include <array>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard::test {

namespace {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    int between(int low, int high) { return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1)); }
    bool coin() { return between(0, 1) == 1; }
    template <class T, std::size_t N>
    T pick(const std::array<T, N>& values) {
        return values[static_cast<std::size_t>(between(0, static_cast<int>(N) - 1))];
    }

private:
    std::mt19937_64 engine_;
};

void roll_pipeline(Dice& dice, JobRequest& request) {
    request.pp = dice.pick(std::array<int, 4>{1, 2, 4, 8});
    const int groups = dice.between(1, 4);
    int chunks = 1;
    if (*request.pp == 1) {
        request.schedule = "none";
    } else {
        request.schedule = dice.pick(std::array<std::string, 4>{"naive", "gpipe", "1f1b", "interleaved-1f1b"});
        if (*request.schedule == "interleaved-1f1b") chunks = dice.between(2, 3);
    }
    request.vpp = chunks;
    request.num_layers = *request.pp * chunks * dice.between(1, 2);
    request.overlap_p2p = *request.pp == 2 || dice.coin();
    const bool any_count = chunks == 1;
    request.gbs = *request.dp * *request.mbs * (any_count ? dice.between(1, 12) : groups * *request.pp);
}

}  // namespace

JobRequest tiny_request(int pp, int m) {
    JobRequest request;
    request.model = "gpt-tiny";
    request.cluster = "dgx-a100-80g";
    request.software = "megatron-core-te";
    request.gpus = pp;
    request.pp = pp;
    request.mbs = 1;
    request.gbs = m;
    return request;
}

Job valid_job(const JobRequest& request) {
    Job job = resolve(request);
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) throw std::logic_error("test job is not valid: " + broken.front().rule);
    return job;
}

Job timed_job(ScheduleKind kind, int p, int m, int v, Picoseconds f, Picoseconds i, Picoseconds w, Picoseconds hop) {
    JobRequest request = tiny_request(p, m);
    request.vpp = v;
    request.overlap_p2p = true;
    request.schedule = std::string(to_string(kind));
    StageTimes times;
    const bool two_ways = default_placement(kind) == Placement::bidirectional;
    times.stages.assign(static_cast<std::size_t>(two_ways ? p : p * v), {f, i, w});
    times.hop = hop;
    request.stage_times = times;
    return valid_job(request);
}

Job random_job(std::uint64_t seed) {
    Dice dice(seed);
    JobRequest request;
    request.model = dice.pick(std::array<std::string, 4>{"gpt-tiny", "llama-tiny", "gpt3-6.7b", "llama3-8b"});
    request.cluster = dice.pick(std::array<std::string, 3>{"dgx-a100-80g", "dgx-h100", "dgx-b200"});
    request.software =
        dice.pick(std::array<std::string, 4>{"megatron-2021", "megatron-2022", "megatron-core-te", "nemo-te"});
    request.precision = "bf16";
    request.tp = dice.pick(std::array<int, 2>{1, 2});
    request.sp = *request.tp > 1 && dice.coin();
    request.dp = dice.pick(std::array<int, 3>{1, 2, 4});
    request.mbs = dice.between(1, 2);
    roll_pipeline(dice, request);
    request.recompute = dice.pick(std::array<std::string, 3>{"none", "selective", "full"});
    request.use_distributed_optimizer = dice.coin();
    request.overlap_grad_reduce = dice.coin();
    request.overlap_param_gather = *request.use_distributed_optimizer && *request.overlap_grad_reduce && dice.coin();
    return valid_job(request);
}

Job any_plan(std::uint64_t seed) {
    Dice dice(seed);
    constexpr std::array<const char*, 10> schemes = {"ddp",   "ddp",  "horovod",   "mirrored",         "fsdp1",
                                                     "fsdp2", "hsdp", "local-sgd", "parameter-server", "async-sgd"};
    while (true) {
        JobRequest request;
        request.model = dice.coin() ? "gpt3-6.7b" : "llama3-8b";
        request.cluster = dice.coin() ? "dgx-a100-80g" : "dgx-h100";
        request.software = dice.pick(std::array<std::string, 3>{"megatron-core-te", "torchtitan", "deepspeed"});
        const ScheduleTraits& traits =
            schedule_kinds()[static_cast<std::size_t>(dice.between(0, static_cast<int>(schedule_kinds().size()) - 1))];
        request.schedule = std::string(traits.id);
        request.pp = traits.kind == ScheduleKind::none ? 1 : dice.pick(std::array<int, 2>{2, 4});
        request.vpp = *request.pp == 1 ? 1 : traits.chunks;
        request.num_layers = *request.pp * *request.vpp;
        request.dp = dice.pick(std::array<int, 3>{1, 2, 4});
        request.tp = dice.pick(std::array<int, 2>{1, 2});
        request.gbs = *request.dp * dice.pick(std::array<int, 3>{4, 8, 16});
        request.data_parallel = schemes[static_cast<std::size_t>(dice.between(0, 9))];
        if (*request.data_parallel == "ddp") request.zero = dice.between(0, 3);
        request.overlap_p2p = dice.coin();
        request.recompute = dice.pick(std::array<std::string, 3>{"none", "selective", "full"});
        try {
            const Job job = resolve(request);
            if (check(job).empty()) return job;
        } catch (const InputError&) {
            continue;  // options that do not go together
        }
    }
}

std::string data_folder() {
    const char* folder = std::getenv("FORESHARD_DATA");
    return folder != nullptr ? folder : "";
}

void expect_refused(const JobRequest& request, const std::string& flag, const std::string& reason) {
    try {
        resolve(request);
        ADD_FAILURE() << flag << " was accepted";
    } catch (const InputError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find(flag), std::string::npos) << what;
        EXPECT_NE(what.find(reason), std::string::npos) << what;
    }
}

}  // namespace foreshard::test
