// The option table against what libzmq 4.3.4 was seen to answer, option by option.
#include "socket/options.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace zlink {
namespace {

using enum socket_type;
constexpr socket_type all_types[] = {pair,   pub,  sub,  req,  rep,  dealer,
                                     router, pull, push, xpub, xsub, stream};

error set_int(settings &s, int number, int value) { return set_option(s, number, &value, sizeof value); }
error set_text(settings &s, int number, std::string_view text) {
    return set_option(s, number, text.data(), text.size());
}
error set_null(settings &s, int number) { return set_option(s, number, nullptr, 0); }

constexpr int no_value = INT_MIN + 12345;
int get_int(const settings &s, int number) {
    int value = 0;
    std::size_t size = sizeof value;
    return failed(get_option(s, number, &value, &size)) || size != sizeof value ? no_value : value;
}

/// Returns what get_option writes into plenty of room; "<invalid>" when it refuses.
std::string get_octets(const settings &s, int number, std::size_t room = 512) {
    std::string out(room, '?');
    return failed(get_option(s, number, out.data(), &room)) ? "<invalid>" : out.substr(0, room);
}

using namespace std::string_view_literals;
std::string with_nul(std::string_view text) { return std::string(text) + '\0'; }

// ---- Integers that every type has ---------------------------------------------------------------

struct int_case {
    int number;
    int initial;
    std::vector<int> good;
    std::vector<int> bad;
};

const int_case int_cases[] = {
    {ZMQ_RATE, 100, {1, INT_MAX}, {0, -1}},
    {ZMQ_RECOVERY_IVL, 10000, {0, INT_MAX}, {-1}},
    {ZMQ_SNDBUF, -1, {-1, 0, 8192}, {-2}},
    {ZMQ_RCVBUF, -1, {-1, 0, 8192}, {-2}},
    {ZMQ_LINGER, -1, {-1, 0, INT_MAX}, {-2, INT_MIN}},
    {ZMQ_RECONNECT_IVL, 100, {-1, 0, 5}, {-2}},
    {ZMQ_RECONNECT_IVL_MAX, 0, {0, 5}, {-1}},
    {ZMQ_BACKLOG, 100, {0, 1}, {-1}},
    {ZMQ_SNDHWM, 1000, {0, 1, INT_MAX}, {-1}},
    {ZMQ_RCVHWM, 1000, {0, 1, INT_MAX}, {-1}},
    {ZMQ_MULTICAST_HOPS, 1, {1, 255}, {0, -1}},
    {ZMQ_RCVTIMEO, -1, {-1, 0, 10}, {-2}},
    {ZMQ_SNDTIMEO, -1, {-1, 0, 10}, {-2}},
    {ZMQ_IPV4ONLY, 1, {0, 1}, {2, -1}},
    {ZMQ_TCP_KEEPALIVE, -1, {-1, 0, 1}, {2, -2}},
    {ZMQ_TCP_KEEPALIVE_CNT, -1, {-1, 0, 9}, {-2}},
    {ZMQ_TCP_KEEPALIVE_IDLE, -1, {-1, 0, 9}, {-2}},
    {ZMQ_TCP_KEEPALIVE_INTVL, -1, {-1, 0, 9}, {-2}},
    {ZMQ_IMMEDIATE, 0, {1, 0}, {2, -1}},
    {ZMQ_IPV6, 0, {1, 0}, {2, -1}},
    {ZMQ_PLAIN_SERVER, 0, {1, 0}, {2, -1}},
    {ZMQ_CONFLATE, 0, {1, 0}, {2, -1}},
    {ZMQ_TOS, 0, {0, 0x28}, {-1}},
    {ZMQ_HANDSHAKE_IVL, 30000, {0, 5}, {-1}},
    {ZMQ_HEARTBEAT_IVL, 0, {0, 5}, {-1}},
    {ZMQ_HEARTBEAT_TTL, 0, {0, 100, 6553500}, {-100, 6553600}},
    {ZMQ_HEARTBEAT_TIMEOUT, -1, {0, 5}, {-1}},
    {ZMQ_CONNECT_TIMEOUT, 0, {0, 5}, {-1}},
    {ZMQ_TCP_MAXRT, 0, {0, 5}, {-1}},
    {ZMQ_MULTICAST_MAXTPDU, 1500, {1}, {0, -1}},
    {ZMQ_USE_FD, -1, {-1, 0, 3}, {-2}},
    {ZMQ_RECONNECT_STOP, 0, {0, 1, 2, 3, 7}, {8, -1}},
    {ZMQ_IN_BATCH_SIZE, 8192, {1, 65536}, {0, -1}},
    {ZMQ_OUT_BATCH_SIZE, 8192, {1, 65536}, {0, -1}},
    {ZMQ_PRIORITY, 0, {0, 6}, {-1}},
    {ZMQ_BUSY_POLL, 0, {0, 1}, {-1}},
};

TEST(option_of_int, starts_with_its_default) {
    for (const int_case &each : int_cases)
        EXPECT_EQ(get_int(default_settings(pair), each.number), each.initial) << each.number;
}

TEST(option_of_int, accepts_its_range_and_nothing_else) {
    for (socket_type type : all_types)
        for (const int_case &each : int_cases) {
            settings s = default_settings(type);
            for (int value : each.good) {
                EXPECT_EQ(set_int(s, each.number, value), error::none) << each.number << '=' << value;
                EXPECT_EQ(get_int(s, each.number), value) << each.number;
            }
            const int last = get_int(s, each.number);
            for (int value : each.bad)
                EXPECT_EQ(set_int(s, each.number, value), error::invalid) << each.number << '=' << value;
            EXPECT_EQ(get_int(s, each.number), last) << each.number;
        }
}

TEST(option_of_int, wants_exactly_the_size_of_an_int) {
    const char room[16] = {};
    for (const int_case &each : int_cases) {
        settings s = default_settings(pair);
        for (std::size_t size : {0, 1, 3, 5, 8})
            EXPECT_EQ(set_option(s, each.number, room, size), error::invalid) << each.number;
        EXPECT_EQ(set_null(s, each.number), error::invalid) << each.number;
        for (std::size_t size : {0, 3, 5, 8})
            EXPECT_EQ(get_octets(s, each.number, size), "<invalid>") << each.number;
    }
}

TEST(option_of_64_bits, takes_any_value_of_its_size) {
    settings s = default_settings(pair);
    const std::int64_t limit = -7;
    EXPECT_EQ(s.max_message_size, -1);
    EXPECT_EQ(set_option(s, ZMQ_MAXMSGSIZE, &limit, sizeof limit), error::none);
    EXPECT_EQ(s.max_message_size, -7);
    EXPECT_EQ(set_int(s, ZMQ_MAXMSGSIZE, 5), error::invalid);
    EXPECT_EQ(get_octets(s, ZMQ_MAXMSGSIZE, 4), "<invalid>");
    EXPECT_EQ(get_octets(s, ZMQ_MAXMSGSIZE, 8).size(), 8u);

    const std::uint64_t bitmap = ~std::uint64_t{0};
    EXPECT_EQ(set_option(s, ZMQ_AFFINITY, &bitmap, sizeof bitmap), error::none);
    EXPECT_EQ(s.affinity, bitmap);
    EXPECT_EQ(set_int(s, ZMQ_AFFINITY, 1), error::invalid);
}

TEST(option_of_any_int, reads_back_as_one_or_zero) {
    for (int number : {ZMQ_INVERT_MATCHING, ZMQ_MULTICAST_LOOP, ZMQ_ZAP_ENFORCE_DOMAIN}) {
        settings s = default_settings(sub);
        EXPECT_EQ(get_int(s, number), number == ZMQ_MULTICAST_LOOP);
        for (int value : {5, -7, 1}) {
            EXPECT_EQ(set_int(s, number, value), error::none);
            EXPECT_EQ(get_int(s, number), 1);
        }
        EXPECT_EQ(set_int(s, number, 0), error::none);
        EXPECT_EQ(get_int(s, number), 0);
    }
}

TEST(heartbeat_ttl, is_cut_to_tenths_of_a_second) {
    settings s = default_settings(pair);
    EXPECT_EQ(set_int(s, ZMQ_HEARTBEAT_TTL, 150), error::none);
    EXPECT_EQ(get_int(s, ZMQ_HEARTBEAT_TTL), 100);
    EXPECT_EQ(set_int(s, ZMQ_HEARTBEAT_TTL, 6553599), error::none);
    EXPECT_EQ(get_int(s, ZMQ_HEARTBEAT_TTL), 6553500);
    EXPECT_EQ(set_int(s, ZMQ_HEARTBEAT_TTL, -99), error::none);
    EXPECT_EQ(get_int(s, ZMQ_HEARTBEAT_TTL), 0);
}

TEST(linger, is_zero_from_the_start_for_subscribers) {
    for (socket_type type : all_types)
        EXPECT_EQ(get_int(default_settings(type), ZMQ_LINGER), type == sub || type == xsub ? 0 : -1);
}

TEST(ipv4only, is_the_inverse_of_ipv6) {
    settings s = default_settings(pair);
    EXPECT_EQ(set_int(s, ZMQ_IPV4ONLY, 0), error::none);
    EXPECT_EQ(get_int(s, ZMQ_IPV6), 1);
    EXPECT_EQ(set_int(s, ZMQ_IPV6, 0), error::none);
    EXPECT_EQ(get_int(s, ZMQ_IPV4ONLY), 1);
}

TEST(type, is_read_only) {
    for (socket_type t : all_types) {
        settings s = default_settings(t);
        EXPECT_EQ(get_int(s, ZMQ_TYPE), static_cast<int>(t));
        EXPECT_EQ(set_int(s, ZMQ_TYPE, 1), error::invalid);
    }
}

// ---- Options of some types ----------------------------------------------------------------------

struct typed_case {
    int number;
    std::vector<socket_type> types;
    bool settings::*field;
};

const typed_case typed_cases[] = {
    {ZMQ_ROUTER_MANDATORY, {rep, router}, &settings::router_mandatory},
    {ZMQ_ROUTER_HANDOVER, {rep, router}, &settings::router_handover},
    {ZMQ_PROBE_ROUTER, {req, rep, dealer, router}, &settings::probe_router},
    {ZMQ_REQ_CORRELATE, {req}, &settings::req_correlate},
    {ZMQ_REQ_RELAXED, {req}, &settings::req_relaxed},
    {ZMQ_XPUB_VERBOSE, {pub, xpub}, &settings::xpub_verbose},
    {ZMQ_XPUB_VERBOSER, {pub, xpub}, &settings::xpub_verboser},
    {ZMQ_XPUB_NODROP, {pub, xpub}, &settings::xpub_nodrop},
    {ZMQ_XPUB_MANUAL, {pub, xpub}, &settings::xpub_manual},
    {ZMQ_XPUB_MANUAL_LAST_VALUE, {pub, xpub}, &settings::xpub_manual_last_value},
    {ZMQ_ONLY_FIRST_SUBSCRIBE, {pub, xpub, xsub}, &settings::only_first_subscribe},
    {ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, {xsub}, &settings::xsub_verbose_unsubscribe},
};

TEST(option_of_a_pattern, belongs_to_some_types_only) {
    for (const typed_case &each : typed_cases)
        for (socket_type type : all_types) {
            settings s = default_settings(type);
            const bool has_it = std::find(each.types.begin(), each.types.end(), type) != each.types.end();
            EXPECT_EQ(set_int(s, each.number, 5), has_it ? error::none : error::invalid) << each.number;
            EXPECT_EQ(s.*each.field, has_it) << each.number;
            EXPECT_EQ(set_int(s, each.number, -1), error::invalid) << each.number;
            EXPECT_EQ(get_octets(s, each.number, 4), "<invalid>") << "write only: " << each.number;
        }
}

TEST(stream_notify, is_strict_and_on_from_the_start) {
    settings s = default_settings(stream);
    EXPECT_TRUE(s.stream_notify);
    EXPECT_EQ(set_int(s, ZMQ_STREAM_NOTIFY, 2), error::invalid);
    EXPECT_EQ(set_int(s, ZMQ_STREAM_NOTIFY, 0), error::none);
    EXPECT_FALSE(s.stream_notify);
    settings other = default_settings(router);
    EXPECT_EQ(set_int(other, ZMQ_STREAM_NOTIFY, 0), error::invalid);
}

TEST(router_notify, takes_two_bits) {
    settings s = default_settings(router);
    EXPECT_EQ(set_int(s, ZMQ_ROUTER_NOTIFY, 3), error::none);
    EXPECT_EQ(get_int(s, ZMQ_ROUTER_NOTIFY), 3);
    EXPECT_EQ(set_int(s, ZMQ_ROUTER_NOTIFY, 4), error::invalid);
    settings other = default_settings(dealer);
    EXPECT_EQ(set_int(other, ZMQ_ROUTER_NOTIFY, 1), error::invalid);
}

TEST(xpub_verboser, includes_verbose_and_verbose_takes_it_back) {
    settings s = default_settings(xpub);
    EXPECT_EQ(set_int(s, ZMQ_XPUB_VERBOSER, 1), error::none);
    EXPECT_TRUE(s.xpub_verbose && s.xpub_verboser);
    EXPECT_EQ(set_int(s, ZMQ_XPUB_VERBOSE, 1), error::none);
    EXPECT_TRUE(s.xpub_verbose && !s.xpub_verboser);
    EXPECT_EQ(set_int(s, ZMQ_XPUB_VERBOSER, 0), error::none);
    EXPECT_FALSE(s.xpub_verbose || s.xpub_verboser);
}

TEST(xpub_manual_last_value, includes_manual) {
    settings s = default_settings(xpub);
    EXPECT_EQ(set_int(s, ZMQ_XPUB_MANUAL_LAST_VALUE, 1), error::none);
    EXPECT_TRUE(s.xpub_manual && s.xpub_manual_last_value);
}

// ---- Octets and text ----------------------------------------------------------------------------

TEST(routing_id, holds_1_to_255_octets) {
    settings s = default_settings(dealer);
    EXPECT_EQ(get_octets(s, ZMQ_ROUTING_ID), "");
    EXPECT_EQ(get_octets(s, ZMQ_ROUTING_ID, 0), "");
    EXPECT_EQ(set_text(s, ZMQ_ROUTING_ID, "\0abc"sv), error::none);
    EXPECT_EQ(get_octets(s, ZMQ_ROUTING_ID), "\0abc"sv);
    EXPECT_EQ(get_octets(s, ZMQ_ROUTING_ID, 4), "\0abc"sv);
    EXPECT_EQ(get_octets(s, ZMQ_ROUTING_ID, 3), "<invalid>");
    EXPECT_EQ(set_text(s, ZMQ_ROUTING_ID, ""), error::invalid);
    EXPECT_EQ(set_null(s, ZMQ_ROUTING_ID), error::invalid);
    EXPECT_EQ(set_text(s, ZMQ_ROUTING_ID, std::string(256, 'x')), error::invalid);
    EXPECT_EQ(set_text(s, ZMQ_ROUTING_ID, std::string(255, 'x')), error::none);
    EXPECT_EQ(s.routing_id.size(), 255u);
}

TEST(connect_routing_id, is_for_types_that_route) {
    for (socket_type type : all_types) {
        settings s = default_settings(type);
        const bool routes = type == rep || type == router || type == stream;
        EXPECT_EQ(set_text(s, ZMQ_CONNECT_ROUTING_ID, "peer"), routes ? error::none : error::invalid);
        EXPECT_EQ(s.connect_routing_id, routes ? "peer" : "");
        EXPECT_EQ(set_text(s, ZMQ_CONNECT_ROUTING_ID, ""), error::invalid);
        EXPECT_EQ(get_octets(s, ZMQ_CONNECT_ROUTING_ID), "<invalid>");
    }
}

TEST(welcome_message, may_be_empty) {
    settings s = default_settings(xpub);
    EXPECT_EQ(set_text(s, ZMQ_XPUB_WELCOME_MSG, "W\0"sv), error::none);
    EXPECT_EQ(s.xpub_welcome_message, "W\0"sv);
    EXPECT_EQ(set_null(s, ZMQ_XPUB_WELCOME_MSG), error::none);
    EXPECT_EQ(s.xpub_welcome_message, "");
    settings other = default_settings(sub);
    EXPECT_EQ(set_text(other, ZMQ_XPUB_WELCOME_MSG, "W"), error::invalid);
}

TEST(messages_at_connect_and_disconnect, are_octets_of_any_length) {
    settings s = default_settings(router);
    EXPECT_EQ(set_text(s, ZMQ_HELLO_MSG, "hello"), error::none);
    EXPECT_EQ(set_text(s, ZMQ_DISCONNECT_MSG, "bye"), error::none);
    EXPECT_EQ(set_text(s, ZMQ_HICCUP_MSG, "hic"), error::none);
    EXPECT_EQ(s.hello_message + s.disconnect_message + s.hiccup_message, "hellobyehic");
    EXPECT_EQ(set_null(s, ZMQ_HELLO_MSG), error::none);
    EXPECT_EQ(s.hello_message, "");
    EXPECT_EQ(get_octets(s, ZMQ_HELLO_MSG), "<invalid>");
}

struct text_case {
    int number;
    std::size_t longest;  // 0 = no limit
    error with_no_octets;
    error with_null;
};

const text_case text_cases[] = {
    {ZMQ_SOCKS_PROXY, 0, error::invalid, error::none},
    {ZMQ_SOCKS_USERNAME, 255, error::none, error::none},
    {ZMQ_SOCKS_PASSWORD, 255, error::none, error::none},
    {ZMQ_BINDTODEVICE, 16, error::invalid, error::none},
};

TEST(option_of_text, is_read_with_its_nul) {
    for (const text_case &each : text_cases) {
        settings s = default_settings(pair);
        EXPECT_EQ(get_octets(s, each.number), with_nul(""));
        EXPECT_EQ(get_octets(s, each.number, 0), "<invalid>");
        EXPECT_EQ(set_text(s, each.number, "a\0c"sv), error::none);
        EXPECT_EQ(get_octets(s, each.number), with_nul("a\0c"sv));
        EXPECT_EQ(get_octets(s, each.number, 4), with_nul("a\0c"sv));
        EXPECT_EQ(get_octets(s, each.number, 3), "<invalid>");
    }
}

#ifdef ZLINK_WITH_TLS
TEST(option_of_text, of_tls_has_no_nul_that_would_cut_it_in_silence) {
    for (const int number :
         {ZMQ_TLS_CERT, ZMQ_TLS_KEY, ZMQ_TLS_CA, ZMQ_TLS_HOSTNAME, ZMQ_TLS_PASSWORD, ZMQ_TLS_GROUPS}) {
        settings s = default_settings(pair);
        EXPECT_EQ(set_text(s, number, "abc"), error::none);
        EXPECT_EQ(set_text(s, number, "a.example\0.evil"sv), error::invalid) << number;
        EXPECT_EQ(set_text(s, number, "abc\0"sv), error::invalid) << number;
        EXPECT_EQ(get_octets(s, number), with_nul("abc")) << number;
    }
    settings s = default_settings(pair);
    EXPECT_EQ(set_text(s, ZMQ_WSS_HOSTNAME, "a.example\0"sv), error::none);
    EXPECT_EQ(s.tls_hostname, "a.example");
    EXPECT_EQ(set_text(s, ZMQ_WSS_HOSTNAME, "a.example\0.evil"sv), error::invalid);
    EXPECT_EQ(s.tls_hostname, "a.example");
}
#endif

TEST(option_of_text, has_limits_and_a_meaning_when_empty) {
    for (const text_case &each : text_cases) {
        settings s = default_settings(pair);
        const std::size_t longest = each.longest ? each.longest : 5000;
        EXPECT_EQ(set_text(s, each.number, std::string(longest, 'x')), error::none) << each.number;
        EXPECT_EQ(set_text(s, each.number, std::string(longest + 1, 'x')),
                  each.longest ? error::invalid : error::none);
        EXPECT_EQ(set_text(s, each.number, "abc"), error::none);
        EXPECT_EQ(set_text(s, each.number, ""), each.with_no_octets) << each.number;
        EXPECT_EQ(get_octets(s, each.number), with_nul(failed(each.with_no_octets) ? "abc" : ""));
        EXPECT_EQ(set_text(s, each.number, "abc"), error::none);
        EXPECT_EQ(set_null(s, each.number), each.with_null) << each.number;
        EXPECT_EQ(get_octets(s, each.number), with_nul(failed(each.with_null) ? "abc" : ""));
    }
}

TEST(metadata, wants_a_name_with_its_prefix_and_a_value) {
    settings s = default_settings(pair);
    for (std::string_view bad : {"", "X-key", "key:value", "X-:v", "X-a:", ":", "x-a:b", "a:b",
                                 "X-Zlink-Batch:1c", "X-ZLINK-batch:x", "X-Zlink-Gap:1", "x-zlink-GAP:1"})
        EXPECT_EQ(set_text(s, ZMQ_METADATA, bad), error::invalid) << bad;
    EXPECT_EQ(set_text(s, ZMQ_METADATA, "X-" + std::string(254, 'k') + ":v"), error::invalid);
    EXPECT_TRUE(s.metadata.empty());

    EXPECT_EQ(set_text(s, ZMQ_METADATA, "X-a:b:c"), error::none);
    EXPECT_EQ(set_text(s, ZMQ_METADATA, "X-" + std::string(253, 'k') + ":" + std::string(1000, 'v')),
              error::none);
    EXPECT_EQ(set_text(s, ZMQ_METADATA, "X-a:d"), error::none);
    ASSERT_EQ(s.metadata.size(), 2u);
    EXPECT_EQ(s.metadata[0], (std::pair<std::string, std::string>("X-a", "d")));
    EXPECT_EQ(get_octets(s, ZMQ_METADATA), "<invalid>");
}

// ---- Security -----------------------------------------------------------------------------------

constexpr int null_mechanism = ZMQ_NULL;

TEST(mechanism, follows_the_plain_options) {
    settings s = default_settings(pair);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), null_mechanism);
    EXPECT_EQ(set_int(s, ZMQ_MECHANISM, ZMQ_PLAIN), error::invalid);

    EXPECT_EQ(set_int(s, ZMQ_PLAIN_SERVER, 1), error::none);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), ZMQ_PLAIN);
    EXPECT_EQ(set_int(s, ZMQ_PLAIN_SERVER, 0), error::none);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), null_mechanism);

    EXPECT_EQ(set_int(s, ZMQ_PLAIN_SERVER, 1), error::none);
    EXPECT_EQ(set_text(s, ZMQ_PLAIN_USERNAME, "bob"), error::none);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), ZMQ_PLAIN);
    EXPECT_EQ(get_int(s, ZMQ_PLAIN_SERVER), 0) << "a user name makes a client";
    EXPECT_EQ(set_null(s, ZMQ_PLAIN_USERNAME), error::none);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), null_mechanism);
    EXPECT_EQ(get_octets(s, ZMQ_PLAIN_USERNAME), with_nul("bob")) << "only the mechanism is taken back";

    EXPECT_EQ(set_text(s, ZMQ_PLAIN_PASSWORD, "pw"), error::none);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), ZMQ_PLAIN);
    EXPECT_EQ(get_octets(s, ZMQ_PLAIN_PASSWORD), with_nul("pw"));
    for (int number : {ZMQ_PLAIN_USERNAME, ZMQ_PLAIN_PASSWORD}) {
        EXPECT_EQ(set_text(s, number, ""), error::invalid);
        EXPECT_EQ(set_text(s, number, std::string(256, 'x')), error::invalid);
        EXPECT_EQ(set_text(s, number, std::string(255, 'x')), error::none);
    }
}

