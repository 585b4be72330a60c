#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/job.hpp"
#include "sim/spec/operating_figures.hpp"
#include "sim/units.hpp"

/// What a search orders plans by, and what a plan costs in money, energy and days.
namespace foreshard {

enum class Objective : std::uint8_t {
    step_time,
    tokens_per_s_per_gpu,
    cost_per_token,
    energy_per_token,
    time_to_train
};
std::string_view to_string(Objective objective);
std::optional<Objective> parse_objective(std::string_view text);
std::vector<std::string_view> objective_names();

/// Of one plan; absent: not all that the figure needs is known.
struct PlanFigures {
    std::optional<double> cost_usd_per_million_tokens;  ///< of GPU hours, without failures
    std::optional<double> energy_j_per_token;           ///< without failures
    std::optional<double> power_kw;                     ///< of all nodes, mean over a step
    std::optional<double> goodput_ratio;
    std::optional<double> checkpoint_interval_s;  ///< the best one
    std::optional<double> time_to_train_h;        ///< with failures; absent too where training makes no progress
    std::optional<double> train_cost_usd;         ///< of all GPU hours of that time
};

/// Calls visit(key, member pointer) for every figure.
template <class Visit>
void visit_plan_figures(Visit&& visit) {
    using F = PlanFigures;
    visit("cost_usd_per_million_tokens", &F::cost_usd_per_million_tokens);
    visit("energy_J_per_token", &F::energy_j_per_token);
    visit("power_kW", &F::power_kw);
    visit("goodput_ratio", &F::goodput_ratio);
    visit("checkpoint_interval_s", &F::checkpoint_interval_s);
    visit("time_to_train_h", &F::time_to_train_h);
    visit("train_cost_usd", &F::train_cost_usd);
}

/// How well training gets on although nodes fail.
struct Goodput {
    double ratio = 1.0;  ///< of the time that goes into steps which are not lost; 0: no progress
    double checkpoint_interval_s = 0.0;
};

/// With a checkpoint of C seconds every T and failures every M seconds on average, each of which costs a restart of R
/// and half an interval of work: 1 - C / T - (T / 2 + R) / M, greatest at T = sqrt(2 C M) (J. W. Young, A first order
/// approximation to the optimum checkpoint interval, CACM 17(9), 1974; J. T. Daly, A higher order estimate of the
/// optimum checkpoint interval for restart dumps, FGCS 22(3), 2006). First order: holds for C, R well below M.
Goodput best_goodput(double checkpoint_s, double restart_s, double mtbf_s);

/// Bytes of a checkpoint of the job's model: weights, master weights and optimizer states, each once.
double checkpoint_bytes(const Job& job);

/// An objective is a sum of what it gives to the step's time and to the time in which GPUs are busy; less is better.
/// Neither weight is negative, so that bounds of both times give one of the objective.
struct ObjectiveWeights {
    double step = 1.0;
    double busy = 0.0;
    /// @param busy_time mean over GPUs, as gpu_busy_ratio counts it
    double value(Picoseconds step_time, Picoseconds busy_time) const {
        return step * static_cast<double>(step_time) + busy * static_cast<double>(busy_time);
    }
};

/// What an objective asks of the user.
struct ObjectiveRequest {
    Objective kind = Objective::step_time;
    OperatingFigures operation;          ///< wins over what the cluster says
    std::optional<double> train_tokens;  ///< for time_to_train
};

/// Measures plans of one job, whatever they are. Values of jobs of different sizes and batches can be compared.
class ObjectiveMeasure {
public:
    /// @throws InputError naming the flag of a figure that is out of range, or that the objective needs and the job's
    /// cluster does not say
    ObjectiveMeasure(const ObjectiveRequest& request, const Job& job);

    const ObjectiveWeights& weights() const { return weights_; }
    const OperatingFigures& operation() const { return operation_; }
    PlanFigures figures(Picoseconds step_time, Picoseconds busy_time) const;

private:
    void check_request() const;
    void settle_failures(const Job& job);
    ObjectiveWeights weights_of(Objective objective) const;
    ObjectiveWeights energy_weights() const;

    ObjectiveRequest request_;
    OperatingFigures operation_;
    std::string cluster_;
    int gpus_;
    int nodes_;
    double tokens_;                   ///< of a step
    std::optional<Goodput> goodput_;  ///< where all that it needs is known
    ObjectiveWeights weights_;
};

}  // namespace foreshard
