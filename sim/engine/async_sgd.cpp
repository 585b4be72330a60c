#include "sim/engine/async_sgd.hpp"

#include <algorithm>
#include <cassert>
#include <queue>
#include <tuple>

namespace foreshard {

namespace {

enum class Step : std::uint8_t { pull, push, pushed };

struct LearnerEvent {
    Picoseconds time = 0;
    std::int64_t order = 0;  ///< ties
    int learner = 0;
    Step step = Step::pull;
    bool operator>(const LearnerEvent& other) const {
        return std::tie(time, order) > std::tie(other.time, other.order);
    }
};

constexpr int default_updates_per_learner = 64;

class ServerQueue {
public:
    explicit ServerQueue(const AsyncSgdOptions& options)
        : options_(options), learners_(static_cast<std::size_t>(options.learners)) {
        const std::int64_t gradients = std::int64_t{default_updates_per_learner} * options.learners;
        target_ = options.updates > 0 ? options.updates
                                      : std::max<std::int64_t>(gradients / options.gradients_per_update, 16);
    }

    AsyncSgdResult run() {
        for (int l = 0; l < options_.learners; ++l) schedule(0, l, Step::pull);
        while (updates_ < target_) {
            const LearnerEvent event = queue_.top();
            queue_.pop();
            handle(event);
        }
        return result();
    }

private:
    struct Learner {
        std::int64_t version = 0;  ///< updates that its weights have seen
        Picoseconds cycle_start = 0;
    };

    struct Gradient {
        int learner = 0;
        std::int64_t version = 0;  ///< of the weights that it was computed with
    };

    void schedule(Picoseconds time, int learner, Step step) { queue_.push({time, next_++, learner, step}); }

    /// The server's link serves one transfer at a time; the learner's own link may be the slower one.
    Picoseconds serve(Picoseconds arrival, Picoseconds own_link) {
        const Picoseconds start = std::max(arrival, free_);
        free_ = start + options_.serve;
        busy_ += options_.serve;
        return start + std::max(own_link, options_.serve);
    }

    Picoseconds compute_time(int learner) const {
        const auto l = static_cast<std::size_t>(learner);
        if (l >= options_.speed_factors.size()) return options_.compute;
        return static_cast<Picoseconds>(static_cast<double>(options_.compute) * options_.speed_factors[l]);
    }

    void handle(const LearnerEvent& event) {
        Learner& learner = learners_[static_cast<std::size_t>(event.learner)];
        switch (event.step) {
            case Step::pull:
                learner.version = updates_;
                learner.cycle_start = event.time;
                schedule(serve(event.time, options_.pull) + compute_time(event.learner), event.learner, Step::push);
                break;
            case Step::push:
                schedule(serve(event.time, options_.push), event.learner, Step::pushed);
                break;
            case Step::pushed:
                take(event);
                break;
        }
    }

    void take(const LearnerEvent& event) {
        waiting_.push_back({event.learner, learners_[static_cast<std::size_t>(event.learner)].version});
        Picoseconds done = event.time;
        const bool complete = static_cast<int>(waiting_.size()) == options_.gradients_per_update;
        if (complete) done = update(event.time);
        if (!options_.barrier) {
            finish_cycle(event.learner, event.time);
            schedule(std::max(event.time, complete ? done : event.time), event.learner, Step::pull);
            if (complete) waiting_.clear();
            return;
        }
        if (!complete) return;
        for (const Gradient& gradient : waiting_) {
            finish_cycle(gradient.learner, done);
            schedule(done, gradient.learner, Step::pull);
        }
        waiting_.clear();
    }

    Picoseconds update(Picoseconds time) {
        free_ = std::max(free_, time) + options_.apply;
        busy_ += options_.apply;
        for (const Gradient& gradient : waiting_) note(updates_ - gradient.version);
        ++updates_;
        if (updates_ == target_ / 2) half_time_ = free_;
        last_time_ = free_;
        return free_;
    }

    void note(std::int64_t staleness) {
        if (updates_ < target_ / 2) return;
        const auto s = static_cast<std::size_t>(staleness);
        if (counts_.size() <= s) counts_.resize(s + 1, 0);
        ++counts_[s];
    }

    void finish_cycle(int learner, Picoseconds end) {
        if (updates_ < target_ / 2) return;
        cycles_ += end - learners_[static_cast<std::size_t>(learner)].cycle_start;
        ++cycle_count_;
    }

    AsyncSgdResult result() const {
        AsyncSgdResult r;
        const double window = static_cast<double>(last_time_ - half_time_) / picoseconds_per_second;
        const auto half = target_ / 2;
        const auto steady = static_cast<double>(target_ - half);
        r.updates_per_s = window > 0.0 ? steady / window : 0.0;
        r.gradients_per_s = r.updates_per_s * options_.gradients_per_update;
        double all = 0.0;
        for (const std::int64_t count : counts_) all += static_cast<double>(count);
        for (std::size_t s = 0; s < counts_.size(); ++s) {
            r.staleness_histogram.push_back(static_cast<double>(counts_[s]) / all);
            r.staleness_mean += static_cast<double>(s) * r.staleness_histogram.back();
        }
        r.learning_rate_scale = staleness_scale(r.staleness_histogram);
        if (cycle_count_ > 0) r.cycle = cycles_ / cycle_count_;
        r.exposed = std::max(r.cycle - options_.compute, Picoseconds{0});
        r.server_busy = last_time_ > 0 ? static_cast<double>(busy_) / static_cast<double>(last_time_) : 0.0;
        return r;
    }

    const AsyncSgdOptions& options_;
    std::vector<Learner> learners_;
    std::priority_queue<LearnerEvent, std::vector<LearnerEvent>, std::greater<>> queue_;
    std::int64_t next_ = 0;
    std::int64_t target_ = 0;
    std::int64_t updates_ = 0;
    Picoseconds free_ = 0;
    Picoseconds busy_ = 0;
    Picoseconds half_time_ = 0;
    Picoseconds last_time_ = 0;
    Picoseconds cycles_ = 0;
    std::int64_t cycle_count_ = 0;
    std::vector<Gradient> waiting_;  ///< for the next update
    std::vector<std::int64_t> counts_;
};

}  // namespace

AsyncSgdResult simulate_async_sgd(const AsyncSgdOptions& options) {
    assert(options.learners > 0 && options.gradients_per_update > 0 &&
           options.gradients_per_update <= options.learners);
    return ServerQueue(options).run();
}

double async_sgd_bound(const AsyncSgdOptions& options) {
    const auto seconds = [](Picoseconds time) { return static_cast<double>(time) / picoseconds_per_second; };
    const double cycle =
        seconds(std::max(options.pull, options.serve) + options.compute + std::max(options.push, options.serve));
    const double server = seconds(2 * options.serve) + seconds(options.apply) / options.gradients_per_update;
    const double by_learners = cycle > 0.0 ? options.learners / cycle : 0.0;
    return server > 0.0 ? std::min(by_learners, 1.0 / server) : by_learners;
}

double staleness_scale(const std::vector<double>& histogram) {
    double scale = 0.0;
    for (std::size_t s = 0; s < histogram.size(); ++s) {
        scale += histogram[s] / static_cast<double>(std::max<std::size_t>(s, 1));
    }
    return scale;
}

}  // namespace foreshard
