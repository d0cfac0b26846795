// Nothing is accepted that has no effect: each option that can be set names a test that shows what
// it does.
//
// Whoever adds an option adds its row. An option that is not built answers EINVAL.
#define ZMQ_BUILD_DRAFT_API
#include "raw_peer.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace zlink::test;
using test_names = std::vector<std::string>;

const std::map<int, test_names> socket_options = {
    {ZMQ_AFFINITY,
     {"affinity.chooses_among_the_io_threads",
      "connections_of_one_socket.are_served_by_those_of_its_affinity"}},
    {ZMQ_ROUTING_ID, {"handshake_octets.of_each_type_with_a_routing_id_are_those_of_libzmq"}},
    {ZMQ_SUBSCRIBE, {"xpub_filter.passes_what_begins_with_the_topic"}},
    {ZMQ_UNSUBSCRIBE, {"xpub_filter.nothing_passes_after_a_cancellation"}},
    {ZMQ_RATE, {"multicast_options.are_for_transports_that_are_refused"}},
    {ZMQ_RECOVERY_IVL, {"multicast_options.are_for_transports_that_are_refused"}},
    {ZMQ_SNDBUF, {"system_socket.has_the_buffers_that_are_asked_for"}},
    {ZMQ_RCVBUF, {"system_socket.has_the_buffers_that_are_asked_for"}},
    {ZMQ_LINGER, {"linger.zero_lets_the_context_end_with_messages_unsent"}},
    {ZMQ_RECONNECT_IVL, {"reconnect_ivl.minus_one_gives_up_after_a_break"}},
    {ZMQ_BACKLOG, {"system_socket.queues_as_many_callers_as_the_backlog_says"}},
    {ZMQ_RECONNECT_IVL_MAX, {"reconnect_ivl.grows_up_to_its_maximum"}},
    {ZMQ_MAXMSGSIZE, {"large_frame.beyond_the_limit_closes_the_connection_before_it_arrives"}},
    {ZMQ_SNDHWM, {"hwm.an_unconnected_tcp_peer_holds_the_senders_mark"}},
    {ZMQ_RCVHWM, {"hwm.inproc_holds_the_sum_of_both_marks"}},
    {ZMQ_MULTICAST_HOPS, {"multicast_options.are_for_transports_that_are_refused"}},
    {ZMQ_RCVTIMEO, {"timeo.a_receive_ends_after_its_time"}},
    {ZMQ_SNDTIMEO, {"timeo.a_send_ends_after_its_time"}},
    {ZMQ_IPV4ONLY, {"ipv4only.off_lets_a_socket_bind_to_ipv6"}},
    {ZMQ_ROUTER_MANDATORY, {"router.mandatory_reports_a_peer_that_is_not_there"}},
    {ZMQ_TCP_KEEPALIVE, {"system_socket.is_kept_alive_as_told"}},
    {ZMQ_TCP_KEEPALIVE_CNT, {"system_socket.is_kept_alive_as_told"}},
    {ZMQ_TCP_KEEPALIVE_IDLE, {"system_socket.is_kept_alive_as_told"}},
    {ZMQ_TCP_KEEPALIVE_INTVL, {"system_socket.is_kept_alive_as_told"}},
    {ZMQ_TCP_ACCEPT_FILTER, {"tcp_accept_filter.lets_in_whom_it_names_and_nobody_else"}},
    {ZMQ_IMMEDIATE, {"immediate.on_refuses_until_a_connection_is_complete"}},
    {ZMQ_XPUB_VERBOSE, {"xpub_filter.verbose_is_told_of_every_subscription"}},
    {ZMQ_ROUTER_RAW, {"raw_router.tells_of_connections_without_being_asked_and_keeps_its_own_id"}},
    {ZMQ_IPV6, {"asio_tcp.an_ipv6_socket_hears_both_families"}},
    {ZMQ_PLAIN_SERVER, {"plain_options.refuse_a_peer_without_a_name_and_a_password"}},
    {ZMQ_PLAIN_USERNAME, {"plain_options.refuse_a_peer_without_a_name_and_a_password"}},
    {ZMQ_PLAIN_PASSWORD, {"plain_options.refuse_a_peer_without_a_name_and_a_password"}},
    {ZMQ_CURVE_SERVER, {"curve.lets_in_who_knows_the_key_of_the_server"}},
    {ZMQ_CURVE_SECRETKEY, {"curve.lets_in_who_knows_the_key_of_the_server"}},
    {ZMQ_CURVE_SERVERKEY, {"curve.lets_nobody_in_who_knows_another_key"}},
    {ZMQ_CURVE_PUBLICKEY, {"curve.lets_nobody_in_without_keys_of_its_own"}},
    {ZMQ_PROBE_ROUTER, {"router.a_probe_arrives_as_an_empty_message"}},
    {ZMQ_REQ_CORRELATE, {"req.relaxed_may_ask_again_and_gets_the_answer_to_the_last_question"}},
    {ZMQ_REQ_RELAXED, {"req.relaxed_may_ask_again_and_gets_the_answer_to_the_last_question"}},
    {ZMQ_CONFLATE, {"conflate.a_receiver_sees_the_last_message_only"}},
    {ZMQ_ROUTER_HANDOVER, {"router.hands_an_id_over_to_the_newest_peer_when_told_so"}},
    {ZMQ_TOS, {"system_socket.has_the_type_of_service_and_the_priority"}},
    {ZMQ_IPC_FILTER_PID, {"ipc_filters.let_in_whom_they_name_and_nobody_else"}},
    {ZMQ_IPC_FILTER_UID, {"ipc_filters.let_in_whom_they_name_and_nobody_else"}},
    {ZMQ_IPC_FILTER_GID, {"ipc_filters.let_in_whom_they_name_and_nobody_else"}},
    {ZMQ_CONNECT_ROUTING_ID, {"router.connects_to_a_peer_under_a_chosen_id"}},
    {ZMQ_HANDSHAKE_IVL, {"silent_peer.is_closed_when_the_handshake_takes_too_long"}},
    {ZMQ_SOCKS_PROXY, {"socks_proxy.carries_a_connection_to_a_name_it_resolves_itself"}},
    {ZMQ_XPUB_NODROP, {"xpub.without_dropping_reports_a_full_subscriber"}},
    {ZMQ_XPUB_MANUAL, {"xpub.manual_subscribes_the_last_heard_subscriber_to_what_it_is_told"}},
    {ZMQ_XPUB_WELCOME_MSG, {"xpub.greets_each_subscriber_with_the_welcome_message"}},
    {ZMQ_STREAM_NOTIFY, {"stream_socket.tells_of_no_connection_where_it_is_not_to"}},
    {ZMQ_INVERT_MATCHING, {"pub.inverted_matching_sends_to_those_who_did_not_ask"}},
    {ZMQ_HEARTBEAT_IVL, {"silent_peer.is_pinged_and_given_up"}},
    {ZMQ_HEARTBEAT_TTL, {"silent_peer.is_pinged_and_given_up"}},
    {ZMQ_HEARTBEAT_TIMEOUT, {"silent_peer.is_pinged_and_given_up"}},
    {ZMQ_XPUB_VERBOSER, {"xpub_filter.verboser_is_told_of_every_cancellation_too"}},
    {ZMQ_CONNECT_TIMEOUT, {"connect_timeout.gives_up_an_attempt_and_tries_again"}},
    {ZMQ_TCP_MAXRT, {"system_socket.gives_up_what_is_not_confirmed_in_time"}},
    {ZMQ_MULTICAST_MAXTPDU, {"multicast_options.are_for_transports_that_are_refused"}},
    {ZMQ_USE_FD, {"system_socket.may_be_one_that_listens_already"}},
    {ZMQ_BINDTODEVICE, {"system_socket.is_bound_to_a_device"}},
    {ZMQ_ZAP_DOMAIN, {"zap_handler.is_asked_about_a_peer_without_security_where_there_is_a_domain"}},
    {ZMQ_ZAP_ENFORCE_DOMAIN, {"zap_domain.is_enforced_when_asked_for"}},
    {ZMQ_LOOPBACK_FASTPATH, {"refused_option.takes_its_neutral_value_only"}},
    {ZMQ_METADATA, {"metadata.is_told_to_the_peer"}},
    {ZMQ_MULTICAST_LOOP, {"multicast_options.are_for_transports_that_are_refused"}},
    {ZMQ_ROUTER_NOTIFY, {"router.tells_of_a_peer_that_comes_and_of_one_that_goes_as_it_is_told"}},
    {ZMQ_XPUB_MANUAL_LAST_VALUE, {"xpub.manual_last_value_sends_the_next_message_to_who_asked_last_alone"}},
    {ZMQ_SOCKS_USERNAME, {"socks_proxy.is_given_user_and_password_where_it_asks"}},
    {ZMQ_SOCKS_PASSWORD, {"socks_proxy.is_given_user_and_password_where_it_asks"}},
    {ZMQ_IN_BATCH_SIZE, {"batch_size_of_a_socket.bounds_its_reads"}},
    {ZMQ_OUT_BATCH_SIZE, {"batch_size_of_a_socket.bounds_its_writes"}},
    {ZMQ_ONLY_FIRST_SUBSCRIBE, {"xpub.looks_for_subscriptions_in_first_frames_only_when_asked_to"}},
    {ZMQ_RECONNECT_STOP,
     {"reconnect_stop.when_refused_gives_up", "reconnect_stop.after_a_failed_handshake_gives_up",
      "reconnect_stop.after_a_disconnect_gives_up_what_was_not_sent"}},
    {ZMQ_HELLO_MSG, {"hello_msg.is_the_first_message_of_either_side"}},
    {ZMQ_DISCONNECT_MSG, {"disconnect_msg.is_received_when_a_peer_has_gone_behind_what_it_sent"}},
    {ZMQ_PRIORITY, {"system_socket.has_the_type_of_service_and_the_priority"}},
    {ZMQ_BUSY_POLL, {"system_socket.polls_as_busily_as_it_may"}},
    {ZMQ_HICCUP_MSG, {"hiccup_msg.is_received_when_a_peer_has_gone_that_is_connected_to_again"}},
    {ZLINK_SNDHWM_BYTES, {"octet_marks.let_a_message_in_while_less_than_the_mark_waits"}},
    {ZLINK_RCVHWM_BYTES, {"octet_marks.of_both_sides_add_up_over_inproc_and_stand_beside_those_in_messages"}},
    {ZLINK_SLOW_PEER, {"full_router.blocks_drops_or_disconnects_as_it_is_told"}},
    {ZLINK_SLOW_PEER_AFTER, {"slow_peer.is_told_of_when_its_queue_has_been_full_for_as_long_as_was_asked"}},
    {ZLINK_SOCKET_NAME, {"the_stats.are_told_as_text_under_the_names_of_sockets"}},
    {ZMQ_WS_ORIGIN, {"ws_origin.lets_in_whom_the_server_names_and_nobody_else"}},
    {ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, {"xsub.verbose_unsubscribe_passes_every_cancellation_on"}},
};

