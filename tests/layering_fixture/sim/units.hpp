#pragma once

#include "sim/spec/upwards.hpp"
