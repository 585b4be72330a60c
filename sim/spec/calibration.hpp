#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/job.hpp"

/// What was measured on a machine, as laws that a prediction uses in place of the models (foreshard.calibration).
namespace foreshard {

/// Time of an op: base + FLOPs / flops_rate + bytes / bytes_rate; a rate of 0 leaves its term out. Amounts are those of
/// the op lists (Op::flops, Op::read + Op::written).
struct OpLaw {
    /// A point of the measured curve, over the op's amount.
    struct Point {
        double amount = 0.0;
        Seconds time;
    };
    /// Op::name, or the name of a class of ops (op_class) for those that have no law of their own.
    std::string op;
    Seconds base;
    FlopsPerSecond flops_rate;
    BytesPerSecond bytes_rate;
    /// Amounts that were measured: FLOPs where flops_rate is given, else bytes.
    double least_amount = 0.0;
    double most_amount = 0.0;
    /// Ascending in both; where the points are dense they replace the law between the first and the last, in
    /// logarithms.
    std::vector<Point> table;
};

/// Time of updating parameters: base + parameters / rate.
struct OptimizerLaw {
    Seconds base;
    double parameters_per_second = 0.0;
};

/// One message between two ranks, from the moment both are ready: base + bytes / bandwidth.
struct MessageLaw {
    Seconds base;
    BytesPerSecond bandwidth;
};

/// A collective or message where no law of a few terms holds: measured times over message sizes.
struct CommTable {
    CollectiveKind kind = CollectiveKind::all_reduce;  ///< send_recv: a message
    int ranks = 2;
    /// Amounts are message bytes. Ascending in both; takes the place of the law between the first and the last, in
    /// logarithms, and the law goes on from there.
    std::vector<OpLaw::Point> points;
};

/// What a rank waits for another one on the average, where both compute equally much and then meet:
/// t ratio (t / after)^-exponent behind a time t of computing. Disturbances that do not depend on each other add up by
/// their squares: exponent 1/2. Those of a rank that is slower all the time: 0.
struct RankLeadLaw {
    Seconds after;
    double ratio = 0.0;
    double exponent = 0.5;
};

/// How much longer compute takes where so many ranks of a host compute at a time, over one rank alone.
struct SharedHost {
    int ranks = 1;
    double compute_ratio = 1.0;  ///< of ops that are bound by FLOPs
    double memory_ratio = 1.0;   ///< of ops that are bound by bytes
};

/// What was measured, and how.
struct MeasuredMachine {
    std::string processor;
    int cores = 0;
    std::string gpu;  ///< empty: ranks were processors
    std::string backend;
    std::string comm;
    std::string dtype;
    std::string software;  ///< profile whose ops were timed; empty: kernels by themselves
};

/// Figures that replace the device's; absent where not measured.
struct MeasuredDevice {
    std::optional<Seconds> launch;
    std::optional<BytesPerSecond> memory_bandwidth;
    std::optional<FlopsPerSecond> gemm_rate;
};

/// Errors of a group of laws at its measured points: predicted over measured time, minus one, in percent.
struct CalibrationResidual {
    struct Size {
        double from = 0.0;
        double to = 0.0;
        int points = 0;
        double median_abs_pct = 0.0;
        double bias_pct = 0.0;
    };
    std::string group;
    std::string amount;  ///< what sizes are counted in: "flops", "bytes" or "parameters"
    int points = 0;
    int rejected = 0;
    std::optional<double> r2{};  ///< of the logarithms of the times; none where all points are of one amount
    double median_abs_pct = 0.0;
    double p90_abs_pct = 0.0;
    double bias_pct = 0.0;
    std::vector<Size> sizes{};
};

/// 10th and 90th percentile of measured over predicted time.
struct CalibrationBand {
    std::string group;
    int points = 0;
    double p10_ratio = 1.0;
    double p90_ratio = 1.0;
};

struct RejectedPoint {
    std::string input;
    int row = 0;  ///< line of a text, index (from 0) of a list
    std::string what;
    double time_us = 0.0;
    double expected_us = 0.0;  ///< 0: not known
    std::string reason;
};

struct CalibrationInput {
    std::string file;
    std::string kind;
    std::string sha256{};
    int rows = 0;
};

/// Everything is optional but the id: what is missing is left to the models.
struct Calibration {
    std::string id;
    std::string name;
    std::string tool_version;
    MeasuredMachine machine;
    std::optional<ClusterSpec> cluster;
    MeasuredDevice device;
    std::vector<OpLaw> ops;  ///< ascending by name
    std::optional<KernelTable> kernels;
    std::vector<CollectiveFit> collectives;
    std::optional<MessageLaw> messages;
    std::vector<CommTable> comm_tables;  ///< at most one of a kind and number of ranks
    std::optional<OptimizerLaw> optimizer;
    std::optional<Seconds> pass_overhead;
    std::optional<Seconds> step_overhead;
    std::optional<Seconds> wakeup;        ///< from the end of a communication to the start of what waits for it
    std::vector<SharedHost> shared_host;  ///< ascending by ranks
    /// Ranks that meet inside passes wait for the slowest: for so much of what they compute.
    std::optional<double> rank_wait_ratio;
    /// Of ranks that meet once a step, or at the end of a pass.
    std::optional<RankLeadLaw> rank_lead;
    /// Ops take this much longer with `machine.comm` than the laws say, which are of several ways of communication.
    std::optional<double> transport_ratio;
    /// Of compute and communication at the same time: what the longer of the two grows by, over the shorter one.
    std::optional<double> overlap_contention_ratio;
    std::vector<CalibrationResidual> residuals;
    std::vector<CalibrationBand> bands;
    std::optional<CalibrationBand> step_band;  ///< of whole steps
    std::vector<RejectedPoint> rejected;
    std::vector<CalibrationInput> inputs;
};

/// The law of a name; null when there is none. Precondition: `ops` is ascending by name.
const OpLaw* find_law(const Calibration& calibration, std::string_view op);

/// The measured curve of a kind and number of ranks; null when there is none.
const CommTable* find_table(const Calibration& calibration, CollectiveKind kind, int ranks);

/// Time by a curve, where a law says `by_law` of any size.
/// Precondition: two points or more.
Seconds table_time(const std::vector<OpLaw::Point>& points, double amount,
                   const std::function<Seconds(double)>& by_law);

/// What each of `ranks` waits for the slowest of them behind a time of computing: the law's wait for one other rank,
/// times the expected largest of so many normal errors over that of two (Blom 1958).
Seconds rank_wait(const RankLeadLaw& law, Seconds computed, int ranks);

/// Slowdown of so many ranks that compute on one host: between measured numbers linear, outside the nearest.
SharedHost shared_host(const Calibration& calibration, double ranks);

/// The plan's number format that was measured: fp64, which plans have no name for, is written as fp32.
Precision measured_precision(const MeasuredMachine& machine);

/// True where op laws of the job's calibration hold for its plan: they were measured in its number format.
bool laws_apply(const Job& job);

/// Time of an amount by a law with this much of each.
Seconds law_time(const OpLaw& law, Flops flops, Bytes bytes);

}  // namespace foreshard
