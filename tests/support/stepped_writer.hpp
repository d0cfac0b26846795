// The writing half of a connection, stepped by a test that plays the stream, the loop, and the
// socket that sends.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connection_parts.hpp"
#include "session/outbound.hpp"

namespace zlink::test {

using testing::command_frame;
using testing::greeting;
using testing::message;
using testing::part;
using testing::pong;
using testing::ready;
using testing::socket_of;
using written = outbound::written;
using frames = std::vector<octets>;

/// The writing half of one connection after another, on one pipe.
class writer : public connection_parts, private connection_port, private reading_half, public pipe_events {
public:
    explicit writer(socket_type type = socket_type::dealer, std::string_view first_words = {},
                    std::uint64_t mark = 0, const batching &with = {}, bool conflates = false,
                    const web_place *served_at = nullptr)
        : connection_parts(socket_of(type), mark, with, conflates), place(served_at),
          words(first_words.empty() ? greeting() + ready(type == socket_type::xsub ? "PUB" : "DEALER")
                                    : octets(first_words)),
          topics(type == socket_type::xsub ? std::make_shared<subscription_set>() : nullptr) {
        near->set_events({std::shared_ptr<void>(), this});
        far->set_events({std::shared_ptr<void>(), this});
        begin(false);
    }
    /// A new connection.
    void begin(bool replays) {
        out.reset();
        state = {};
        peer = talk(words, place);
        out.emplace(bytes, *peer, topics.get(), sizes);
        out->open(far, replays, *this, *pool);
    }
    /// So much later that no stream of the sender's is under way.
    written write() {
        io.time += std::chrono::seconds(1);
        return write_at_once();
    }
    written write_at_once() {
        return short_heap::counted([&] { return out->write(io.now()); });
    }
    /// Writes as long as it goes on by itself.
    written write_all() {
        written last = write();
        while (last == written::some)
            last = write();
        return last;
    }
    /// The stream takes so many more, or all.
    written write_on(std::size_t octets = SIZE_MAX) {
        EXPECT_TRUE(state.is_room_awaited);
        state.is_room_awaited = false;
        state.room = octets;
        out->note_writable();
        return write_all();
    }
    void subscribe(std::string_view topic) {
        topics->with_lock([&](subscription_set::topics &all) { all.add(as_bytes(topic)); });
    }
    void send_command(std::uint8_t kind, std::string_view body) {
        EXPECT_EQ(near->write(frame_flag::command, as_bytes(octets(1, static_cast<char>(kind)).append(body))),
                  error::none);
        near->publish();
    }
    octets take_output() { return std::exchange(state.output, {}); }

    const web_place *const place;
    const octets words;
    const std::shared_ptr<subscription_set> topics;
    std::unique_ptr<conversation> peer;
    scripted_stream bytes{state};
    std::optional<outbound> out;
    int loop_woken = 0;
    int socket_woken = 0;

private:
    written write_now(writing &turn, occasion when) noexcept override { return out->write_now(turn, when); }
    bool is_full() const noexcept override { return out->is_full(); }
    int descriptor() const noexcept override { return -1; }
    reading_half &leased_half() noexcept override { return *this; }
    bool expects_more() const noexcept override { return false; }
    bool expects_large() const noexcept override { return false; }
    bool read_now(block_ref &) noexcept override { return false; }
    void on_readable(pipe_end &end) noexcept override {
        loop_woken += &end == far.get(), socket_woken += &end == near.get();
    }
    void on_writable(pipe_end &) noexcept override {}
    void on_closed(pipe_end &) noexcept override {}
};

inline const std::vector<frames> &said() {
    static const std::vector<frames> all{{"one"},        {""},       {"a", "", "b"},          {body_of(255)},
                                         {body_of(256)}, {"x", "y"}, {body_of(9000), "tail"}, {"after large"},
                                         {body_of(300)}};
    return all;
}
inline octets as_frames(const frames &parts) { return traffic().says(parts).wire; }
inline octets as_older_frames(const frames &parts) {
    octets wire;
    for (std::size_t i = 0; i < parts.size(); ++i)
        wire += frame_1_0(parts[i], i + 1 < parts.size());
    return wire;
}

/// The forms in which a queue goes out.
struct form {
    const char *name;
    octets first_words;
    octets (*encode)(const frames &);
    bool is_translated;
};
inline std::vector<form> forms() {
    return {{"gathered", greeting() + ready("DEALER"), as_frames, false},
            {"zmtp 1.0", frame_1_0("you"), as_older_frames, true}};
}
inline octets all_said(const form &how) {
    octets wire;
    for (const frames &each : said())
        wire += how.encode(each);
    return wire;
}

/// The octets around which something happens: all of the small frames, and some of the large one.
inline std::vector<std::size_t> places(const octets &wire) {
    std::vector<std::size_t> out;
    for (std::size_t at = 0; at <= wire.size(); ++at)
        if (at < 850 || at + 450 > wire.size() || at % 997 == 0)
            out.push_back(at);
    return out;
}

}  // namespace zlink::test