#ifdef ZLINK_WITH_CURVE
TEST(curve_keys, come_as_octets_or_text_and_choose_the_mechanism) {
    for (int number : {ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY, ZMQ_CURVE_SERVERKEY}) {
        settings s = default_settings(pair);
        EXPECT_EQ(get_octets(s, number, 32), std::string(32, '\0'));
        EXPECT_EQ(set_text(s, number, std::string(32, 'k')), error::none);
        EXPECT_EQ(get_int(s, ZMQ_MECHANISM), ZMQ_CURVE);
        EXPECT_EQ(get_octets(s, number, 32), std::string(32, 'k'));
        EXPECT_EQ(set_text(s, number, std::string(40, '0')), error::none);
        EXPECT_EQ(get_octets(s, number, 41), with_nul(std::string(40, '0')));
        EXPECT_EQ(set_text(s, number, with_nul(std::string(40, '1'))), error::none);
        EXPECT_EQ(get_octets(s, number, 41), with_nul(std::string(40, '1')));
        for (const std::string &bad : {std::string(), std::string(31, 'k'), std::string(33, 'k'),
                                       std::string(40, '~'), std::string(40, '#'), std::string(41, '0')})
            EXPECT_EQ(set_text(s, number, bad), error::invalid) << bad.size();
        EXPECT_EQ(get_octets(s, number, 40), "<invalid>");
        EXPECT_EQ(get_octets(s, number, 42), "<invalid>");
    }
}

