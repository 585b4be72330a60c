#include "runtime/launch/store_protocol.hpp"

#include <cstring>

namespace foreshard::runtime {

std::vector<std::byte> encode(StoreCall call, std::int64_t number, const std::string& key,
                              std::span<const std::byte> value) {
    const StoreHeader header{store_magic, call, number, key.size(), value.size()};
    const auto head = std::as_bytes(std::span(&header, 1));
    std::vector<std::byte> frame;
    frame.reserve(head.size() + key.size() + value.size());
    frame.insert(frame.end(), head.begin(), head.end());
    const auto name = bytes_of(key);
    frame.insert(frame.end(), name.begin(), name.end());
    frame.insert(frame.end(), value.begin(), value.end());
    return frame;
}

std::optional<StoreHeader> decode_header(std::span<const std::byte> bytes) {
    StoreHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const bool known =
        header.magic == store_magic && header.call <= StoreCall::refused && header.key_bytes <= store_longest_key;
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
