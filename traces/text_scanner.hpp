#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "traces/text_source.hpp"

namespace foreshard {

/// Text that breaks the rules of JSON.
class SyntaxError {};

/// Reads JSON once, from start to end, in one buffer of fixed size. More tolerant than JSON: strings may hold control
/// characters, and bytes that are no UTF-8.
class TextScanner {
public:
    explicit TextScanner(TextSource& source) : source_(source), buffer_(std::size_t{1} << 18) {}

    /// The next character that is no space, without taking it; '\0' at the end.
    char next() {
        while (at_ < end_ || refill()) {
            if (static_cast<unsigned char>(buffer_[at_]) > ' ') return buffer_[at_];
            ++at_;
        }
        return '\0';
    }
    /// Takes a character, if it comes next.
    bool take(char wanted) {
        if (next() != wanted) return false;
        ++at_;
        return true;
    }
    /// @throws SyntaxError when another one comes next
    void expect(char wanted) {
        if (!take(wanted)) throw SyntaxError{};
    }

    /// A string's content, escapes resolved; valid until the next call. @throws SyntaxError
    std::string_view string();
    /// A number, true, false or null as it is written; valid until the next call. @throws SyntaxError
    std::string_view word();
    /// A string's content, or a word: what ids may be. @throws SyntaxError
    std::string_view scalar() { return next() == '"' ? string() : word(); }

    /// @throws SyntaxError, also when nested too deep
    void skip_value();

    /// Skips to the next one of this character, also inside strings. False when there is none.
    bool skip_to(char wanted);

    std::size_t taken() const { return passed_ + at_; }
    const std::string& name() const { return source_.name(); }

private:
    bool refill();
    char raw();  ///< takes any character; throws SyntaxError at the end
    void skip_string();
    void add_escape();

    TextSource& source_;
    std::vector<char> buffer_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::size_t passed_ = 0;  ///< bytes before the buffer
    std::string text_;        ///< of the string or word at hand, when it is not whole in the buffer
};

}  // namespace foreshard