// A build may have these.
const std::map<int, test_names> tls_options = {
    {ZMQ_TLS_CERT, {"tls.passes_messages_between_a_server_and_a_client_that_know_one_authority"}},
    {ZMQ_TLS_KEY, {"tls.passes_messages_between_a_server_and_a_client_that_know_one_authority"}},
    {ZMQ_TLS_CA, {"tls.passes_messages_between_a_server_and_a_client_that_know_one_authority"}},
    {ZMQ_TLS_VERIFY, {"tls.without_verification_takes_any_server"}},
    {ZMQ_TLS_REQUIRE_CLIENT_CERT, {"tls.says_whose_certificate_a_message_came_with"}},
    {ZMQ_TLS_HOSTNAME, {"tls.a_server_proves_the_name_that_is_asked_for"}},
    {ZMQ_TLS_TRUST_SYSTEM, {"tls.trusts_the_system_where_it_is_told_to"}},
    {ZMQ_WSS_KEY_PEM, {"wss_options.take_the_text_itself_instead_of_files"}},
    {ZMQ_WSS_CERT_PEM, {"wss_options.take_the_text_itself_instead_of_files"}},
    {ZMQ_WSS_TRUST_PEM, {"wss_options.take_the_text_itself_instead_of_files"}},
    {ZMQ_WSS_HOSTNAME, {"wss_options.name_whom_the_server_has_to_be"}},
    {ZMQ_WSS_TRUST_SYSTEM, {"wss_options.trust_the_system_where_they_are_told_to"}},
    {ZMQ_TLS_PASSWORD, {"tls.opens_a_key_with_its_password"}},
    {ZMQ_TLS_ZAP, {"tls_zap.tells_the_handler_what_the_certificate_says_and_lets_in_whom_it_accepts"}},
    {ZMQ_TLS_GROUPS,
     {"groups.are_those_that_the_option_names", "groups.of_a_client_are_those_that_the_option_names"}},
};

