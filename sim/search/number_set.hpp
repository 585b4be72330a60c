#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Values of an axis as people write them.
namespace foreshard {

/// "--recompute-num-layers" of "recompute_num_layers".
std::string axis_flag(const std::string& axis);

/// Single numbers and closed ranges: "1,2,4..16".
struct NumberSet {
    struct Range {
        std::int64_t first = 0;
        std::int64_t last = 0;
    };
    std::vector<Range> ranges;

    bool contains(std::int64_t value) const;
    /// Numbers that were named one by one.
    std::vector<std::int64_t> singles() const;
};

/// @throws InputError naming the flag and the part that is no number or range, or a range that runs downwards
NumberSet parse_number_set(const std::string& flag, const std::string& text);

/// "a,b" cut at commas; blanks around parts are dropped. @throws InputError naming the flag when a part is empty
std::vector<std::string> parse_word_list(const std::string& flag, const std::string& text);

}  // namespace foreshard
