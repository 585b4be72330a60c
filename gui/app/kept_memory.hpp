#pragma once

namespace foreshard::gui {

/// Lets the process keep memory that it frees. Every edit of a plan frees one run and fills another as large: given
/// back to the system in between, each of its pages would be fetched and zeroed anew. Call before the first run.
void keepFreedMemory();

}  // namespace foreshard::gui
