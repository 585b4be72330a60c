#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/executor.hpp"
#include "runtime/fault.hpp"
#include "runtime/launcher.hpp"
#include "runtime/rank_model.hpp"
#include "runtime/rank_tasks.hpp"

/// Trains: one rank's share of some steps, by running the task graph again and again.
namespace foreshard::runtime {

/// What all ranks agree on.
struct Plan {
    const Job& job;
    const Schedule& schedule;
    const TaskGraph& graph;
    const Ranks& ranks;
};

/// Something that goes wrong on purpose, in tests.
struct Fault {
    enum class Kind : std::uint8_t {
        message,  ///< one element of what a rank gives to `task`
        size,     ///< the rank sends half of the message `task`
        memory,   ///< the rank's device has no room when the last step begins
        kill,     ///< the rank's process dies then
        stop,     ///< the rank's process is stopped then
    };
    Kind kind = Kind::message;
    Giver giver;
};

/// Who issues a rank's tasks.
enum class Issuing : std::uint8_t {
    by_streams,  ///< a thread per stream
    one_thread,  ///< always where the device runs behind
};

/// Makes the device of a rank, on the rank's thread.
using DeviceMaker = std::function<std::unique_ptr<Device>(const Plan& plan, int rank)>;

struct TrainOptions {
    int steps = 1;  ///< rounded up to whole runs of the graph
    int warmup = 0;
    ElementType type = ElementType::fp32;
    DeviceMaker device = nullptr;  ///< by default the processor
    ModelOptions model;
    std::optional<Fault> fault;
    std::vector<std::vector<std::string>>* op_logs = nullptr;      ///< per rank: gets the name of every op that is run
    std::vector<std::vector<MemoryEvent>>* memory_logs = nullptr;  ///< per rank
    Issuing issuing = Issuing::by_streams;
    bool alternate = false;  ///< every second run after the warm-up is not recorded, to see what recording costs
};

std::unique_ptr<Device> make_device(const TrainOptions& options, const Plan& plan, int rank);

/// One run of the graph on one rank.
struct RunRecord {
    Clock::time_point start;     ///< all ranks have met
    Clock::time_point end;       ///< of the rank's last task
    std::vector<double> losses;  ///< per step of the graph; of the whole batch
    RankSpans spans;
    OpSpans ops;  ///< empty where they were not recorded, or the device runs behind
    bool warmup = false;
};

struct RankRecord {
    int rank = 0;
    std::vector<RunRecord> runs;
    MemoryUse high_water;
    PoolUse pool;
    std::int64_t updated_elements = 0;  ///< of the parameters that the rank's optimizer updates
};

/// Told on every rank after each run.
using Progress = std::function<void(const RunRecord&)>;

/// The rank of a trained model, for comparisons; `record` is filled run by run, so that what is done is kept when
/// something fails. The calling thread is a guest of the room.
/// @throws TransportError
class RankTrainer {
public:
    RankTrainer(const Plan& plan, const TrainOptions& options, Device& device, Transport& transport, WaitingRoom& room);

    void run(RankRecord& record, const Progress& progress);
    /// The model with whole gradients of the last step, and whole parameters.
    RankModel& whole_model();

private:
    RunRecord run_once(int run);
    RankSpans run_graph(Recording recording);
    void begin_ops(RunRecord& record);
    std::optional<Met> perform(std::int32_t task);
    void break_down();
    std::vector<double> sum_losses(std::vector<double> mine);

    Plan plan_;
    const TrainOptions& options_;
    Device& device_;
    Transport& transport_;
    WaitingRoom& room_;
    RankModel model_;
    RankTasks tasks_;
    std::vector<int> everyone_;
    std::optional<IssueList> issues_;  ///< where one thread issues all tasks
    int runs_ = 0;
    int run_ = 0;
    int measured_ = 0;          ///< runs since the warm-up
    std::size_t op_count_ = 0;  ///< spans of ops that are kept
};

}  // namespace foreshard::runtime
