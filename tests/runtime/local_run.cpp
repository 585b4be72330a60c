#include "tests/runtime/local_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/rank_setup.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/plan/parameters.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::runtime::test {

namespace {

/// One rank with a pointer into its list of compute tasks.
struct Rank {
    std::unique_ptr<RankModel> model;
    std::set<MessageKey> sends;
    std::set<MessageKey> receives;
    std::set<MessageKey> arrived;
    std::int32_t next = 0;
    std::int32_t last = 0;
};

class LocalRun {
public:
    LocalRun(const TaskGraph& graph, const RunOptions& options)
        : graph_(graph),
          options_(options),
          device_(make_cpu_device(options.type)),
          result_(std::make_unique<StepResult>()) {}

    void add_rank(const Job& job, int rank, int simulated, Transport& transport) {
        ModelOptions options = options_.model;
        if (simulated == 0) options.op_log = &result_->ops;
        Rank added;
        added.model = std::make_unique<RankModel>(job, graph_, rank, *device_, transport, options);
        added.sends = sent_messages(graph_, simulated);
        for (const Stream& stream : graph_.streams) {
            if (stream.rank != simulated) continue;
            if (stream.lane == Lane::compute) {
                added.next = stream.first;
                added.last = stream.last;
                continue;
            }
            const bool receives = stream.lane == Lane::recv_forward || stream.lane == Lane::recv_backward;
            if (!receives) continue;
            for (std::int32_t id = stream.first; id < stream.last; ++id) {
                const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
                added.receives.insert({task.stage, task.microbatch,
                                       stream.lane == Lane::recv_forward ? Direction::forward : Direction::backward});
            }
        }
        ranks_.push_back(std::move(added));
    }

    /// Tasks of the graph's first step only; the caller runs it again for further steps.
    void step(int number) {
        std::vector<std::int32_t> start;
        for (Rank& rank : ranks_) {
            start.push_back(rank.next);
            rank.arrived.clear();
            rank.model->begin_step(number);
        }
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t r = 0; r < ranks_.size(); ++r) {
                while (advance(r)) moved = true;
            }
        }
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const Rank& rank = ranks_[r];
            const bool done = rank.next == rank.last || graph_.tasks[static_cast<std::size_t>(rank.next)].step > 0;
            if (!done) throw std::logic_error("rank " + std::to_string(r) + " is stuck");
            ranks_[r].next = start[r];
        }
    }

    std::vector<Rank>& ranks() { return ranks_; }
    StepResult& result() { return *result_; }

private:
    bool advance(std::size_t r) {
        Rank& rank = ranks_[r];
        if (rank.next == rank.last) return false;
        const Task& task = graph_.tasks[static_cast<std::size_t>(rank.next)];
        if (task.step > 0) return false;
        if (task.kind != TaskKind::pass) {
            ++rank.next;
            return true;
        }
        const Work& work = graph_.works[static_cast<std::size_t>(task.work)];
        const Direction direction = work.pass == Pass::forward ? Direction::forward : Direction::backward;
        const MessageKey needed{work.stage, task.microbatch, direction};
        if (work.pass != Pass::weight_grad && rank.receives.contains(needed) && !rank.arrived.contains(needed)) {
            return false;
        }
        const PassMemory memory = rank.model->run(work, task.microbatch);
        if (r == 0) {
            result_->passes.push_back(memory);
            result_->works.push_back(work);
        }
        const int consumer = work.stage + (direction == Direction::forward ? 1 : -1);
        if (work.pass != Pass::weight_grad) deliver(r, {consumer, task.microbatch, direction});
        ++rank.next;
        return true;
    }

    void deliver(std::size_t r, const MessageKey& key) {
        if (!ranks_[r].sends.contains(key)) return;
        const auto& [stage, microbatch, direction] = key;
        for (Rank& other : ranks_) {
            if (!other.receives.contains(key)) continue;
            const auto from = ranks_[r].model->outgoing(stage, microbatch, direction).bytes;
            const auto to = other.model->incoming(stage, microbatch, direction);
            ASSERT_EQ(from.size(), to.size());
            std::memcpy(to.data(), from.data(), from.size());
            other.arrived.insert(key);
        }
        ranks_[r].model->sent(stage, microbatch, direction);
    }

    const TaskGraph& graph_;
    const RunOptions& options_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<StepResult> result_;
    std::vector<Rank> ranks_;
};

