#include "sim/units.hpp"
