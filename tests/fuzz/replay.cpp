// Runs a fuzz target without a fuzzer: on the files named, or for a bounded number of made-up
// inputs.
//
// Usage:    TARGET FILE...      each file once
//           TARGET --random COUNT [SEED]
// Made-up inputs are strings of octets, words of the protocol and plausible sizes; a seed always
// gives the same ones.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

using namespace std::string_view_literals;

constexpr std::string_view words[] = {
    "\xff\0\0\0\0\0\0\0\0\x7f\3\1NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv,
    "\xff\0\0\0\0\0\0\0\1\x7f"sv,
    "\4\x1a\5READY\x0bSocket-Type\0\0\0\4PUSH"sv,
    "\x0bSocket-Type\0\0\0\3SUB"sv,
    "\x08Identity\0\0\0\2me"sv,
    "\5READY"sv,
    "\5ERROR\3"sv
    "400"sv,
    "\4\7\4PING\0\0"sv,
    "\4\5\4PONG"sv,
    "\4\x0b\x09SUBSCRIBEt"sv,
    "\4\x08\6CANCELt"sv,
    "\0\3abc"sv,
    "\1\1a"sv,
    "\2\0\0\0\0\0\0\1\0"sv,
    "\2\x7f\xff\xff\xff\xff\xff\xff\xff"sv,
    "\6\0\0\0\0\0\1\0\0"sv,
    "\x82\3\0ab"sv,
    "\x82\x83mask\x6d\0\0"sv,
    "\2\x82mask\x6d\0"sv,
    "\0\x81maska"sv,
    "\x80\x80mask"sv,
    "\x89\x81maskp"sv,
    "\x88\x82\0\0\0\0\3\xe8"sv,
    "\xc9\1p"sv,
    "GET / HTTP/1.1\r\nHost: a\r\n"sv,
    "HTTP/1.1 101 Switching Protocols\r\n"sv,
    "Upgrade: websocket\r\nConnection: Upgrade\r\n"sv,
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"sv,
    "Sec-WebSocket-Protocol: ZWS2.0/NULL,ZWS2.0\r\n"sv,
    "\r\n\r\n"sv,
};

void run(const std::string &input) {
    // A copy of the exact size, so that a sanitizer sees the first octet read beyond it.
    const std::vector<std::uint8_t> exact(input.begin(), input.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::string made_up(std::mt19937 &random) {
    std::string out;
    for (unsigned pieces = random() % 14; pieces > 0; --pieces)
        switch (random() % 4) {
        case 0:
            out += static_cast<char>(random());
            break;
        case 1:
            out += static_cast<char>(random() % 12);
            break;
        case 2:
            out.append(random() % 4 ? random() % 8 : random() % 300, static_cast<char>(random() % 128));
            break;
        case 3:
            out += words[random() % std::size(words)];
            break;
        }
    if (!out.empty() && random() % 4 == 0)
        out[random() % out.size()] ^= static_cast<char>(1u << random() % 8);
    return out;
}

}  // namespace

int main(int count, char **arguments) {
    if (count >= 3 && arguments[1] == "--random"sv) {
        const unsigned long rounds = std::strtoul(arguments[2], nullptr, 10);
        std::mt19937 random(count > 3 ? static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10)) : 1);
        for (unsigned long i = 0; i < rounds; ++i)
            run(made_up(random));
        std::printf("%lu inputs\n", rounds);
        return 0;
    }
    for (int i = 1; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        if (!file) {
            std::fprintf(stderr, "cannot read %s\n", arguments[i]);
            return 1;
        }
        run({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
    }
    return 0;
}
