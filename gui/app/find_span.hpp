#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sim/result/spans.hpp"

namespace foreshard::gui {

enum class FindDirection { forward, backward };

/// The next span that is called `text`, without case, in order of the table, after `from` and around the table's end;
/// if none is called so, the next one whose name contains it.
std::optional<std::size_t> findSpan(const SpanTable& spans, const std::string& text, std::optional<std::size_t> from,
                                    FindDirection direction);

}  // namespace foreshard::gui
