// Tests what the log writes of events, at each level.
#include "core/event_log.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace zlink {
namespace {

std::vector<std::string> lines;
void keep(std::string_view line) noexcept { lines.emplace_back(line); }

/// Tells a log of one event, and gives what it has written.
std::vector<std::string> written_at(log_level level, const connection_event &event) {
    lines.clear();
    event_log log(level, keep);
    log.tell("PULL", nullptr, event);
    return lines;
}
using text = std::vector<std::string>;

const connection_event refused = {event_kind::reason, 111, "tcp://127.0.0.1:1",
                                  "nobody listens at 127.0.0.1:1"};
const connection_event closed = {event_kind::closed, 12, "tcp://127.0.0.1:1"};
const connection_event listening = {event_kind::listening, 9, "tcp://127.0.0.1:1"};

TEST(event_log, writes_a_reason_with_socket_type_and_endpoint_from_the_level_of_warnings_on) {
    lines.clear();
    event_log log(log_level::warn, keep);
    log.tell("PUSH", &refused, closed);
    EXPECT_EQ(lines, text{"zlink: warn: PUSH tcp://127.0.0.1:1: nobody listens at 127.0.0.1:1 (closed)\n"});
    EXPECT_EQ(written_at(log_level::warn, refused),
              text{"zlink: warn: PULL tcp://127.0.0.1:1: nobody listens at 127.0.0.1:1\n"});
    EXPECT_EQ(written_at(log_level::error, refused), text{});
}

TEST(event_log, writes_why_a_call_has_failed_at_the_level_of_errors) {
    connection_event why = refused;
    why.fails_call = true;
    EXPECT_EQ(written_at(log_level::error, why),
              text{"zlink: error: PULL tcp://127.0.0.1:1: nobody listens at 127.0.0.1:1\n"});
    lines.clear();
    event_log log(log_level::error, keep);
    log.tell("PUSH", &why, closed);
    EXPECT_EQ(lines, text{"zlink: error: PUSH tcp://127.0.0.1:1: nobody listens at 127.0.0.1:1 (closed)\n"});
}

TEST(event_log, writes_each_event_from_its_level_on) {
    EXPECT_EQ(written_at(log_level::error, {event_kind::bind_failed, 98, "127.0.0.1:1"}),
              text{"zlink: error: PULL 127.0.0.1:1: bind has failed\n"});
    EXPECT_EQ(written_at(log_level::warn, listening), text{});
    EXPECT_EQ(written_at(log_level::info, listening),
              text{"zlink: info: PULL tcp://127.0.0.1:1: listening\n"});
    EXPECT_EQ(written_at(log_level::info, closed), text{});
    EXPECT_EQ(written_at(log_level::debug, closed),
              text{"zlink: debug: PULL tcp://127.0.0.1:1: closed, descriptor 12\n"});
}

TEST(event_log, says_the_same_of_an_endpoint_once_until_something_else_has_happened_there) {
    lines.clear();
    event_log log(log_level::warn, keep);
    for (int i = 0; i < 3; ++i)
        log.tell("PUSH", &refused, closed);
    EXPECT_EQ(lines.size(), 1u);
    log.tell("PUSH", nullptr, {event_kind::handshake_failed_auth, 400, refused.endpoint});
    log.tell("PUSH", &refused, closed);
    EXPECT_EQ(lines.size(), 3u);
    log.tell("SUB", &refused, closed);
    EXPECT_EQ(lines.size(), 4u);
}

// A peer that comes again has another port each time.
TEST(event_log, says_the_same_of_the_peers_of_an_endpoint_once) {
    lines.clear();
    event_log log(log_level::warn, keep);
    connection_event slow = {event_kind::slow_peer, 1, "tcp://127.0.0.1:1"},
                     cut = {event_kind::disconnected, 12, "tcp://127.0.0.1:1"};
    cut.is_cut = true;
    const connection_event why = {event_kind::reason, 0, "tcp://127.0.0.1:1", "it was too slow"};
    for (int port = 50000; port < 50003; ++port) {
        slow.peer.address = "tcp://127.0.0.1:" + std::to_string(port);
        log.tell("PUB", nullptr, slow);
    }
    EXPECT_EQ(lines, text{"zlink: warn: PUB tcp://127.0.0.1:1: the queue of a peer is full: "
                          "tcp://127.0.0.1:50000\n"});
    for (int port = 50000; port < 50003; ++port) {
        cut.peer.address = "tcp://127.0.0.1:" + std::to_string(port);
        log.tell("PUB", &why, cut);
    }
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[1], "zlink: warn: PUB tcp://127.0.0.1:1: it was too slow (the peer is gone): "
                        "tcp://127.0.0.1:50000\n");
    for (int i = 0; i < 3; ++i) {
        log.tell("PUB", nullptr, slow);
        log.tell("PUB", &why, cut);
    }
    EXPECT_EQ(lines.size(), 2u) << "both were said";
    log.tell("PUB", &refused, closed);
    log.tell("PUB", nullptr, slow);
    EXPECT_EQ(lines.size(), 4u) << "something else has happened";
}

TEST(event_log, repeats_itself_at_the_level_of_debugging) {
    lines.clear();
    event_log log(log_level::debug, keep);
    log.tell("PUSH", &refused, closed);
    log.tell("PUSH", &refused, closed);
    EXPECT_EQ(lines.size(), 2u);
}

TEST(event_log, writes_one_line_of_what_has_several) {
    EXPECT_EQ(written_at(log_level::error, {event_kind::bind_failed, 22, "tcp://a\nb\x1b[2J"}),
              text{"zlink: error: PULL tcp://a?b?[2J: bind has failed\n"});
}

}  // namespace
}  // namespace zlink
