#include "traces/trace_events.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "traces/text_scanner.hpp"

namespace foreshard {

namespace {

constexpr std::int64_t picoseconds_per_microsecond = 1'000'000;

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Negative numbers and those that do not fit count as not said.
std::int32_t small_number(std::string_view text) {
    const auto value = parse_number<std::int32_t>(text);
    return value && *value >= 0 ? *value : -1;
}

Picoseconds duration_of(const TraceTime& time) {
    constexpr std::int64_t most = 9'000'000'000'000;  // microseconds
    if (time.microseconds < 0) return -1;
    if (time.microseconds > most) return most * picoseconds_per_microsecond;
    return time.microseconds * picoseconds_per_microsecond + time.picoseconds;
}

bool set_time_from_double(std::string_view text, TraceTime& time) {
    const auto value = parse_number<double>(text);
    if (!value || !(std::abs(*value) < 9e18)) return false;
    const double whole = std::floor(*value);
    time.microseconds = static_cast<std::int64_t>(whole);
    time.picoseconds = std::llround((*value - whole) * 1e6);
    return true;
}

class EventReader {
public:
    EventReader(TextSource& source, std::size_t most_text, const std::function<void(const TraceEvent&)>& use)
        : scanner_(source), most_text_(most_text), use_(use) {}

    TraceInfo read() {
        if (scanner_.next() == '[') {
            read_events();
            return std::move(info_);
        }
        try {
            scanner_.expect('{');
            read_members("", 0);
        } catch (const SyntaxError&) {
            info_.cut_short = true;
        }
        return std::move(info_);
    }

private:
    void read_members(const std::string& prefix, int depth);
    void read_member(const std::string& key, int depth);
    void read_notes();
    void read_events();
    void read_event();
    void read_field(std::string_view key);
    void read_arguments();
    void read_argument(std::string_view key);
    void recover();
    void clear();
    void set_time(std::string_view text) { event_.has_time = parse_microseconds(text, event_.time); }
    void set_duration(std::string_view text) {
        TraceTime time;
        event_.has_duration = parse_microseconds(text, time);
        if (event_.has_duration) event_.duration = duration_of(time);
    }

