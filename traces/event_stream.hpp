#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/units.hpp"

namespace foreshard {

/// Takes pieces of a file in order.
using TextSink = std::function<void(std::string_view)>;

/// Printed in microseconds with six decimals, so that no picosecond is lost. Precondition: not negative.
struct Microseconds {
    Picoseconds time = 0;
};

/// Printed in milliseconds with nine decimals.
struct Milliseconds {
    Picoseconds time = 0;
};

/// Elements of a JSON array, a line each, handed to the sink in large pieces.
class EventStream {
public:
    explicit EventStream(TextSink sink) : sink_(std::move(sink)) {}

    /// The event's text is a whole JSON value; nothing is escaped here.
    template <class... Values>
    void add(fmt::format_string<Values...> event, Values&&... values) {
        write(count_ == 0 ? "\n" : ",\n");
        fmt::format_to(fmt::appender(text_), event, std::forward<Values>(values)...);
        ++count_;
        if (text_.size() >= piece_bytes) flush();
    }

    void write(std::string_view text) { text_.append(text.begin(), text.end()); }
    void flush();
    std::int64_t count() const { return count_; }

private:
    static constexpr std::size_t piece_bytes = std::size_t{1} << 16;

    TextSink sink_;
    fmt::memory_buffer text_;
    std::int64_t count_ = 0;
};

}  // namespace foreshard

template <>
struct fmt::formatter<foreshard::Microseconds> {
    static constexpr auto parse(format_parse_context& context) { return context.begin(); }
    static auto format(foreshard::Microseconds value, format_context& context) {
        return fmt::format_to(context.out(), "{}.{:06}", value.time / 1'000'000, value.time % 1'000'000);
    }
};

template <>
struct fmt::formatter<foreshard::Milliseconds> {
    static constexpr auto parse(format_parse_context& context) { return context.begin(); }
    static auto format(foreshard::Milliseconds value, format_context& context) {
        return fmt::format_to(context.out(), "{}.{:09}", value.time / 1'000'000'000, value.time % 1'000'000'000);
    }
};
