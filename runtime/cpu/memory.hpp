#pragma once

#include <cstddef>

/// Ranges of the processor's memory, and what address sanitizers are told about them.
namespace foreshard::runtime::cpu {

/// Whole pages, which take memory when they are first touched. @throws OutOfMemory
std::byte* map_memory(std::size_t bytes);
void unmap_memory(std::byte* data, std::size_t bytes);

/// Built with an address sanitizer: it ends the program at the first use of memory that is forbidden. Otherwise
/// nothing.
void forbid(std::byte* data, std::size_t bytes);
void permit(std::byte* data, std::size_t bytes);

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t gap = 64;
#else
inline constexpr std::size_t gap = 0;
#endif

}  // namespace foreshard::runtime::cpu
