#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/app/document.hpp"
#include "gui/view_state.hpp"
#include "sim/result/compare.hpp"

/// What the inspector says, as simple HTML. Links: "span:RUN:SPAN" reveals a span.
namespace foreshard::gui {

/// Of the first run: figures, settings, warnings and assumptions.
std::string overviewHtml(const Document& document);

/// The partner of a span of run A (0) or B (1) in the other one.
std::optional<SpanPair> partnerOf(const Comparison& comparison, std::size_t run, std::size_t span);

/// @param shown      the runs that views show, A first
/// @param comparison of A and B; null when there is no B
std::string inspectorHtml(const std::vector<const Document*>& shown, const Selection& selection,
                          const Comparison* comparison);

/// "&lt;" for "<" and so on.
std::string escaped(const std::string& text);

}  // namespace foreshard::gui