const std::map<int, test_names> context_options = {
    {ZMQ_IO_THREADS,
     {"ctx.works_without_io_threads_for_inproc", "connections_of_one_socket.are_served_by_all_threads"}},
    {ZMQ_MAX_SOCKETS, {"ctx.refuses_more_sockets_than_its_limit"}},
    {ZMQ_THREAD_PRIORITY, {"io_thread.has_the_policy_and_the_priority_it_may_have"}},
    {ZMQ_THREAD_SCHED_POLICY, {"io_thread.has_the_policy_and_the_priority_it_may_have"}},
    {ZMQ_MAX_MSGSZ, {"ctx.sends_no_message_beyond_its_limit"}},
    {ZMQ_THREAD_AFFINITY_CPU_ADD, {"io_thread.stays_on_the_processors_it_was_given"}},
    {ZMQ_THREAD_AFFINITY_CPU_REMOVE, {"io_thread.stays_on_the_processors_it_was_given"}},
    {ZMQ_THREAD_NAME_PREFIX, {"io_thread.bears_the_prefix_in_its_name"}},
    {ZMQ_ZERO_COPY_RECV, {"refused_option.takes_its_neutral_value_only"}},
    {ZMQ_IPV6, {"ctx.ipv6_is_the_default_of_new_sockets"}},
    {ZMQ_BLOCKY, {"linger.default_is_no_limit_and_follows_the_contexts_blocky"}},
};