TEST(curve_server, is_kept_by_its_own_keys_and_lost_with_the_key_of_a_server) {
    settings s = default_settings(pair);
    EXPECT_EQ(set_int(s, ZMQ_CURVE_SERVER, 1), error::none);
    EXPECT_EQ(set_text(s, ZMQ_CURVE_SECRETKEY, std::string(32, 'k')), error::none);
    EXPECT_EQ(get_int(s, ZMQ_CURVE_SERVER), 1);
    EXPECT_EQ(set_text(s, ZMQ_CURVE_SERVERKEY, std::string(32, 'k')), error::none);
    EXPECT_EQ(get_int(s, ZMQ_CURVE_SERVER), 0);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), ZMQ_CURVE);
    EXPECT_EQ(set_int(s, ZMQ_PLAIN_SERVER, 1), error::none);
    EXPECT_EQ(get_int(s, ZMQ_CURVE_SERVER), 0);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), ZMQ_PLAIN);
}

TEST(curve_server, is_yes_or_no_and_gives_the_mechanism_back) {
    settings s = default_settings(pair);
    for (const int bad : {2, -1})
        EXPECT_EQ(set_int(s, ZMQ_CURVE_SERVER, bad), error::invalid);
    EXPECT_EQ(set_text(s, ZMQ_CURVE_SERVERKEY, std::string(32, 'k')), error::none);
    EXPECT_EQ(set_int(s, ZMQ_CURVE_SERVER, 1), error::none);
    EXPECT_EQ(get_int(s, ZMQ_CURVE_SERVER), 1);
    EXPECT_EQ(set_int(s, ZMQ_CURVE_SERVER, 0), error::none);
    EXPECT_EQ(get_int(s, ZMQ_CURVE_SERVER), 0);
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), null_mechanism);
    EXPECT_EQ(get_octets(s, ZMQ_CURVE_SERVERKEY, 32), std::string(32, 'k')) << "the keys stay";
}
#else
TEST(curve_options, are_refused_by_a_library_without_curve) {
    settings s = default_settings(pair);
    EXPECT_EQ(set_int(s, ZMQ_CURVE_SERVER, 1), error::invalid);
    EXPECT_EQ(get_int(s, ZMQ_CURVE_SERVER), no_value);
    for (int number : {ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY, ZMQ_CURVE_SERVERKEY}) {
        EXPECT_EQ(set_text(s, number, std::string(32, 'k')), error::invalid);
        EXPECT_EQ(get_octets(s, number, 32), "<invalid>");
    }
    EXPECT_EQ(get_int(s, ZMQ_MECHANISM), null_mechanism);
}
#endif

