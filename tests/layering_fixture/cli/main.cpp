#include "runtime/executor.hpp"
#include "sim/sim.hpp"
