#include "tests/runtime/check_grid.hpp"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>

#include "runtime/supported.hpp"
#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::runtime {

namespace {

constexpr std::array<const char*, 3> models = {"gpt-tiny", "llama-tiny", "bert-tiny"};
constexpr std::array<int, 4> dp_degrees = {1, 2, 4, 8};
constexpr std::array<int, 3> tp_degrees = {1, 2, 4};
constexpr std::array<int, 3> pp_degrees = {1, 2, 4};
constexpr std::array<const char*, 7> schemes = {"ddp",    "zero-1", "zero-1 overlapped",  "zero-1 in groups of 2",
                                                "zero-3", "fsdp2",  "hsdp in groups of 2"};
constexpr std::array<const char*, 3> recomputes = {"none", "selective", "full"};

const std::vector<const ScheduleTraits*>& flushing() {
    static const std::vector<const ScheduleTraits*> all = [] {
        std::vector<const ScheduleTraits*> list;
        for (const ScheduleTraits& traits : schedule_kinds()) {
            if (!traits.asynchronous) list.push_back(&traits);
        }
        return list;
    }();
    return all;
}

/// Read once: a file a point would take longer than a plan's training.
struct Specs {
    std::vector<LoadedModel> models;
    ClusterSpec cluster;
    SoftwareProfile software;
};

const Specs& specs() {
    static const Specs all = [] {
        Specs loaded{{}, load_cluster("dgx-a100-80g"), load_software("foreshard")};
        for (const char* model : models) loaded.models.push_back(load_model(model));
        return loaded;
    }();
    return all;
}

std::array<int, grid_axes> values_of(const GridPoint& p) {
    return {p.model, p.dp, p.tp, p.pp, p.schedule, p.scheme, p.recompute, p.sequence_parallel, p.overlap};
}

std::array<int, grid_axes> sizes() {
    return {static_cast<int>(models.size()),
            static_cast<int>(dp_degrees.size()),
            static_cast<int>(tp_degrees.size()),
            static_cast<int>(pp_degrees.size()),
            static_cast<int>(flushing().size()),
            static_cast<int>(schemes.size()),
            static_cast<int>(recomputes.size()),
            2,
            2};
}

GridPoint point_of(const std::array<int, grid_axes>& v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]};
}

void set_scheme(const std::string& scheme, JobRequest& request) {
    if (scheme.starts_with("zero")) request.zero = scheme[5] - '0';
    if (scheme.ends_with("overlapped")) request.overlap_param_gather = true;
    if (scheme == "zero-1 in groups of 2") request.zero_shard_size = 2;
    if (scheme == "fsdp2") request.data_parallel = "fsdp2";
    if (!scheme.starts_with("hsdp")) return;
    request.data_parallel = "hsdp";
    request.fsdp_shard_size = 2;
}

JobRequest request_of(const GridPoint& p) {
    const ScheduleTraits& traits = *flushing()[static_cast<std::size_t>(p.schedule)];
    JobRequest request;
    request.model = specs().models[static_cast<std::size_t>(p.model)];
    request.cluster = specs().cluster;
    request.software = specs().software;
    request.precision = "fp32";
    request.dp = dp_degrees[static_cast<std::size_t>(p.dp)];
    request.tp = tp_degrees[static_cast<std::size_t>(p.tp)];
    request.pp = pp_degrees[static_cast<std::size_t>(p.pp)];
    request.gpus = *request.dp * *request.tp * *request.pp;
    request.schedule = std::string(traits.id);
    request.vpp = *request.pp > 1 ? traits.chunks : 1;
    request.num_layers = *request.pp * *request.vpp;
    request.mbs = 1;
    request.gbs = *request.dp * (*request.pp > 1 ? 2 * *request.pp : 2);
    request.seq_length = 16;
    request.recompute = std::string(recomputes[static_cast<std::size_t>(p.recompute)]);
    request.sp = p.sequence_parallel == 1;
    if (p.overlap == 1) {
        request.overlap_grad_reduce = true;
        request.bucket_mb = 0.02;
    }
    set_scheme(schemes[static_cast<std::size_t>(p.scheme)], request);
    return request;
}

/// Values that stand for the same job as others are left out: they would be counted twice.
bool redundant(const GridPoint& p) {
    const bool one_replica = dp_degrees[static_cast<std::size_t>(p.dp)] == 1;
    const bool one_stage = pp_degrees[static_cast<std::size_t>(p.pp)] == 1;
    const bool no_schedule = flushing()[static_cast<std::size_t>(p.schedule)]->kind == ScheduleKind::none;
    return (one_replica && (p.scheme > 0 || p.overlap > 0)) || one_stage != no_schedule ||
           (p.sequence_parallel > 0 && p.tp == 0);
}

constexpr int most_ranks = 8;

int ranks_of(const GridPoint& p) {
    return dp_degrees[static_cast<std::size_t>(p.dp)] * tp_degrees[static_cast<std::size_t>(p.tp)] *
           pp_degrees[static_cast<std::size_t>(p.pp)];
}

