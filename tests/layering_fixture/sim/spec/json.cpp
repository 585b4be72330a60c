#include <nlohmann/json.hpp>

#include "sim/units.hpp"
