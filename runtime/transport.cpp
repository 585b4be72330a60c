#include "runtime/transport.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foreshard::runtime {

std::string to_string(Channel channel) {
    if (channel.lane == Lane::compute) return fmt::format("{} (inside passes)", to_string(channel.axis));
    return fmt::format("{} ({})", to_string(channel.axis), to_string(channel.lane));
}

Range shard_of(std::int64_t count, int members, int member) {
    const std::int64_t part = count / members;
    const std::int64_t longer = count % members;
    const std::int64_t begin = member * part + std::min<std::int64_t>(member, longer);
    return {begin, begin + part + (member < longer ? 1 : 0)};
}

}  // namespace foreshard::runtime
