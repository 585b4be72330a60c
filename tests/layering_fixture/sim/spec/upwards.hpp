#pragma once

#include <nlohmann/json.hpp>

#include "sim/engine/simulator.hpp"
