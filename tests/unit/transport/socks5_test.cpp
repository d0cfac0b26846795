// The conversation with a SOCKS proxy, octet by octet (RFC 1928, RFC 1929).
#include "transport/socks5.hpp"

#include <gtest/gtest.h>
#include <string>

namespace zlink {
namespace {

using namespace std::string_literals;
using progress = socks5_conversation::progress;
constexpr progress unfinished = progress::unfinished;
constexpr progress opened = progress::opened;

std::string written(socks5_conversation &talk) {
    const std::string out(as_text(talk.output()));
    talk.note_written(out.size());
    return out;
}

/// Gives octets one at a time, never more than are wanted, and tells what the last of them led to.
progress receive(socks5_conversation &talk, std::string_view octets) {
    auto last = unfinished;
    for (const char octet : octets) {
        EXPECT_EQ(last, unfinished);
        EXPECT_GT(talk.wanted(), 0u);
        last = talk.receive(as_bytes({&octet, 1}));
    }
    return last;
}

const std::string reply_of_ipv4 = "\5\0\0\1\177\0\0\1\x04\xd2"s;

TEST(socks5, offers_no_credentials_without_a_user) {
    socks5_conversation talk("example.org", 1234, "", "secret");
    EXPECT_EQ(written(talk), "\5\1\0"s);
    EXPECT_EQ(receive(talk, "\5\0"s), unfinished);
    EXPECT_EQ(written(talk), "\5\1\0\3\13example.org\x04\xd2"s) << "the proxy resolves the name";
    EXPECT_EQ(receive(talk, reply_of_ipv4), opened);
    EXPECT_EQ(talk.wanted(), 0u);
    EXPECT_FALSE(failed(talk.failure()));
}

TEST(socks5, sends_credentials_where_the_proxy_asks_for_them) {
    socks5_conversation talk("10.1.2.3", 65535, "bob", "pw");
    EXPECT_EQ(written(talk), "\5\2\0\2"s);
    EXPECT_EQ(receive(talk, "\5\2"s), unfinished);
    EXPECT_EQ(written(talk), "\1\3bob\2pw"s);
    EXPECT_EQ(receive(talk, "\1\0"s), unfinished);
    EXPECT_EQ(written(talk), "\5\1\0\1\12\1\2\3\xff\xff"s);
    EXPECT_EQ(receive(talk, reply_of_ipv4), opened);
}

TEST(socks5, keeps_credentials_back_where_the_proxy_does_not_ask) {
    socks5_conversation talk("10.1.2.3", 1, "bob", "pw");
    written(talk);
    EXPECT_EQ(receive(talk, "\5\0"s), unfinished);
    EXPECT_EQ(written(talk), "\5\1\0\1\12\1\2\3\0\1"s);
}

TEST(socks5, asks_for_an_address_of_ip6) {
    socks5_conversation talk("::1", 80, "", "");
    written(talk);
    EXPECT_EQ(receive(talk, "\5\0"s), unfinished);
    EXPECT_EQ(written(talk), "\5\1\0\4"s + std::string(15, '\0') + "\1\0\x50"s);
}

TEST(socks5, takes_no_octet_behind_the_reply_whatever_address_it_holds) {
    for (const std::string &address :
         {"\1abcd"s, "\4abcdefghijklmnop"s, "\3\0"s, "\3\5proxy"s, "\3\xff"s + std::string(255, 'n')}) {
        socks5_conversation talk("host", 1, "", "");
        written(talk);
        EXPECT_EQ(receive(talk, "\5\0"s), unfinished);
        written(talk);
        EXPECT_EQ(receive(talk, "\5\0\0"s + address + "\4"s), unfinished);
        EXPECT_EQ(talk.wanted(), 1u);
        EXPECT_EQ(receive(talk, "\xd2"s), opened);
        EXPECT_EQ(talk.wanted(), 0u);
    }
}

TEST(socks5, may_be_written_in_pieces) {
    socks5_conversation talk("host", 1, "", "");
    talk.note_written(1);
    EXPECT_EQ(as_text(talk.output()), "\1\0"s);
}

TEST(socks5, fails_as_the_proxy_says) {
    const std::pair<char, int> cases[] = {
        {1, EPROTO},    {2, EACCES},  {3, ENETUNREACH}, {4, EHOSTUNREACH}, {5, ECONNREFUSED},
        {6, ETIMEDOUT}, {7, ENOTSUP}, {8, ENOTSUP},     {9, EPROTO},       {-1, EPROTO}};
    for (const auto &[reply, number] : cases) {
        socks5_conversation talk("host", 1, "", "");
        EXPECT_EQ(receive(talk, "\5\0"s), unfinished);
        EXPECT_EQ(receive(talk, "\5"s + reply + "\0\1\0"s), progress::failed);
        EXPECT_EQ(to_errno(talk.failure()), number);
        EXPECT_EQ(talk.wanted(), 0u);
    }
}

TEST(socks5, fails_when_the_proxy_takes_nothing_that_was_offered) {
    for (const std::string_view choice : {"\5\xff", "\5\2", "\5\1"}) {
        socks5_conversation talk("host", 1, "", "");
        EXPECT_EQ(receive(talk, choice), progress::failed);
        EXPECT_EQ(to_errno(talk.failure()), EACCES);
    }
    socks5_conversation talk("host", 1, "bob", "wrong");
    EXPECT_EQ(receive(talk, "\5\2"s), unfinished);
    EXPECT_EQ(receive(talk, "\1\1"s), progress::failed);
    EXPECT_EQ(to_errno(talk.failure()), EACCES);
}

TEST(socks5, fails_on_octets_of_another_protocol) {
    for (const std::string &octets :
         {"\4\0"s, "HT"s, "\5\0\4\0\0\1\0"s, "\5\0\5\0\0\2\0"s, "\5\0\5\0\0\0\0"s}) {
        socks5_conversation talk("host", 1, "", "");
        EXPECT_EQ(receive(talk, octets), progress::failed);
        EXPECT_EQ(to_errno(talk.failure()), EPROTO);
    }
    socks5_conversation talk("host", 1, "bob", "pw");
    EXPECT_EQ(receive(talk, "\5\2\5\0"s), progress::failed);
}

}  // namespace
}  // namespace zlink