// ---- Filters ------------------------------------------------------------------------------------

TEST(tcp_accept_filter, takes_numeric_addresses_with_a_prefix) {
    settings s = default_settings(pair);
    EXPECT_EQ(set_text(s, ZMQ_TCP_ACCEPT_FILTER, "10.1.2.3/8"), error::none);
    EXPECT_EQ(set_text(s, ZMQ_TCP_ACCEPT_FILTER, "127.0.0.1\0"sv), error::none);
    ASSERT_EQ(s.tcp_accept_filters.size(), 2u);
    EXPECT_EQ(s.tcp_accept_filters[0].prefix_bits, 8);
    EXPECT_FALSE(s.tcp_accept_filters[0].is_v6);
    EXPECT_EQ(std::memcmp(s.tcp_accept_filters[0].address, "\x0a\x01\x02\x03", 4), 0);
    EXPECT_EQ(s.tcp_accept_filters[1].prefix_bits, 32);

    for (std::string_view bad :
         {""sv, "x"sv, "localhost"sv, "lo"sv, "*"sv, "1.2.3.4:80"sv, "10.0.0.0/33"sv, "10.0.0.0/"sv,
          "10.0.0.0/-1"sv, "1.2.3.4/8x"sv, "1.2.3.4 x"sv, "::1"sv, "10.0.0.0\0/8"sv, "10.0.0.0/8\0x"sv})
        EXPECT_EQ(set_text(s, ZMQ_TCP_ACCEPT_FILTER, bad), error::invalid) << bad;
    EXPECT_EQ(set_text(s, ZMQ_TCP_ACCEPT_FILTER, std::string(256, '1')), error::invalid);
    EXPECT_EQ(s.tcp_accept_filters.size(), 2u);

    EXPECT_EQ(set_null(s, ZMQ_TCP_ACCEPT_FILTER), error::none);
    EXPECT_TRUE(s.tcp_accept_filters.empty());
    EXPECT_EQ(get_octets(s, ZMQ_TCP_ACCEPT_FILTER), "<invalid>");
}

