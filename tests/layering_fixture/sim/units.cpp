// Another header before its own.
#include <string>

#include "sim/units.hpp"
