#include "gui/app/kept_memory.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace foreshard::gui {

void keepFreedMemory() {
#ifdef __GLIBC__
    constexpr int kept_bytes = 1 << 30;
    mallopt(M_MMAP_THRESHOLD, kept_bytes);
    mallopt(M_TRIM_THRESHOLD, kept_bytes);
#endif
}

}  // namespace foreshard::gui
