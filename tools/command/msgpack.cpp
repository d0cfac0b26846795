#include "msgpack.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace command {

namespace {

constexpr int deepest = 32;

[[noreturn]] void fail(const char *words) {
    throw failure(status::usage, std::string("the input is no message as MessagePack: ") + words);
}

/// Thrown where the octets end within a value.
struct cut_off {};

/// Reads the format as msgpack's spec.md has it. Each head tells how much is behind it.
class msgpack_reader {
public:
    explicit msgpack_reader(std::string_view octets) : octets_(octets) {}

    size_t position() const { return at_; }

    struct value {
        enum class kind { other, text, list, map } is = kind::other;
        std::string_view octets;  // of a text or binary
        size_t size = 0;          // elements, or pairs
    };

    /// A list or map is told by its head alone.
    value next() {
        using k = value::kind;
        const unsigned char head = static_cast<unsigned char>(take(1)[0]);
        if (head <= 0x7f || head >= 0xe0) {
            return {};
        }
        if (head <= 0x8f) {
            return {k::map, {}, head & 0x0fu};
        }
        if (head <= 0x9f) {
            return {k::list, {}, head & 0x0fu};
        }
        if (head <= 0xbf) {
            return {k::text, take(head & 0x1fu), 0};
        }
        return next_long(head);
    }

    void skip(int depth = 0) {
        const value found = next();
        if (depth == deepest) {
            fail("it is too deep");
        }
        const size_t times = found.is == value::kind::map ? 2 : 1;
        for (size_t i = 0; i < times * found.size; ++i) {
            skip(depth + 1);
        }
    }

    std::string text() {
        const value found = next();
        if (found.is != value::kind::text) {
            fail("a text is expected");
        }
        return std::string(found.octets);
    }

    std::vector<std::string> texts() {
        const value head = next();
        if (head.is != value::kind::list) {
            fail("its parts are no list");
        }
        std::vector<std::string> all;
        for (size_t i = 0; i < head.size; ++i) {
            all.push_back(text());
        }
        return all;
    }

private:
    value next_long(unsigned char head) {
        using k = value::kind;
        switch (head) {
        case 0xc0:  // nil
        case 0xc2:  // false
        case 0xc3:  // true
            return {};
        case 0xc4:  // binary
        case 0xc5:
        case 0xc6:
            return {k::text, take(number(1u << (head - 0xc4))), 0};
        case 0xc7:  // an extension, with its type
        case 0xc8:
        case 0xc9:
            (void)take(number(1u << (head - 0xc7)) + 1);
            return {};
        case 0xca:  // a float
        case 0xcb:
            (void)take(4u << (head - 0xca));
            return {};
        case 0xcc:  // integers
        case 0xcd:
        case 0xce:
        case 0xcf:
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3:
            (void)take(1u << (head - 0xcc) % 4);
            return {};
        case 0xd4:  // extensions of 1 to 16 octets
        case 0xd5:
        case 0xd6:
        case 0xd7:
        case 0xd8:
            (void)take((1u << (head - 0xd4)) + 1);
            return {};
        case 0xd9:
        case 0xda:
        case 0xdb:
            return {k::text, take(number(1u << (head - 0xd9))), 0};
        case 0xdc:
        case 0xdd:
            return {k::list, {}, number(2u << (head - 0xdc))};
        case 0xde:
        case 0xdf:
            return {k::map, {}, number(2u << (head - 0xde))};
        default:
            fail("it has an octet that nothing begins with");
        }
    }

    size_t number(size_t octets) {
        size_t value = 0;
        for (const char each : take(octets)) {
            value = value << 8 | static_cast<unsigned char>(each);
        }
        return value;
    }

    std::string_view take(size_t size) {
        if (octets_.size() - at_ < size) {
            throw cut_off();
        }
        at_ += size;
        return octets_.substr(at_ - size, size);
    }

    std::string_view octets_;
    size_t at_ = 0;
};

}  // namespace

void msgpack_writer::number(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    to_ += static_cast<char>(0xcb);
    big_endian(bits, 8);
}

void msgpack_writer::put(std::string_view octets, int small, long most_of_small, int first) {
    head(octets.size(), small, most_of_small, first, first + 1);
    to_ += octets;
}

void msgpack_writer::head(size_t size, int small, long most_of_small, int of_8_bits, int of_16_bits) {
    if (static_cast<long>(size) <= most_of_small) {
        to_ += static_cast<char>(small | static_cast<int>(size));
    } else if (of_8_bits != 0 && size <= 0xff) {
        to_ += static_cast<char>(of_8_bits);
        big_endian(size, 1);
    } else {
        const bool is_16 = size <= 0xffff;
        if (size > 0xffffffff) {
            throw failure(status::other, "a part is too large for MessagePack");
        }
        to_ += static_cast<char>(is_16 ? of_16_bits : of_16_bits + 1);
        big_endian(size, is_16 ? 2 : 4);
    }
}

void msgpack_writer::big_endian(unsigned long long value, int octets) {
    for (int i = octets - 1; i >= 0; --i) {
        to_ += static_cast<char>(value >> (8 * i) & 0xff);
    }
}

std::optional<size_t> size_of_msgpack(std::string_view octets) {
    msgpack_reader reader(octets);
    try {
        reader.skip();
    } catch (const cut_off &) {
        return std::nullopt;
    }
    return reader.position();
}

told_message message_of_msgpack(std::string_view octets) {
    msgpack_reader reader(octets);
    told_message found;
    std::string encoding;
    try {
        const msgpack_reader::value head = reader.next();
        if (head.is != msgpack_reader::value::kind::map) {
            fail("a map is expected");
        }
        for (size_t i = 0; i < head.size; ++i) {
            take_value(reader, reader.text(), found, encoding);
        }
    } catch (const cut_off &) {
        fail("its end is missing");
    }
    if (!decode_parts(found, encoding)) {
        fail("it has no parts");
    }
    return found;
}

}  // namespace command
