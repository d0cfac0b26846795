// Holds what the parts of a connection's driver stand on, each stepped by a test: a stream, a loop,
// a pipe, and a conversation.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipe/in_band.hpp"
#include "script.hpp"
#include "session/connection_environment.hpp"
#include "short_heap.hpp"
#include "stepped_session.hpp"
#include "zmtp/conversation.hpp"

namespace zlink::test {

using testing::octets;

/// Octets of which no two stretches are alike.
inline octets body_of(std::size_t size, unsigned seed = 0) {
    octets out(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<char>('a' + (i * 7 + i / 251 + seed * 11) % 26);
    return out;
}

/// Frames on the wire, and what they are to the application, frame by frame: "=body", "+body" where
/// more follows, "!" and a command.
struct traffic {
    octets wire;
    std::vector<octets> log;
    std::vector<std::size_t> ends;  // of messages, in the wire

    traffic &says(const std::vector<octets> &parts) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool has_more = i + 1 < parts.size();
            wire += testing::frame(parts[i], has_more);
            log.push_back((has_more ? "+" : "=") + parts[i]);
        }
        ends.push_back(wire.size());
        return *this;
    }
};

/// An older peer's.
inline octets frame_1_0(std::string_view body, int flags = 0) {
    octets out;
    if (body.size() < 254) {
        out += static_cast<char>(body.size() + 1);
    } else {
        out += '\xff';
        for (int shift = 56; shift > 0; shift -= 8)
            out += static_cast<char>((body.size() + 1) >> shift);
        out += static_cast<char>(body.size() + 1);
    }
    out += static_cast<char>(flags);
    return out.append(body);
}

class connection_parts {
public:
    explicit connection_parts(const settings &of, std::uint64_t mark = 0, const batching &with = {},
                              bool conflates = false)
        : options(of), sizes(with) {
        pipe_options both;
        both.first_to_second_hwm = both.second_to_first_hwm = mark;
        both.conflate = conflates;
        both.sizes = sizes;
        const pipe_ends ends = make_pipe(pool, both);
        near = ends.first;
        far = ends.second;
    }

    /// A conversation past its handshake with a peer that says this first; as a web server's where
    /// there is a place.
    std::unique_ptr<conversation> talk(std::string_view first_words, const web_place *place = nullptr) {
        auto machine = make_conversation(options, place != nullptr, place);
        takes_all = machine->resume({conversation::event_kind::start, {}, io.now()}).takes_all;
        for (byte_span in = as_bytes(first_words); !in.empty();) {
            const auto step = machine->resume({conversation::event_kind::octets, in});
            takes_all = takes_all || step.takes_all;
            in = in.subspan(step.consumed);
            if (step.consumed == 0)
                break;
        }
        EXPECT_TRUE(machine->is_established());
        machine->output().clear();
        return machine;
    }

    /// Takes up to so many messages out of the pipe, and writes down their frames.
    std::size_t take(std::size_t most = SIZE_MAX) {
        std::size_t messages = 0;
        for (frame_view frame; messages < most && near->read(frame);) {
            const char *const kind = frame.is_command() ? "!" : frame.has_more() ? "+" : "=";
            log.push_back(kind + octets(as_text(frame.body())));
            messages += !frame.is_command() && !frame.has_more();
        }
        if (messages < most)
            near->arm_reader();
        return messages;
    }
    /// Expects what was taken so far, without pages of it where it is something else.
    void expect_taken(const std::vector<octets> &what) {
        ASSERT_EQ(log.size(), what.size());
        for (std::size_t i = 0; i < what.size(); ++i)
            ASSERT_TRUE(log[i] == what[i])
                << "frame " << i << " of " << what[i].size() << " octets: " << what[i].substr(0, 40)
                << " but was " << log[i].size() << ": " << log[i].substr(0, 40);
    }
    /// The application sends.
    void send(const std::vector<octets> &parts) {
        for (std::size_t i = 0; i < parts.size(); ++i)
            EXPECT_EQ(near->write(i + 1 < parts.size() ? frame_flag::more : 0, as_bytes(parts[i])),
                      error::none);
        near->publish();
    }

    const settings options;
    const batching sizes;
    virtual_loop io;
    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    stream_state state;
    pipe_end_ptr near;  // the socket's
    pipe_end_ptr far;
    std::vector<octets> log;
    bool takes_all = false;
};

}  // namespace zlink::test
