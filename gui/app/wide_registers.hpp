#pragma once

namespace foreshard::gui {

/// Marks the upper halves of the calling thread's vector registers as unused. Libraries that compute in 256 bits may
/// leave them dirty, also in the threads that are started then, and on Intel's processors every scalar floating-point
/// instruction of ours then waits for the one before (Intel 64 and IA-32 Architectures Optimization Reference Manual,
/// "Mixing AVX code with SSE code"). Does nothing on processors without such registers.
void clearWideRegisters();

}  // namespace foreshard::gui
