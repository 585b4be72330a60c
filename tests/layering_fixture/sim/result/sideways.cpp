#include "sim/cost/cost_model.hpp"