constexpr int most_values = 32;  ///< of an axis

/// Every pair of axes with the point's values on them, as one number below pair_count.
std::vector<int> pairs_of(const GridPoint& point) {
    const std::array<int, grid_axes> values = values_of(point);
    std::vector<int> pairs;
    for (int a = 0; a < grid_axes; ++a) {
        for (int b = a + 1; b < grid_axes; ++b) {
            pairs.push_back(((a * grid_axes + b) * most_values + values[static_cast<std::size_t>(a)]) * most_values +
                            values[static_cast<std::size_t>(b)]);
        }
    }
    return pairs;
}
constexpr int pair_count = grid_axes * grid_axes * most_values * most_values;

std::vector<GridPoint> draw_points(int draws, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::vector<GridPoint> points;
    for (int i = 0; i < draws; ++i) {
        std::array<int, grid_axes> values{};
        const std::array<int, grid_axes> limits = sizes();
        for (std::size_t a = 0; a < values.size(); ++a) {
            values[a] = static_cast<int>(engine() % static_cast<unsigned>(limits[a]));
        }
        const GridPoint point = point_of(values);
        if (job_of(point)) points.push_back(point);
    }
    return points;
}

}  // namespace

std::string to_string(const GridPoint& p) {
    return fmt::format("{}, dp {}, tp {}, pp {}, {}, {}, recompute {}{}{}", models[static_cast<std::size_t>(p.model)],
                       dp_degrees[static_cast<std::size_t>(p.dp)], tp_degrees[static_cast<std::size_t>(p.tp)],
                       pp_degrees[static_cast<std::size_t>(p.pp)], flushing()[static_cast<std::size_t>(p.schedule)]->id,
                       schemes[static_cast<std::size_t>(p.scheme)], recomputes[static_cast<std::size_t>(p.recompute)],
                       p.sequence_parallel == 1 ? ", sequence parallel" : "", p.overlap == 1 ? ", overlapped" : "");
}

GridJob grid_job(const GridPoint& point) {
    if (redundant(point) || ranks_of(point) > most_ranks) return {std::nullopt, "stands for another point"};
    try {
        Job job = resolve(request_of(point));
        if (const auto broken = check(job); !broken.empty()) {
            return {std::nullopt, "no plan: " + broken.front().fields};
        }
        if (const auto broken = unsupported(job); !broken.empty()) {
            return {std::nullopt, "not executed: " + broken.front().fields};
        }
        return {std::move(job), ""};
    } catch (const InputError& error) {
        return {std::nullopt, "no plan: " + error.source()};
    }
}

std::optional<Job> job_of(const GridPoint& point) {
    return grid_job(point).job;
}

Job with_flash_attention(Job job) {
    static const SoftwareProfile flash = load_software("foreshard-flash");
    job.software = flash;
    return job;
}

std::vector<GridPoint> full_grid() {
    std::vector<GridPoint> points;
    const std::array<int, grid_axes> limits = sizes();
    std::array<int, grid_axes> values{};
    while (true) {
        const GridPoint point = point_of(values);
        if (!redundant(point) && ranks_of(point) <= most_ranks) points.push_back(point);
        std::size_t axis = 0;
        while (axis < values.size() && ++values[axis] == limits[axis]) values[axis++] = 0;
        if (axis == values.size()) return points;
    }
}

std::vector<GridPoint> covering_points(int draws, std::uint64_t seed) {
    const std::vector<GridPoint> candidates = draw_points(draws, seed);
    std::vector<std::vector<int>> pairs;
    std::vector<char> missing(pair_count);
    for (const GridPoint& point : candidates) {
        pairs.push_back(pairs_of(point));
        for (const int pair : pairs.back()) missing[static_cast<std::size_t>(pair)] = 1;
    }
    std::vector<GridPoint> chosen;
    while (true) {
        int most = 0;
        std::size_t best = 0;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            int gain = 0;
            for (const int pair : pairs[i]) gain += missing[static_cast<std::size_t>(pair)];
            if (gain > most) best = i;
            most = std::max(most, gain);
        }
        if (most == 0) return chosen;
        chosen.push_back(candidates[best]);
        for (const int pair : pairs[best]) missing[static_cast<std::size_t>(pair)] = 0;
    }
}

Outcome check_point(const Job& job, ElementType type, std::optional<int> message) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    const Plan plan{job, schedule, graph, ranks};
    JobOptions options;
    options.check = true;
    options.timeout = std::chrono::seconds(60);
    options.train.steps = 2;
    options.train.type = type;
    options.train.model.optimizer = OptimizerKind::sgd;
    options.train.model.update.learning_rate = 0.1;
    if (message) {
        const std::vector<Giver> feeders = gradient_feeders(schedule, graph, ranks);
        options.train.fault = Fault{Fault::Kind::message, feeders.at(static_cast<std::size_t>(*message))};
    }
    return run_as_threads(plan, options, {[](const RunRecord&) {}});
}

}  // namespace foreshard::runtime
