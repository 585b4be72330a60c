#include "sim/sim.hpp"

namespace foreshard {

const char* version() {
    return FORESHARD_VERSION;
}

}  // namespace foreshard
