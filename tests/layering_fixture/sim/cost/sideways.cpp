#include "sim/result/timeline.hpp"
