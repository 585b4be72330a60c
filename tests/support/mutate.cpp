#include "tests/support/mutate.hpp"

#include <algorithm>
#include <array>
#include <random>

namespace foreshard::test {

namespace {

constexpr std::array<const char*, 24> hostile = {"null",
                                                 "true",
                                                 "{}",
                                                 "[]",
                                                 "\"",
                                                 "\\",
                                                 "\\u12",
                                                 "\\uD800",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "-1",
                                                 "1e308",
                                                 "-1e308",
                                                 "9223372036854775807",
                                                 "-9223372036854775808",
                                                 "99999999999999999999",
                                                 "0.0000000001",
                                                 "\x01",
                                                 "\xff\xfe",
                                                 "NaN"};

class Mutator {
public:
    Mutator(std::string text, std::uint64_t seed) : text_(std::move(text)), random_(seed) {}

    std::string mutate() {
        const std::size_t edits = 1 + draw(8);
        for (std::size_t i = 0; i < edits && !text_.empty(); ++i) edit();
        return std::move(text_);
    }

private:
    std::size_t draw(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
    void edit();
    void replace_number();

    std::string text_;
    std::mt19937_64 random_;
};

void Mutator::edit() {
    const std::size_t at = draw(text_.size());
    const std::size_t length = std::min(1 + draw(60), text_.size() - at);
    const char* word = hostile[draw(hostile.size())];
    switch (draw(8)) {
        case 0:
            text_[at] = static_cast<char>(draw(256));
            break;
        case 1:
            text_.erase(at, length);
            break;
        case 2:
            text_.insert(at, text_.substr(draw(text_.size()), length));
            break;
        case 3:
            text_.insert(at, word);
            break;
        case 4:
            if (draw(4) == 0) text_.resize(at);
            break;
        default:
            replace_number();
    }
}

/// Most edits hit numbers: those pass the parser and reach what is behind it.
void Mutator::replace_number() {
    const std::size_t from = draw(text_.size());
    const std::size_t begin = text_.find_first_of("0123456789", from);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text_.find_first_not_of("0123456789.-e", begin), text_.size());
    const std::string number = draw(3) == 0 ? std::to_string(draw(1U << 20U)) : hostile[14 + draw(7)];
    text_.replace(begin, end - begin, number);
}

}  // namespace

std::string mutated(const std::string& text, std::uint64_t seed) {
    return Mutator(text, seed).mutate();
}

}  // namespace foreshard::test
