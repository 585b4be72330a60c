#include <nlohmann/json.hpp>

#include "kineto.hpp"
