// Questions to an authentication handler and its answers: the frames of RFC 27.
#include <gtest/gtest.h>

#include "zmtp/command.hpp"
#include "zmtp/failure.hpp"
#include "zmtp/zap.hpp"

namespace zlink {
namespace {

using frames = std::vector<std::string>;

verdict read(const frames &reply) {
    std::vector<byte_span> spans;
    for (const std::string &each : reply)
        spans.push_back(as_bytes(each));
    return zap::read_reply(spans);
}

frames reply_with(std::size_t which, std::string text) {
    frames reply{"", "1.0", "1", "200", "OK", "alice", ""};
    reply.at(which) = std::move(text);
    return reply;
}

TEST(zap_request, has_a_frame_for_each_fact) {
    const authentication_request asked{
        "global", "10.0.0.7", "me", {"PLAIN", {secret("bob"), secret("secret")}}};
    const auto out = zap::frames_of(asked);
    EXPECT_EQ(frames(out.begin(), out.end()),
              (frames{"", "1.0", "1", "global", "10.0.0.7", "me", "PLAIN", "bob", "secret"}));
}

TEST(zap_request, ends_with_the_mechanism_where_that_shows_nothing) {
    const authentication_request asked{"d", "127.0.0.1", "", {"NULL", {}}};
    const auto out = zap::frames_of(asked);
    EXPECT_EQ(frames(out.begin(), out.end()), (frames{"", "1.0", "1", "d", "127.0.0.1", "", "NULL"}));
}

TEST(zap_reply, accepts_with_a_user_id_and_properties) {
    std::vector<std::uint8_t> list;
    append_property(list, "X-Role", as_bytes("admin"));
    const verdict said = read(reply_with(6, std::string(list.begin(), list.end())));
    EXPECT_EQ(said.what, verdict::kind::accepted);
    EXPECT_EQ(said.user_id, "alice");
    EXPECT_EQ(said.metadata, (decltype(said.metadata){{"X-Role", "admin"}}));
}

TEST(zap_reply, refuses_with_each_status_there_is) {
    for (const int status : {300, 400, 500}) {
        const verdict said = read(reply_with(3, std::to_string(status)));
        EXPECT_EQ(said.what, verdict::kind::refused);
        EXPECT_EQ(said.status, status);
    }
}

TEST(zap_reply, knows_four_codes_of_a_thousand) {
    for (int code = 0; code < 1000; ++code) {
        const std::string digits = std::to_string(1000 + code).substr(1);
        const bool is_known = code == 200 || code == 300 || code == 400 || code == 500;
        EXPECT_EQ(read(reply_with(3, digits)).what == verdict::kind::unusable, !is_known) << digits;
    }
}

TEST(zap_reply, is_of_no_use_with_any_frame_missing_or_said_twice) {
    const frames whole = reply_with(4, "OK");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        frames shorter = whole, longer = whole;
        shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(at));
        longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(at), whole[at]);
        EXPECT_EQ(read(shorter).what, verdict::kind::unusable) << at;
        EXPECT_EQ(read(longer).what, verdict::kind::unusable) << at;
    }
}

TEST(zap_reply, is_of_no_use_when_it_breaks_the_rules) {
    const struct {
        frames reply;
        protocol_error why;
    } cases[] = {
        {{}, protocol_errors::zap_malformed_reply},
        {{"", "1.0", "1", "200", "OK", "alice"}, protocol_errors::zap_malformed_reply},
        {{"", "1.0", "1", "200", "OK", "alice", "", "more"}, protocol_errors::zap_malformed_reply},
        {reply_with(0, "x"), protocol_errors::zap_malformed_reply},
        {reply_with(1, "1.1"), protocol_errors::zap_bad_version},
        {reply_with(2, "2"), protocol_errors::zap_bad_request_id},
        {reply_with(3, ""), protocol_errors::zap_invalid_status_code},
        {reply_with(3, "2000"), protocol_errors::zap_invalid_status_code},
        {reply_with(3, "201"), protocol_errors::zap_invalid_status_code},
        {reply_with(3, "100"), protocol_errors::zap_invalid_status_code},
        {reply_with(3, "600"), protocol_errors::zap_invalid_status_code},
        {reply_with(5, std::string(256, 'u')), protocol_errors::zap_malformed_reply},
        {reply_with(6, "\4X-H"), protocol_errors::zap_invalid_metadata},
    };
    for (const auto &each : cases) {
        const verdict said = read(each.reply);
        EXPECT_EQ(said.what, verdict::kind::unusable);
        EXPECT_EQ(said.detail, each.why);
    }
}

}  // namespace
}  // namespace zlink