    TextScanner scanner_;
    std::size_t most_text_;
    const std::function<void(const TraceEvent&)>& use_;
    TraceEvent event_;
    TraceInfo info_;
};

void EventReader::read_members(const std::string& prefix, int depth) {
    if (scanner_.take('}')) return;
    do {
        const std::string key = prefix + std::string(scanner_.string());
        scanner_.expect(':');
        read_member(key, depth);
    } while (scanner_.take(','));
    scanner_.expect('}');
}

/// Facts are scalars, at most two objects deep.
void EventReader::read_member(const std::string& key, int depth) {
    const char c = scanner_.next();
    if (depth == 0 && key == "traceEvents" && c == '[') return read_events();
    if ((key == "otherData.notes" || key == "otherData.assumptions") && c == '[') return read_notes();
    if (c == '{' && depth < 2) {
        scanner_.expect('{');
        return read_members(key + ".", depth + 1);
    }
    constexpr std::size_t most_facts = 1000;
    const bool is_list = c == '[' || c == '{';
    if (is_list || info_.facts.size() >= most_facts) return scanner_.skip_value();
    info_.facts.insert_or_assign(key, std::string(scanner_.scalar()));
}

void EventReader::read_notes() {
    scanner_.expect('[');
    while (!scanner_.take(']')) {
        info_.notes.emplace_back(scanner_.scalar());
        scanner_.take(',');
    }
}

/// Commas between events may be missing or too many. An event that is no JSON is left, and the next one looked for.
void EventReader::read_events() {
    scanner_.expect('[');
    info_.is_trace = true;
    for (char c = scanner_.next(); c != ']'; c = scanner_.next()) {
        if (c == '\0') {
            info_.cut_short = true;
            return;
        }
        if (scanner_.take(',')) continue;
        try {
            read_event();
        } catch (const SyntaxError&) {
            ++info_.broken;
            recover();
        }
        if (scanner_.taken() > most_text_) {
            throw UnreadableFile(scanner_.name(), "",
                                 fmt::format("is longer than the limit of {} MiB", most_text_ >> 20));
        }
    }
    scanner_.expect(']');
}

/// The next object may be the arguments of the broken event: it has no phase and is passed over.
void EventReader::recover() {
    scanner_.take('{');
    scanner_.skip_to('{');
}

void EventReader::clear() {
    const TraceTime zero;
    event_.phase = '\0';
    for (std::string* text : {&event_.name, &event_.category, &event_.process, &event_.thread, &event_.pass,
                              &event_.label, &event_.collective, &event_.group, &event_.group_name}) {
        text->clear();
    }
    event_.time = zero;
    event_.duration = event_.recompute = event_.parts = 0;
    event_.has_time = event_.has_duration = false;
    event_.step = event_.stage = event_.microbatch = event_.chunk = -1;
    event_.number = event_.sequence = event_.peer = -1;
}

void EventReader::read_event() {
    clear();
    scanner_.expect('{');
    if (!scanner_.take('}')) {
        do {
            // The view lasts until the next call: long keys are none of ours.
            std::array<char, 16> key{};
            const std::string_view name = scanner_.string();
            const std::size_t length = std::min(name.size(), key.size());
            name.copy(key.data(), length);
            scanner_.expect(':');
            read_field({key.data(), length});
        } while (scanner_.take(','));
        scanner_.expect('}');
    }
    use_(event_);
}

void EventReader::read_field(std::string_view key) {
    const char c = scanner_.next();
    if (key == "args" && c == '{') return read_arguments();
    if (c == '{' || c == '[') return scanner_.skip_value();
    const std::string_view text = scanner_.scalar();
    if (key == "ph") {
        event_.phase = text.empty() ? '\0' : text.front();
    } else if (key == "ts") {
        set_time(text);
    } else if (key == "dur") {
        set_duration(text);
    } else if (key == "name") {
        event_.name = text;
    } else if (key == "cat") {
        event_.category = text;
    } else if (key == "pid") {
        event_.process = text;
    } else if (key == "tid") {
        event_.thread = text;
    }
}

void EventReader::read_arguments() {
    scanner_.expect('{');
    if (scanner_.take('}')) return;
    do {
        std::array<char, 26> key{};
        const std::string_view name = scanner_.string();
        const std::size_t length = std::min(name.size(), key.size());
        name.copy(key.data(), length);
        scanner_.expect(':');
        const char c = scanner_.next();
        if (c == '{' || c == '[') {
            scanner_.skip_value();
        } else {
            read_argument({key.data(), length});
        }
    } while (scanner_.take(','));
    scanner_.expect('}');
}

void EventReader::read_argument(std::string_view key) {
    const std::string_view text = scanner_.scalar();
    if (key == "step") {
        event_.step = small_number(text);
    } else if (key == "stage") {
        event_.stage = small_number(text);
    } else if (key == "microbatch") {
        event_.microbatch = small_number(text);
    } else if (key == "chunk") {
        event_.chunk = small_number(text);
    } else if (key == "pass") {
        event_.pass = text;
    } else if (key == "name") {
        event_.label = text;
    } else if (key.ends_with("_ms")) {
        const auto ms = parse_number<double>(text);
        const Picoseconds part = ms && *ms > 0.0 && *ms < 1e6 ? std::llround(*ms * 1e9) : 0;
        event_.parts += part;
        if (key == "recompute_ms") event_.recompute = part;
    } else if (key == "bytes" || key == "sort_index") {
        event_.number = parse_number<std::int64_t>(text).value_or(-1);
    } else if (key == "Src Rank" || key == "Dst Rank") {
        event_.peer = small_number(text);
    } else if (key == "Seq") {
        event_.sequence = parse_number<std::int64_t>(text).value_or(-1);
    } else if (key == "Collective name" || key == "collective") {
        event_.collective = text;
    } else if (key == "Process Group Description") {
        event_.group = text;
    } else if (key == "Process Group Name") {
        event_.group_name = text;
    }
}

}  // namespace

bool parse_microseconds(std::string_view text, TraceTime& time) {
    const bool plain = std::none_of(text.begin(), text.end(), [](char c) { return c == 'e' || c == 'E'; });
    if (!plain) return set_time_from_double(text, time);
    const bool negative = text.starts_with('-');
    const std::size_t dot = std::min(text.find('.'), text.size());
    const auto whole = parse_number<std::int64_t>(text.substr(0, dot));
    if (!whole || std::abs(static_cast<double>(*whole)) > 9e18) return set_time_from_double(text, time);
    std::int64_t fraction = 0;
    std::int64_t scale = picoseconds_per_microsecond / 10;
    for (std::size_t i = dot + 1; i < text.size(); ++i, scale /= 10) {
        if (text[i] < '0' || text[i] > '9') return false;
        fraction += (text[i] - '0') * scale;
    }
    time.microseconds = *whole;
    time.picoseconds = fraction;
    if (negative && fraction > 0) {
        time.microseconds -= 1;
        time.picoseconds = picoseconds_per_microsecond - fraction;
    }
    return true;
}

TraceInfo read_trace_events(TextSource& source, std::size_t most_text,
                            const std::function<void(const TraceEvent&)>& use) {
    return EventReader(source, most_text, use).read();
}

}  // namespace foreshard
