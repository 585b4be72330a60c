#include "traces/text_scanner.hpp"

#include <charconv>
#include <cstring>

namespace foreshard {

namespace {

bool in_word(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
}

/// As UTF-8. Halves of surrogate pairs become question marks: names are for people.
void add_code_point(unsigned code, std::string& text) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0U | (code >> 6U));
        text += static_cast<char>(0x80U | (code & 0x3FU));
    } else if (code >= 0xD800 && code < 0xE000) {
        text += '?';
    } else {
        text += static_cast<char>(0xE0U | (code >> 12U));
        text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
        text += static_cast<char>(0x80U | (code & 0x3FU));
    }
}

}  // namespace

bool TextScanner::refill() {
    passed_ += end_;
    at_ = 0;
    end_ = source_.read(buffer_.data(), buffer_.size());
    return end_ > 0;
}

char TextScanner::raw() {
    if (at_ == end_ && !refill()) throw SyntaxError{};
    return buffer_[at_++];
}

void TextScanner::add_escape() {
    const char c = raw();
    if (c != 'u') {
        constexpr std::string_view from = "nrtbf";
        constexpr std::string_view to = "\n\r\t\b\f";
        const std::size_t known = from.find(c);
        text_ += known == std::string_view::npos ? c : to[known];
        return;
    }
    char digits[4];
    for (char& digit : digits) digit = raw();
    unsigned code = 0;
    const auto [stop, error] = std::from_chars(digits, digits + 4, code, 16);
    if (error != std::errc() || stop != digits + 4) throw SyntaxError{};
    add_code_point(code, text_);
}

std::string_view TextScanner::string() {
    expect('"');
    const char* begin = buffer_.data() + at_;
    const auto* quote = static_cast<const char*>(std::memchr(begin, '"', end_ - at_));
    const auto length = static_cast<std::size_t>(quote == nullptr ? 0 : quote - begin);
    const bool plain = quote != nullptr && std::memchr(begin, '\\', length) == nullptr;
    if (plain) {
        at_ += length + 1;
        return {begin, length};
    }
    text_.clear();
    for (char c = raw(); c != '"'; c = raw()) {
        if (c == '\\') {
            add_escape();
        } else {
            text_ += c;
        }
    }
    return text_;
}

std::string_view TextScanner::word() {
    if (!in_word(next())) throw SyntaxError{};
    const std::size_t first = at_;
    while (at_ < end_ && in_word(buffer_[at_])) ++at_;
    if (at_ < end_) return {buffer_.data() + first, at_ - first};
    text_.assign(buffer_.data() + first, end_ - first);
    while (refill()) {
        while (at_ < end_ && in_word(buffer_[at_])) text_ += buffer_[at_++];
        if (at_ < end_) break;
    }
    return text_;
}

void TextScanner::skip_string() {
    for (char c = raw(); c != '"'; c = raw()) {
        if (c == '\\') raw();
    }
}

void TextScanner::skip_value() {
    constexpr int deepest = 256;
    int depth = 0;
    do {
        const char c = next();
        if (c == '"') {
            ++at_;
            skip_string();
        } else if (c == '{' || c == '[') {
            ++at_;
            if (++depth > deepest) throw SyntaxError{};
        } else if (c == '}' || c == ']') {
            if (--depth < 0) throw SyntaxError{};
            ++at_;
        } else if (depth > 0 && (c == ',' || c == ':')) {
            ++at_;
        } else {
            word();
        }
    } while (depth > 0);
}

bool TextScanner::skip_to(char wanted) {
    while (at_ < end_ || refill()) {
        const char* begin = buffer_.data() + at_;
        const auto* found = static_cast<const char*>(std::memchr(begin, wanted, end_ - at_));
        if (found != nullptr) {
            at_ += static_cast<std::size_t>(found - begin);
            return true;
        }
        at_ = end_;
    }
    return false;
}

}  // namespace foreshard