/// The tied embedding has two copies in a pipeline, whose gradients are added up.
void sum_tied(std::vector<Rank>& ranks, ElementType type) {
    std::vector<Elements> copies;
    for (Rank& rank : ranks) {
        const Elements copy = rank.model->tied_gradient();
        if (!copy.bytes.empty()) copies.push_back(copy);
    }
    if (copies.size() != 2) return;
    const auto add = [&]<class T>(T) {
        T* a = reinterpret_cast<T*>(copies[0].bytes.data());
        T* b = reinterpret_cast<T*>(copies[1].bytes.data());
        for (std::size_t i = 0; i < copies[0].count(); ++i) a[i] = b[i] = a[i] + b[i];
    };
    type == ElementType::fp32 ? add(0.0F) : add(0.0);
}

std::vector<double> values_of(Tensor tensor, ElementType type) {
    return make_cpu_device(type)->load(tensor);
}

void collect(RankModel& model, ElementType type, StepResult& result) {
    for (const RankModel::Parameter& parameter : model.described_parameters()) {
        auto& weights = result.weights[parameter.name];
        auto& gradients = result.gradients[parameter.name];
        weights.resize(static_cast<std::size_t>(parameter.global_size));
        gradients.resize(static_cast<std::size_t>(parameter.global_size));
        const std::vector<double> w = values_of(parameter.weight, type);
        const std::vector<double> g = values_of(parameter.gradient, type);
        for (std::size_t i = 0; i < w.size(); ++i) {
            if (parameter.global[i] < 0) continue;
            weights[static_cast<std::size_t>(parameter.global[i])] = w[i];
            gradients[static_cast<std::size_t>(parameter.global[i])] = g[i];
        }
    }
    result.loss += model.loss();
}

/// All ranks of a pipeline, or one of a tensor parallel group.
void run_local(const Job& job, const RunOptions& options, LocalRun& run) {
    const bool tied = ties_embedding_across_ranks(job);
    for (int step = 0; step < options.steps; ++step) {
        run.step(step);
        if (tied) sum_tied(run.ranks(), options.type);
        for (Rank& rank : run.ranks()) rank.model->finish_gradients();
        // The last step's gradients are what is looked at; its update comes after.
        for (Rank& rank : run.ranks()) rank.model->optimizer_step();
    }
}

}  // namespace

JobRequest small_request(const std::string& model, int tp) {
    JobRequest request = foreshard::test::tiny_request(1, 2);
    request.model = model;
    request.software = "foreshard";
    request.gpus = tp;
    request.tp = tp;
    request.mbs = 2;
    request.gbs = 4;
    request.num_layers = 2;
    request.seq_length = 12;
    request.vocab_size = 30;
    return request;
}

StepResult run_steps(const Job& job, const RunOptions& options) {
    return run_steps(job, lower(job, schedule_of(job)), options);
}

StepResult run_steps(const Job& job, const TaskGraph& graph, const RunOptions& options) {
    ThreadsWorld world(job.plan.tp * job.plan.pp);
    StepResult result;
    if (job.plan.pp > 1) {
        LocalRun run(graph, options);
        for (int rank = 0; rank < job.plan.pp; ++rank) run.add_rank(job, rank, rank, world.rank(rank));
        run_local(job, options, run);
        result = std::move(run.result());
        for (Rank& rank : run.ranks()) collect(*rank.model, options.type, result);
        result.left = run.ranks().front().model->memory().meter().now();
        return result;
    }
    std::mutex mutex;
    run_ranks(world, job.plan.tp, [&](Transport& transport) {
        LocalRun run(graph, options);
        run.add_rank(job, transport.rank(), 0, transport);
        run_local(job, options, run);
        const std::lock_guard lock(mutex);
        StepResult& mine = run.result();
        if (transport.rank() == 0) {
            result.passes = mine.passes;
            result.works = mine.works;
            result.ops = mine.ops;
            result.left = run.ranks().front().model->memory().meter().now();
        }
        collect(*run.ranks().front().model, options.type, result);
    });
    return result;
}

double largest_difference(const std::map<std::string, std::vector<double>>& a,
                          const std::map<std::string, std::vector<double>>& b) {
    EXPECT_EQ(a.size(), b.size());
    double most = 0.0;
    for (const auto& [name, expected] : b) {
        const auto found = a.find(name);
        if (found == a.end() || found->second.size() < expected.size()) {
            ADD_FAILURE() << name << " is missing or too short";
            return INFINITY;
        }
        double scale = 0.0;
        for (const double value : expected) scale = std::max(scale, std::abs(value));
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const double difference = std::abs(found->second[i] - expected[i]);
            most = std::max(most, std::isnan(difference) ? INFINITY : difference / std::max(scale, 1e-12));
        }
    }
    return most;
}

}  // namespace foreshard::runtime::test
