// Messages as objects of MessagePack: a map with the keys that JSON has. The elements of "parts"
// are strings where all of them are UTF-8 ("enc" is "utf8"), and binary otherwise ("binary").

#pragma once

#include "text.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace command {

/// Builds one value after another behind what is there.
class msgpack_writer {
public:
    explicit msgpack_writer(std::string &to) : to_(to) {}
    void map(size_t pairs) { head(pairs, 0x80, 15, 0, 0xde); }
    void list(size_t elements) { head(elements, 0x90, 15, 0, 0xdc); }
    void text(std::string_view utf8) { put(utf8, 0xa0, 31, 0xd9); }
    void binary(std::string_view octets) { put(octets, 0, -1, 0xc4); }
    void number(double value);

private:
    void put(std::string_view octets, int small, long most_of_small, int first);
    void head(size_t size, int small, long most_of_small, int of_8_bits, int of_16_bits);
    void big_endian(unsigned long long value, int octets);

    std::string &to_;
};

/// The octets of the first object in it; none where its end is missing. Throws `failure` where it
/// is no MessagePack.
std::optional<size_t> size_of_msgpack(std::string_view octets);

/// Does `message_of_json`, of a map.
told_message message_of_msgpack(std::string_view octets);

}  // namespace command
