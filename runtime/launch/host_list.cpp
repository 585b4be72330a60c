#include "runtime/launch/host_list.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

/// "03-07,9" begins with "03".
std::string first_of_range(const std::string& range) {
    return range.substr(0, range.find_first_of("-,"));
}

}  // namespace

std::string first_host(const std::string& variable, const std::string& list) {
    const auto refuse = [&](const std::string& why) -> InputError {
        return {variable, "", fmt::format("'{}' is no list of hosts: {}", list, why)};
    };
    std::string host;
    for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
        if (list[at] == ']') throw refuse("a ']' has no '['");
        if (list[at] != '[') {
            host += list[at];
            continue;
        }
        const std::size_t end = list.find(']', at);
        if (end == std::string::npos) throw refuse("a '[' has no ']'");
        const std::string first = first_of_range(list.substr(at + 1, end - at - 1));
        if (first.empty()) throw refuse("brackets without a number");
        host += first;
        at = end;
    }
    if (host.empty()) throw refuse("it names no host");
    return host;
}

}  // namespace foreshard::runtime
