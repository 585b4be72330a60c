#include "runtime/cpu/memory.hpp"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "runtime/device.hpp"

namespace foreshard::runtime::cpu {

std::byte* map_memory(std::size_t bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw OutOfMemory(bytes);
    return static_cast<std::byte*>(data);
}

void unmap_memory(std::byte* data, std::size_t bytes) {
    munmap(data, bytes);
}

void forbid([[maybe_unused]] std::byte* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(data, bytes);
#endif
}

void permit([[maybe_unused]] std::byte* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(data, bytes);
#endif
}

}  // namespace foreshard::runtime::cpu