TEST(tcp_accept_filter, takes_ipv6_addresses_once_ipv6_is_on) {
    settings s = default_settings(pair);
    s.ipv6 = true;
    for (std::string_view good : {"::1", "[::1]", "fe80::/10", "[fe80::]/10", "fe80::1%lo", "::/0", "::/128"})
        EXPECT_EQ(set_text(s, ZMQ_TCP_ACCEPT_FILTER, good), error::none) << good;
    for (std::string_view bad : {"::/129", "[::1", "::1]", "::/x", ":"})
        EXPECT_EQ(set_text(s, ZMQ_TCP_ACCEPT_FILTER, bad), error::invalid) << bad;
    ASSERT_EQ(s.tcp_accept_filters.size(), 7u);
    EXPECT_TRUE(s.tcp_accept_filters[2].is_v6);
    EXPECT_EQ(s.tcp_accept_filters[2].prefix_bits, 10);
}

TEST(ipc_filters, add_up_and_are_cleared_by_null) {
    settings s = default_settings(pair);
    for (int number : {ZMQ_IPC_FILTER_PID, ZMQ_IPC_FILTER_UID, ZMQ_IPC_FILTER_GID}) {
        EXPECT_EQ(set_int(s, number, 7), error::none);
        EXPECT_EQ(set_int(s, number, 8), error::none);
        EXPECT_EQ(set_text(s, number, ""), error::invalid);
        EXPECT_EQ(set_text(s, number, "12345"), error::invalid);
        EXPECT_EQ(get_octets(s, number, 4), "<invalid>");
    }
    EXPECT_EQ(s.ipc_pid_filters, (std::set<int>{7, 8}));
    EXPECT_EQ(s.ipc_uid_filters, (std::set<unsigned>{7, 8}));
    EXPECT_EQ(s.ipc_gid_filters, (std::set<unsigned>{7, 8}));
    EXPECT_EQ(set_null(s, ZMQ_IPC_FILTER_UID), error::none);
    EXPECT_TRUE(s.ipc_uid_filters.empty());
    EXPECT_FALSE(s.ipc_gid_filters.empty());
}

