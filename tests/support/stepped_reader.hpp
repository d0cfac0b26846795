// The reading half of a connection, stepped by a test that plays the stream, both threads, and the
// socket.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "connection_parts.hpp"
#include "session/inbound.hpp"

namespace zlink::test {

using testing::command_frame;
using testing::frame;
using testing::greeting;
using testing::message;
using testing::part;
using testing::ready;
using testing::socket_of;

enum class reads { on_the_loops_thread, on_the_sockets_thread };
inline constexpr reads both_threads[] = {reads::on_the_loops_thread, reads::on_the_sockets_thread};

inline batching reading_batches(std::size_t octets) {
    batching sizes;
    sizes.in_batch_size = octets;
    return sizes;
}

/// The reading half of one connection, and who steps it.
class reader : public connection_parts {
public:
    explicit reader(const settings &of, std::uint64_t mark = 0, const batching &with = {},
                    std::string_view handshake = {}, const web_place *place = nullptr)
        : connection_parts(of, mark, with), mark_(mark),
          peer(talk(of.is_raw() && !place ? octets()
                    : handshake.empty()   ? greeting() + ready(of.has_subscribers() ? "SUB" : "DEALER")
                                          : octets(handshake),
                    place)) {
        in.open(*far);
        in.set_decoder(peer->framing().make_decoder());
    }

    /// Reads all that is there. At the mark the socket takes a message.
    void read(reads whose = reads::on_the_loops_thread, std::size_t taken_at_once = 1) {
        for (int steps = 0; !in.failure(); ++steps) {
            ASSERT_LT(steps, 100'000) << "it does not get on";
            if (in.is_paused() && !in.may_deliver()) {
                const std::size_t count = take(mark_ > 0 ? taken_at_once : SIZE_MAX);
                ASSERT_GT(count, 0u) << "paused for nothing";
                if (mark_ > 0) {
                    ASSERT_LE(count, mark_);
                }
            } else if (in.is_paused() || state.taken < state.input.size()) {
                step(whose);
            } else {
                break;
            }
        }
    }
    void step(reads whose) {
        short_heap::counted([&] {
            if (whose == reads::on_the_sockets_thread && !is_back_) {
                is_back_ = !in.read_now(borrowers);
                return;
            }
            // The loop's thread does what that of the socket could not, and lends it again.
            is_back_ = false;
            if (in.is_paused())
                (void)in.resume(*peer);
            else
                (void)in.read(io.scratch, *peer);
        });
        if (!peer->output().empty())
            answers.push_back(testing::text(peer->output()));
        peer->output().clear();
    }
    /// Feeds the wire cut at these places.
    void feed(const octets &wire, const std::vector<std::size_t> &cuts,
              reads whose = reads::on_the_loops_thread) {
        std::size_t at = 0;
        for (const std::size_t cut : cuts) {
            state.input += wire.substr(at, cut - at);
            at = cut;
            ASSERT_NO_FATAL_FAILURE(read(whose));
        }
        state.input += wire.substr(at);
        ASSERT_NO_FATAL_FAILURE(read(whose));
    }
    void expect(const std::vector<octets> &what) {
        take();
        expect_taken(what);
    }
    /// Expects the end of one that has failed: nothing is read or delivered any more.
    void expect_end() {
        const std::size_t taken = state.taken;
        state.input += message("too late");
        far->roll_back();
        take();
        const std::size_t before = log.size();
        (void)in.resume(*peer);
        (void)in.read_now(borrowers);
        take();
        EXPECT_EQ(log.size(), before);
        EXPECT_EQ(in.read_now(borrowers), false);
        EXPECT_EQ(state.taken, taken);
    }

private:
    const std::uint64_t mark_;
    bool is_back_ = false;

public:
    std::unique_ptr<conversation> peer;
    scripted_stream bytes{state};
    const std::shared_ptr<counters> counts = std::make_shared<counters>();
    const connection_environment environment{&io, options, sizes, pool, nullptr, {}, counts};
    inbound in{environment, bytes};
    block_ref borrowers;
    std::vector<octets> answers;
};

inline std::vector<std::size_t> every(std::size_t size, std::size_t of) {
    std::vector<std::size_t> cuts;
    for (std::size_t at = size; at < of; at += size)
        cuts.push_back(at);
    return cuts;
}

/// To an XPUB: what is not a message is seen where it stood.
inline traffic &subscribes(traffic &to, const octets &topic, bool is_inside = false) {
    to.wire += command_frame("SUBSCRIBE", topic);
    to.log.push_back((is_inside ? "!\1" : "=\1") + topic);
    if (!is_inside)
        to.ends.push_back(to.wire.size());
    return to;
}

inline traffic &says_with_command_inside(traffic &to, const octets &first, const octets &topic,
                                         const octets &last) {
    to.wire += part(first);
    to.log.push_back("+" + first);
    subscribes(to, topic, true);
    return to.says({last});
}

inline octets traffic_1_0(traffic &said) {
    octets wire;
    const auto frames = [&](const std::vector<octets> &parts) {
        said.says(parts);
        for (std::size_t i = 0; i < parts.size(); ++i)
            wire += frame_1_0(parts[i], i + 1 < parts.size());
    };
    frames({"one"});
    frames({"", body_of(253), body_of(254)});
    frames({body_of(255)});
    frames({body_of(256), ""});
    frames({body_of(70'000)});
    frames({"x", body_of(40'000), "y"});
    frames({body_of(1'000'000)});
    frames({"last"});
    return wire;
}

}  // namespace zlink::test
