#include "gui/app/find_span.hpp"

#include <algorithm>
#include <cctype>

namespace foreshard::gui {

namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

std::optional<std::size_t> findSpan(const SpanTable& spans, const std::string& text, std::optional<std::size_t> from,
                                    FindDirection direction) {
    const std::string wanted = lower(text);
    const std::size_t count = spans.size();
    if (wanted.empty() || count == 0) return std::nullopt;
    const std::size_t start = from.value_or(direction == FindDirection::forward ? count - 1 : 0);
    std::optional<std::size_t> containing;
    for (std::size_t i = 1; i <= count; ++i) {
        const std::size_t span =
            direction == FindDirection::forward ? (start + i) % count : (start + count - i) % count;
        const std::string name = lower(span_name(spans, span));
        if (name == wanted) return span;
        if (!containing && name.find(wanted) != std::string::npos) containing = span;
    }
    return containing;
}

}  // namespace foreshard::gui