// ---- What is not in the table -------------------------------------------------------------------

TEST(options_of_the_socket, are_left_to_it) {
    settings s = default_settings(sub);
    for (int number : {ZMQ_SUBSCRIBE, ZMQ_UNSUBSCRIBE, ZMQ_RCVMORE, ZMQ_FD, ZMQ_EVENTS, ZMQ_LAST_ENDPOINT,
                       ZMQ_THREAD_SAFE, ZMQ_TOPICS_COUNT}) {
        EXPECT_TRUE(is_answered_by_socket(number)) << number;
        EXPECT_EQ(set_int(s, number, 1), error::invalid) << number;
        EXPECT_EQ(get_int(s, number), no_value) << number;
    }
    EXPECT_FALSE(is_answered_by_socket(ZMQ_LINGER));
    EXPECT_FALSE(is_answered_by_socket(ZMQ_TYPE));
}

TEST(unknown_options, are_refused) {
    settings s = default_settings(pair);
    for (int number : {-1, 0, 1, 3, 10, 20, 26, 29, 30, 67, 70, 82, 83, ZMQ_VMCI_BUFFER_SIZE,
                       ZMQ_GSSAPI_SERVER, 125, INT_MAX}) {
        EXPECT_EQ(set_int(s, number, 1), error::invalid) << number;
        EXPECT_EQ(get_int(s, number), no_value) << number;
        EXPECT_FALSE(is_answered_by_socket(number)) << number;
    }
}

TEST(null_pointers, are_refused) {
    settings s = default_settings(pair);
    EXPECT_EQ(set_option(s, ZMQ_LINGER, nullptr, sizeof(int)), error::invalid);
    EXPECT_EQ(set_option(s, ZMQ_ROUTING_ID, nullptr, 5), error::invalid);
    int value;
    std::size_t size = sizeof value;
    EXPECT_EQ(get_option(s, ZMQ_LINGER, nullptr, &size), error::invalid);
    EXPECT_EQ(get_option(s, ZMQ_LINGER, &value, nullptr), error::invalid);
}

TEST(settings, are_unchanged_by_a_size_no_memory_can_hold) {
    settings s = default_settings(xpub);
    s.xpub_welcome_message = "kept";
    EXPECT_EQ(set_option(s, ZMQ_XPUB_WELCOME_MSG, "", std::numeric_limits<std::size_t>::max()),
              error::no_memory);
    EXPECT_EQ(s.xpub_welcome_message, "kept");
}

}  // namespace
}  // namespace zlink
