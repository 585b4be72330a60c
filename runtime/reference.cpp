#include "runtime/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/exchange.hpp"
#include "runtime/threads_transport.hpp"

namespace foreshard::runtime {

namespace {

/// A list of numbers and texts as bytes.
class Packer {
public:
    void add(std::span<const double> values) {
        add_size(values.size());
        append(std::as_bytes(values));
    }
    void add(const std::string& text) {
        add_size(text.size());
        append(std::as_bytes(std::span(text)));
    }
    void add_size(std::uint64_t size) { append(std::as_bytes(std::span(&size, 1))); }
    std::vector<std::byte> bytes;

private:
    void append(std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
};

class Unpacker {
public:
    explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::uint64_t size() {
        std::uint64_t value = 0;
        take(std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }
    std::vector<double> numbers() {
        std::vector<double> values(size());
        take(std::as_writable_bytes(std::span(values)));
        return values;
    }
    std::string text() {
        std::string value(size(), ' ');
        take(std::as_writable_bytes(std::span(value)));
        return value;
    }

private:
    void take(std::span<std::byte> to) {
        if (!to.empty()) std::memcpy(to.data(), bytes_.data(), to.size());
        bytes_ = bytes_.subspan(to.size());
    }
    std::span<const std::byte> bytes_;
};

double norm(std::span<const double> values) {
    double sum = 0.0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
}

Reference describe(RankModel& model, const Device& device, const RankRecord& record) {
    Reference reference;
    for (const RunRecord& run : record.runs) {
        reference.losses.insert(reference.losses.end(), run.losses.begin(), run.losses.end());
    }
    for (const RankModel::Parameter& parameter : model.described_parameters()) {
        ReferenceTensor tensor{parameter.name, {}, {}};
        tensor.weight.resize(static_cast<std::size_t>(parameter.global_size));
        tensor.gradient = tensor.weight;
        const std::vector<double> weight = device.load(parameter.weight);
        const std::vector<double> gradient = device.load(parameter.gradient);
        for (std::size_t i = 0; i < parameter.global.size(); ++i) {
            if (parameter.global[i] < 0) continue;
            tensor.weight[static_cast<std::size_t>(parameter.global[i])] = weight[i];
            tensor.gradient[static_cast<std::size_t>(parameter.global[i])] = gradient[i];
        }
        reference.tensors.push_back(std::move(tensor));
    }
    std::sort(reference.tensors.begin(), reference.tensors.end(),
              [](const ReferenceTensor& a, const ReferenceTensor& b) { return a.name < b.name; });
    return reference;
}

/// Compares the tensors of one rank.
class RankComparison {
public:
    RankComparison(const Reference& reference, int rank) : reference_(reference), rank_(rank) {
        double weights = 0.0;
        double gradients = 0.0;
        for (const ReferenceTensor& tensor : reference.tensors) {
            offsets_.push_back(covered_.size());
            covered_.resize(covered_.size() + tensor.weight.size());
            weights += std::pow(norm(tensor.weight), 2);
            gradients += std::pow(norm(tensor.gradient), 2);
        }
        const double scale = 1e-3 / std::sqrt(static_cast<double>(std::max<std::size_t>(reference.tensors.size(), 1)));
        weight_floor_ = scale * std::sqrt(weights);
        gradient_floor_ = scale * std::sqrt(gradients);
    }

    void add(const RankModel::Parameter& parameter, const Device& device) {
        const std::size_t place = find(parameter.name);
        const ReferenceTensor& tensor = reference_.tensors[place];
        if (parameter.global_size != static_cast<std::int64_t>(tensor.weight.size())) {
            throw std::logic_error(parameter.name + " has another size on one rank");
        }
        measure("weight", parameter, device.load(parameter.weight), tensor.weight, weight_floor_);
        measure("gradient", parameter, device.load(parameter.gradient), tensor.gradient, gradient_floor_);
        for (const std::int64_t index : parameter.global) {
            if (index >= 0) covered_[offsets_[place] + static_cast<std::size_t>(index)] = 1.0F;
        }
    }

    const TensorError& worst() const { return worst_; }
    std::vector<float>& covered() { return covered_; }

    std::vector<std::string> uncovered() const {
        std::vector<std::string> names;
        for (std::size_t t = 0; t < offsets_.size(); ++t) {
            const auto begin = covered_.begin() + static_cast<std::ptrdiff_t>(offsets_[t]);
            const auto end = begin + static_cast<std::ptrdiff_t>(reference_.tensors[t].weight.size());
            if (std::find(begin, end, 0.0F) != end) names.push_back(reference_.tensors[t].name);
        }
        return names;
    }

private:
    std::size_t find(const std::string& name) const {
        const auto found = std::lower_bound(reference_.tensors.begin(), reference_.tensors.end(), name,
                                            [](const ReferenceTensor& t, const std::string& n) { return t.name < n; });
        if (found == reference_.tensors.end() || found->name != name) {
            throw std::logic_error("one rank has no parameter " + name);
        }
        return static_cast<std::size_t>(found - reference_.tensors.begin());
    }

