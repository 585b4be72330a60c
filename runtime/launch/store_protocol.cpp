#include "runtime/launch/store_protocol.hpp"

#include <cstring>

namespace foreshard::runtime {

std::vector<std::byte> encode(StoreCall call, std::int64_t number, const std::string& key,
                              std::span<const std::byte> value) {
    const StoreHeader header{store_magic, call, number, key.size(), value.size()};
    return joined({std::as_bytes(std::span(&header, 1)), bytes_of(key), value});
}

std::vector<std::byte> joined(const std::vector<std::span<const std::byte>>& parts) {
    std::size_t size = 0;
    for (const std::span<const std::byte> part : parts) size += part.size();
    std::vector<std::byte> bytes(size);
    std::byte* to = bytes.data();
    for (const std::span<const std::byte> part : parts) {
        if (!part.empty()) std::memcpy(to, part.data(), part.size());
        to += part.size();
    }
    return bytes;
}

std::optional<StoreHeader> decode_header(std::span<const std::byte> bytes) {
    StoreHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const bool known = header.magic == store_magic && header.call <= StoreCall::refused &&
                       header.key_bytes <= store_longest_key && header.value_bytes <= store_longest_value;
    if (!known) return std::nullopt;
    return header;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
    std::string text(bytes.size(), ' ');
    if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
    return text;
}

}  // namespace foreshard::runtime
