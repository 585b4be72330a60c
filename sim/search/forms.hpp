#pragma once

#include "sim/search/axes.hpp"
#include "sim/search/space.hpp"

/// Pipeline forms: schedules, chunks and layouts for a number of ranks.
namespace foreshard {

/// Appends all forms of `pp` ranks, and the kinds of stages that are new.
void append_forms(const SearchAxes& axes, const Job& job, int pp, Space& space);

/// Chunks, schedule and layout of the form.
void set_layout(const PipelineForm& form, ParallelPlan& plan);

}  // namespace foreshard
