#pragma once

#include <vector>

/// Internal to schedules/: the order in which interleaved schedules take chunks and micro-batches.
namespace foreshard {

struct Turn {
    int chunk = 0;
    int microbatch = 0;
};

/// Order of the forwards on every rank: each group of micro-batches passes chunk 0, then chunk 1, ... Backwards take
/// the same turns with the chunks reversed (Megatron schedules.py get_schedule_table).
std::vector<Turn> forward_turns(int m, int v, int group);

}  // namespace foreshard
