#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What goes over a connection to the TCP store: frames of a header, a key and a value. All hosts of a job have the
/// same byte order.
namespace foreshard::runtime {

enum class StoreCall : std::uint32_t {
    hello,    ///< first of a connection: key is the run id, number the rank
    set,      ///< number: how often the value is read before it is dropped, 0 for never
    get,      ///< answered when the key is there
    clock,    ///< answered with the server's clock in number, or with `failed`
    fail,     ///< value is the reason, number the rank: from now on every get is answered with `failed`
    bye,      ///< last of a connection
    ok,       ///< answer
    failed,   ///< answer: value is the reason, number the rank
    refused,  ///< answer to hello: value says why
};

struct StoreFrame {
    StoreCall call = StoreCall::ok;
    std::int64_t number = 0;
    std::string key;
    std::vector<std::byte> value;
};

inline constexpr std::uint32_t store_magic = 0x32685346;  ///< "FSh2"
inline constexpr std::size_t store_header_bytes = 32;
inline constexpr std::uint64_t store_longest_key = 4096;
inline constexpr std::uint64_t store_longest_value = std::uint64_t{1} << 40;

struct StoreHeader {
    std::uint32_t magic = store_magic;
    StoreCall call = StoreCall::ok;
    std::int64_t number = 0;
    std::uint64_t key_bytes = 0;
    std::uint64_t value_bytes = 0;
};
static_assert(sizeof(StoreHeader) == store_header_bytes);

std::vector<std::byte> encode(StoreCall call, std::int64_t number, const std::string& key,
                              std::span<const std::byte> value);

/// One behind the other.
std::vector<std::byte> joined(const std::vector<std::span<const std::byte>>& parts);

/// Nothing when it is no header of this protocol. Precondition: store_header_bytes bytes.
std::optional<StoreHeader> decode_header(std::span<const std::byte> bytes);

std::span<const std::byte> bytes_of(const std::string& text);
std::string text_of(std::span<const std::byte> bytes);

}  // namespace foreshard::runtime
