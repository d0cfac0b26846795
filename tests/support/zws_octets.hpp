// Frames in and out of the messages of WebSocket, for the tests of either way.
#pragma once

#include <gtest/gtest.h>

#include "web_script.hpp"
#include "zmtp/decoder_zws.hpp"

namespace zlink::testing {

inline const zws_form of_server;
inline const zws_form of_client{.is_client = true};
inline const zws_form of_raw_server{.is_raw = true};
inline const zws_form of_raw_client{.is_client = true, .is_raw = true};

/// This is as the driver has it: each piece stands in memory with just the lead that the decoder
/// asked for.
inline octets decoded(frame_decoder &decoder, std::string_view wire, std::size_t piece = SIZE_MAX) {
    octets out;
    while (!wire.empty()) {
        const std::string_view now = wire.substr(0, piece);
        wire.remove_prefix(now.size());
        const std::size_t lead = decoder.lead(now.size());
        octets memory = octets(lead, '?') + octets(now);
        auto *to = reinterpret_cast<std::uint8_t *>(memory.data());
        byte_span in(to + lead, now.size());
        do {
            const auto step = decoder.decode(in, to);
            EXPECT_LE(to + step.octets, in.data() + step.taken) << "written over what is still to be read";
            out.append(reinterpret_cast<const char *>(to), step.octets);
            to += step.octets;
            in = in.subspan(step.taken);
            block_ref owner;
            for (byte_span frame; !(frame = decoder.take_frame(owner)).empty();)
                out += as_text(frame);
        } while (!in.empty());
    }
    return out;
}
inline octets decoded(const zws_form &how, std::string_view wire, std::size_t piece = SIZE_MAX) {
    decoder_zws decoder(how, nullptr, false);
    return decoded(decoder, wire, piece);
}

inline octets some_octets(std::size_t size) {
    octets out(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<char>(i * 7 + i / 251);
    return out;
}

}  // namespace zlink::testing