// ---- what can be set ----

constexpr int most_number = 300;
constexpr int first_own_number = 0x5A00, last_own_number = 0x5A40;
constexpr int types[] = {ZMQ_PAIR,   ZMQ_PUB,  ZMQ_SUB,  ZMQ_REQ,  ZMQ_REP,  ZMQ_DEALER,
                         ZMQ_ROUTER, ZMQ_PULL, ZMQ_PUSH, ZMQ_XPUB, ZMQ_XSUB, ZMQ_STREAM};
constexpr int likely_numbers[] = {0, 1, 2, 3, -1, 100, 8192};

std::vector<std::string> likely_values() {
    std::vector<std::string> out;
    for (const int number : likely_numbers)
        out.emplace_back(reinterpret_cast<const char *>(&number), sizeof number);
    for (const std::int64_t number : likely_numbers)
        out.emplace_back(reinterpret_cast<const char *>(&number), sizeof number);
    for (const char *text : {"", "t", "global", "127.0.0.1", "127.0.0.1:1080", "X-name:value", "lo"})
        out.emplace_back(text);
    out.emplace_back(32, 'k');
    out.emplace_back(40, '0');
    return out;
}

bool can_be_set(void *socket, int option, const std::vector<std::string> &values) {
    for (const std::string &value : values)
        if (zmq_setsockopt(socket, option, value.data(), value.size()) == 0)
            return true;
    return zmq_setsockopt(socket, option, nullptr, 0) == 0;
}

std::set<int> settable_on_sockets() {
    const zmq_context context;
    const std::vector<std::string> values = likely_values();
    std::set<int> found;
    for (const int type : types) {
        const zmq_socket_of socket(context, type);
        for (int option = 0; option < last_own_number; ++option) {
            if (option == most_number)
                option = first_own_number;
            if (!found.contains(option) && can_be_set(socket, option, values))
                found.insert(option);
        }
    }
    return found;
}

std::set<int> settable_on_contexts() {
    std::set<int> found;
    for (int option = 0; option < most_number; ++option) {
        const zmq_context context;
        // An affinity must have been added before it can be removed.
        if (option == ZMQ_THREAD_AFFINITY_CPU_REMOVE)
            zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_ADD, 1);
        for (const int value : likely_numbers)
            if (zmq_ctx_set(context, option, value) == 0)
                found.insert(option);
    }
    return found;
}

/// The tests that there are, as "suite.name".
std::set<std::string> written_tests() {
    const char *directory = std::getenv("ZLINK_TESTS_DIR");
    std::set<std::string> found;
    if (!directory)
        return found;
    const std::regex head(R"(\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
    for (const auto &entry : std::filesystem::recursive_directory_iterator(directory)) {
        if (!entry.path().filename().string().ends_with("_test.cpp"))
            continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        const std::string source = text.str();
        for (std::sregex_iterator at(source.begin(), source.end(), head), end; at != end; ++at)
            found.insert((*at)[1].str() + '.' + (*at)[2].str());
    }
    return found;
}

void expect_rows(const std::set<int> &settable, const std::map<int, test_names> &table) {
    for (const int option : settable)
        EXPECT_TRUE(table.contains(option))
            << "option " << option << " can be set: which test shows its effect?";
    for (const auto &[option, tests] : table) {
        EXPECT_TRUE(settable.contains(option)) << "option " << option << " cannot be set any more";
        EXPECT_FALSE(tests.empty()) << option;
    }
}

TEST(option_effects, are_shown_by_a_test_for_each_socket_option_that_can_be_set) {
    std::map<int, test_names> expected = socket_options;
    if (zmq_has("tls"))
        expected.insert(tls_options.begin(), tls_options.end());
    if (!zmq_has("ws"))
        expected.erase(ZMQ_WS_ORIGIN);
    if (!zmq_has("curve"))
        for (const int option :
             {ZMQ_CURVE_SERVER, ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY, ZMQ_CURVE_SERVERKEY})
            expected.erase(option);
    expect_rows(settable_on_sockets(), expected);
}

TEST(option_effects, are_shown_by_a_test_for_each_context_option_that_can_be_set) {
    expect_rows(settable_on_contexts(), context_options);
}

TEST(option_effects, are_shown_by_tests_that_there_are) {
    const std::set<std::string> written = written_tests();
    ASSERT_FALSE(written.empty()) << "ZLINK_TESTS_DIR says where the tests are; ctest sets it";
    for (const auto *table : {&socket_options, &tls_options, &context_options})
        for (const auto &[option, tests] : *table)
            for (const std::string &name : tests)
                EXPECT_TRUE(written.contains(name)) << name << ", of option " << option;
}

}  // namespace
