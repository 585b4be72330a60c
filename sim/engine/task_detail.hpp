#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/evaluate.hpp"

/// What one task of an evaluated job consists of, with every formula's numbers: why it takes as long as it does.
namespace foreshard {

/// A kernel, a collective, or work of the host, `times` times in the task.
struct TaskPart {
    std::string name;     ///< "qkv", "tp all-gather", "host"
    int times = 1;        ///< repeats, e.g. layers of the stage
    Seconds time;         ///< charged, all repeats together
    std::string formula;  ///< "2 m n k = 2 x 2048 x 4608 x 12288 = 0.232 TFLOP at 230 TFLOP/s"
    std::string bound;    ///< "compute", "memory", "launch", "host", or what limits the network
};

struct TaskDetail {
    std::string name;  ///< "2F0"
    std::vector<TaskPart> parts;
    Seconds predicted;  ///< of the task on idle links at full speed; the parts sum to it
    Picoseconds start = 0;
    Picoseconds end = 0;             ///< in the timeline, where contention, jitter and slow ranks count
    std::vector<std::string> notes;  ///< e.g. that neighbours slow the task down
};

/// @param task id in evaluation.graph.tasks
TaskDetail task_detail(const Evaluation& evaluation, std::int32_t task);

}  // namespace foreshard
