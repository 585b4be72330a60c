#include <mpi.h>

#include "sim/engine/simulator.hpp"
#include "sim/plan/task_graph.hpp"