    void measure(const char* what, const RankModel::Parameter& parameter, const std::vector<double>& mine,
                 const std::vector<double>& reference, double floor) {
        double difference = 0.0;
        double size = 0.0;
        for (std::size_t i = 0; i < parameter.global.size(); ++i) {
            if (parameter.global[i] < 0) continue;
            const double expected = reference[static_cast<std::size_t>(parameter.global[i])];
            difference += std::pow(mine[i] - expected, 2);
            size += expected * expected;
        }
        const double error = std::sqrt(difference) / std::max({std::sqrt(size), floor, 1e-300});
        // Not a number is worse than any error.
        if (error <= worst_.relative) return;
        worst_ = {fmt::format("{} of {} on rank {}", what, parameter.name, rank_),
                  std::isfinite(error) ? error : std::numeric_limits<double>::max()};
    }

    const Reference& reference_;
    int rank_;
    std::vector<std::size_t> offsets_;
    std::vector<float> covered_;  ///< 1 for elements of some rank
    double weight_floor_ = 0.0;
    double gradient_floor_ = 0.0;
    TensorError worst_;
};

TensorError worst_of_all(Transport& transport, const TensorError& mine) {
    Packer packer;
    packer.add(std::vector<double>{mine.relative});
    packer.add(mine.tensor);
    TensorError worst;
    for (const std::vector<std::byte>& told : tell_all(transport, packer.bytes)) {
        Unpacker unpacker(told);
        const double relative = unpacker.numbers().front();
        const std::string tensor = unpacker.text();
        if (worst.tensor.empty() || relative > worst.relative) worst = {tensor, relative};
    }
    return worst;
}

}  // namespace

Job one_rank_job(const Job& job) {
    Job one = job;
    one.plan = {};
    one.plan.dp = 1;
    one.plan.precision = job.plan.precision;
    one.plan.schedule = ScheduleKind::none;
    one.gpus = 1;
    one.schedule_file.reset();
    one.assumptions.clear();
    one.warnings.clear();
    return one;
}

Reference run_reference(const Job& job, const TrainOptions& options, int steps) {
    const Job one = one_rank_job(job);
    if (const auto broken = check(one); !broken.empty()) throw std::logic_error("one rank: " + broken.front().rule);
    const Schedule schedule = make_schedule(one);
    const TaskGraph graph = lower(one, schedule);
    const Ranks ranks(one);
    TrainOptions plain = options;
    plain.fault.reset();
    plain.warmup = 0;
    plain.steps = steps;
    plain.op_logs = nullptr;
    plain.memory_logs = nullptr;
    ThreadsWorld world(1);
    Reference reference;
    run_ranks(world, 1, [&](Transport& transport) {
        const Plan plan{one, schedule, graph, ranks};
        const std::unique_ptr<Device> device = make_device(options, plan, 0);
        RankTrainer trainer(plan, plain, *device, transport, world.room());
        RankRecord record;
        std::mutex unshared;
        trainer.run(record, unshared, [](const RunRecord&) {});
        reference = describe(trainer.whole_model(), *device, record);
    });
    return reference;
}

Reference share_reference(Transport& transport, const Reference& reference) {
    Packer packer;
    if (transport.rank() == 0) {
        packer.add(reference.losses);
        packer.add_size(reference.tensors.size());
        for (const ReferenceTensor& tensor : reference.tensors) {
            packer.add(tensor.name);
            packer.add(tensor.weight);
            packer.add(tensor.gradient);
        }
    }
    const std::vector<std::vector<std::byte>> told = tell_all(transport, packer.bytes);
    Unpacker unpacker(told.front());
    Reference shared;
    shared.losses = unpacker.numbers();
    shared.tensors.resize(unpacker.size());
    for (ReferenceTensor& tensor : shared.tensors) {
        tensor.name = unpacker.text();
        tensor.weight = unpacker.numbers();
        tensor.gradient = unpacker.numbers();
    }
    return shared;
}

double check_tolerance(ElementType type, MathMode math) {
    switch (type) {
        case ElementType::fp64:
            return 1e-10;
        case ElementType::fp32:
            return math == MathMode::tf32 ? 5e-3 : 1e-5;
        case ElementType::bf16:
            return 5e-2;
    }
    return 0.0;
}

Comparison compare(RankModel& model, const Device& device, Transport& transport, const RankRecord& record,
                   const Reference& reference) {
    RankComparison mine(reference, transport.rank());
    for (const RankModel::Parameter& parameter : model.described_parameters()) mine.add(parameter, device);
    transport.all_reduce(control_channel, all_ranks(transport),
                         {std::as_writable_bytes(std::span(mine.covered())), ElementType::fp32}, Reduction::max);
    Comparison result;
    result.tensors = 2 * static_cast<int>(reference.tensors.size());
    result.worst = worst_of_all(transport, mine.worst());
    result.uncovered = mine.uncovered();
    result.tolerance = check_tolerance(device.type(), device.math());
    std::size_t step = 0;
    for (const RunRecord& run : record.runs) {
        for (const double loss : run.losses) {
            result.loss = loss;
            result.reference_loss = reference.losses.at(step++);
            const double error = std::abs(loss - result.reference_loss) / std::abs(result.reference_loss);
            result.loss_error =
                std::isfinite(error) ? std::max(result.loss_error, error) : std::numeric_limits<double>::max();
        }
    }
    return result;
}

}  // namespace foreshard::runtime
