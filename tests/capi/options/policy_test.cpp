// A process under a policy: what it may bind and connect to, and what becomes of that when the file
// changes.
#include "raw_peer.hpp"
#include "transports.hpp"
#include "zap_handler.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;

constexpr const char *clear_all = "default = \"clear\"\n";

class under_a_policy : public ::testing::Test {
protected:
    under_a_policy() {
        std::string name = (std::filesystem::temp_directory_path() / "zlink-policy-XXXXXX").string();
        folder_ = std::filesystem::canonical(::mkdtemp(name.data()));
        ::setenv("ZLINK_POLICY", path().c_str(), 1);
    }
    ~under_a_policy() override {
        ::unsetenv("ZLINK_POLICY");
        std::filesystem::remove_all(folder_);
    }
    std::string path() const { return in_folder("policy.toml"); }
    std::string in_folder(const std::string &file) const { return folder_ + "/" + file; }
    // Whole or not at all.
    void say(const std::string &text, const std::string &file = "policy.toml") {
        const std::string fresh = path() + ".new";
        std::ofstream(fresh) << text;
        ASSERT_EQ(::chmod(fresh.c_str(), 0600), 0);
        std::filesystem::rename(fresh, in_folder(file));
    }

private:
    std::string folder_;
};

std::string entry(const std::string &lines) { return "[[entry]]\nuse = \"clear\"\n" + lines; }

TEST_F(under_a_policy, is_told_by_a_function_of_its_own) {
    say(clear_all);
    EXPECT_EQ(zlink_policy_in_force(), 1);
    say("default = \"none\"\n");
    EXPECT_FAILS(EACCES, zlink_policy_in_force());
    ::unsetenv("ZLINK_POLICY");
    EXPECT_EQ(zlink_policy_in_force(), 0);
}

TEST_F(under_a_policy, a_refusal_is_eacces_and_a_reason) {
    say("[[entry]]\nport = 1\nuse = \"refuse\"\n");
    context zmq;
    test_socket pair = zmq.socket(ZMQ_PAIR);
    monitor events(zmq, pair, everything);
    EXPECT_FAILS(EACCES, zmq_bind(pair.handle(), "tcp://127.0.0.1:*"));
    monitor_event told = events.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(told.value, EACCES);
    EXPECT_EQ(told.endpoint, "tcp://127.0.0.1:*");
    EXPECT_EQ(told.words, path() + ": no entry of the policy matches it");
    EXPECT_FAILS(EACCES, zmq_connect(pair.handle(), "tcp://127.0.0.1:1"));
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words, path() + ":1: the policy refuses it");
    for (const char *const endpoint : {"ipc://@a", "ws://127.0.0.1:2", "TCP://127.0.0.1:1"}) {
        SCOPED_TRACE(endpoint);
        EXPECT_FAILS(EACCES, zmq_connect(pair.handle(), endpoint));
    }
}

TEST_F(under_a_policy, inproc_is_never_touched) {
    say("this is no policy");
    context zmq;
    test_socket a = zmq.socket(ZMQ_PAIR), b = zmq.socket(ZMQ_PAIR);
    EXPECT_FAILS(EACCES, zmq_bind(a.handle(), "tcp://127.0.0.1:*"));
    connected(zmq, a, b, "inproc");
    EXPECT_EQ(b.send("hello"), 5);
    EXPECT_EQ(a.receive(), "hello");
}

TEST_F(under_a_policy, a_socket_is_bound_to_loopback_and_unbound_as_it_was_bound) {
    say(entry("bind = \"loopback\"\n"));
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    const std::string port = deserted_endpoint().substr(std::string("tcp://127.0.0.1").size());
    EXPECT_EQ(pull.bind("tcp://*" + port), "tcp://127.0.0.1" + port);
    EXPECT_EQ(pull.unbind("tcp://*" + port), 0);
    EXPECT_FAILS(ENOENT, pull.unbind("tcp://*" + port));
    EXPECT_EQ(pull.bind("tcp://*" + port), "tcp://127.0.0.1" + port);
    EXPECT_EQ(pull.unbind("tcp://127.0.0.1" + port), 0);
}

TEST_F(under_a_policy, only_allowed_addresses_are_accepted) {
    say(entry("side = \"bind\"\nallow = \"10.0.0.0/8\"\n"));
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    monitor events(zmq, pull, everything);
    const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
    EXPECT_TRUE(raw_peer(endpoint).is_closed_by_other_side());
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words, "the policy does not allow connections from 127.0.0.1");
    EXPECT_EQ(events.next(ZMQ_EVENT_ACCEPT_FAILED).value, ECONNREFUSED);
}

TEST_F(under_a_policy, only_allowed_addresses_are_dialled_whatever_their_name) {
    say("[[entry]]\nside = \"connect\"\nhost = \"localhost\"\nuse = \"clear\"\nallow = \"10.0.0.0/8\"\n" +
        entry("allow = \"127.0.0.0/8\"\n"));
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
    monitor events(zmq, push, everything);
    push.connect("tcp://localhost" + endpoint.substr(endpoint.rfind(':')));
    const monitor_event told = events.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(told.value, EACCES);
    EXPECT_EQ(told.words, "the policy does not allow connections to 127.0.0.1");
    push.connect(endpoint);
    EXPECT_NE(events.next(ZMQ_EVENT_HANDSHAKE_SUCCEEDED).event, 0);
}

TEST_F(under_a_policy, the_stricter_limit_of_message_size_holds) {
    say(entry("max_message = 10\n"));
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_MAXMSGSIZE, std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff", 8));  // no limit
    connected(zmq, pull, push);
    monitor events(zmq, pull);
    push.send("ten octets");
    EXPECT_EQ(pull.receive(), "ten octets");
    push.send("more of them");
    EXPECT_NE(events.next(ZMQ_EVENT_DISCONNECTED).event, 0);
}

TEST_F(under_a_policy,
       a_connection_ends_where_the_changed_file_revokes_it_and_comes_again_where_it_allows_it) {
    say(clear_all);
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push);
    monitor at_pull(zmq, pull, everything), at_push(zmq, push, everything);
    push.send("before");
    EXPECT_EQ(pull.receive(), "before");
    say("default = \"refuse\"\n");
    // Either end may see it first. The one that connects goes on trying, and says so each time.
    bool is_told = false, has_ended = false;
    while (!is_told || !has_ended) {
        const monitor_event event = at_push.next();
        ASSERT_NE(event.event, 0);
        is_told |= event.event == ZMQ_EVENT_REASON && event.value == EACCES;
        has_ended |= event.event == ZMQ_EVENT_DISCONNECTED;
    }
    EXPECT_NE(at_pull.next(ZMQ_EVENT_DISCONNECTED).event, 0);
    say(clear_all);
    EXPECT_NE(at_pull.next(ZMQ_EVENT_HANDSHAKE_SUCCEEDED).event, 0);
    push.send("after");
    EXPECT_EQ(pull.receive(), "after");
}

TEST_F(under_a_policy, what_a_closed_socket_has_still_to_send_is_not_sent_where_the_changed_file_revokes_it) {
    const std::string of_pull = "[[entry]]\ntype = \"PULL\"\nuse = \"clear\"\n";
    say(of_pull + "[[entry]]\ntype = \"PUSH\"\nuse = \"clear\"\n");
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH), other = zmq.socket(ZMQ_PAIR);
    pull.set(ZMQ_RCVHWM, 1);
    pull.set(ZMQ_RCVBUF, 4096);
    push.set(ZMQ_SNDBUF, 4096);
    connected(zmq, push, pull);
    monitor events(zmq, pull, ZMQ_EVENT_DISCONNECTED);
    const std::string much(1 << 20, 'm');
    for (int i = 0; i < 20; ++i)
        push.send(much);
    push.set(ZMQ_LINGER, patience_ms);
    push.close();
    say(of_pull);
    // The file has been looked at.
    EXPECT_FAILS(EACCES, zmq_bind(other.handle(), "tcp://127.0.0.1:*"));
    int arrived = 0;
    while (arrived < 20 && !events.has_input())  // who reads comes to the end of the connection
        arrived += pull.has_input(10) && pull.receive();
    EXPECT_LT(arrived, 20);
}

TEST_F(under_a_policy, a_connection_stays_where_the_changed_file_says_the_same_of_it) {
    say(clear_all);
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH), other = zmq.socket(ZMQ_PAIR);
    connected(zmq, pull, push);
    monitor events(zmq, pull);
    say("[[entry]]\nuse = \"clear\"\n");
    EXPECT_FAILS(EINVAL, zmq_bind(other.handle(), "tcp://no"));  // the file has been looked at
    push.send("still there");
    EXPECT_EQ(pull.receive(), "still there");
    EXPECT_FALSE(events.has_input());
}

TEST_F(under_a_policy, while_the_file_cannot_be_used_new_connections_are_refused_and_others_stay) {
    say(clear_all);
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH), other = zmq.socket(ZMQ_PAIR);
    const std::string endpoint = connected(zmq, pull, push);
    monitor events(zmq, pull, everything);
    say("default = \n");
    // The file has been looked at.
    EXPECT_FAILS(EACCES, zmq_bind(other.handle(), "tcp://127.0.0.1:*"));
    raw_peer stranger(endpoint);
    EXPECT_TRUE(stranger.is_closed_by_other_side());
    const monitor_event told = events.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(told.words.substr(0, told.words.find(": /")), "the policy cannot be used");
    EXPECT_EQ(events.next(ZMQ_EVENT_ACCEPT_FAILED).value, EACCES);
    push.send("still there");
    EXPECT_EQ(pull.receive(), "still there");
    EXPECT_FALSE(events.has_input());
}

TEST_F(under_a_policy, a_file_that_others_may_write_is_no_file) {
    say(clear_all);
    context zmq;
    test_socket pair = zmq.socket(ZMQ_PAIR);
    pair.bind("tcp://127.0.0.1:*");
    ASSERT_EQ(::chmod(path().c_str(), 0620), 0);
    EXPECT_FAILS(EACCES, zmq_bind(pair.handle(), "tcp://127.0.0.1:*"));
    ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
    EXPECT_EQ(zmq_bind(pair.handle(), "tcp://127.0.0.1:*"), 0);
}

constexpr const char *users_on_ipc =
    "[[entry]]\nscheme = \"ipc\"\nside = \"bind\"\nuse = \"plain\"\nzap = \"users.toml\"\n"
    "[[entry]]\nscheme = \"ipc\"\nside = \"connect\"\nuse = \"clear\"\n";

TEST_F(under_a_policy, a_handler_of_the_policy_knows_its_users_as_the_file_names_them_now) {
    say("[users]\nalice = \"secret\"\n", "users.toml");
    say(users_on_ipc);
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), other = zmq.socket(ZMQ_PAIR);
    const std::string endpoint = pull.bind("ipc://*");
    const auto outcome_for = [&](const char *password) {
        test_socket push = zmq.socket(ZMQ_PUSH);
        push.set(ZMQ_PLAIN_USERNAME, "alice");
        push.set(ZMQ_PLAIN_PASSWORD, password);
        monitor events(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
        push.connect(endpoint);
        return events.next().event;
    };
    EXPECT_EQ(outcome_for("secret"), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    for (const char *const wrong : {"secre", "secrets", "secretsecret", "Secret", "s"})
        EXPECT_EQ(outcome_for(wrong), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) << wrong;
    say("[users]\nalice = \"another\"\n", "users.toml");
    // The file has been looked at.
    EXPECT_FAILS(EACCES, zmq_bind(other.handle(), "tcp://127.0.0.1:*"));
    EXPECT_EQ(outcome_for("secret"), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    EXPECT_EQ(outcome_for("another"), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

/// Users of PLAIN with connections, whose file changes.
class users_of_a_policy : public under_a_policy {
protected:
    void SetUp() override {
        say("[users]\nalice = \"secret\"\nbob = \"secret\"\n", "users.toml");
        say(users_on_ipc);
        const std::string endpoint = pull.bind("ipc://*");
        for (test_socket *each : {&alice, &bob}) {
            each->set(ZMQ_PLAIN_USERNAME, each == &alice ? "alice" : "bob");
            each->set(ZMQ_PLAIN_PASSWORD, "secret");
            each->connect(endpoint);
            expect_served(*each);
        }
        of_alice.emplace(zmq, alice, ended);
        of_bob.emplace(zmq, bob, ended);
    }
    void expect_served(test_socket &socket) {
        EXPECT_EQ(socket.send("hello"), 5);
        EXPECT_EQ(pull.receive(), "hello");
    }
    void now(const std::string &users) {
        say("[users]\n" + users, "users.toml");
        test_socket other = zmq.socket(ZMQ_PAIR);
        // the file has been looked at
        EXPECT_FAILS(EACCES, zmq_bind(other.handle(), "tcp://127.0.0.1:*"));
    }

    static constexpr int ended = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL), alice = zmq.socket(ZMQ_PUSH), bob = zmq.socket(ZMQ_PUSH);
    std::optional<monitor> of_alice, of_bob;
};

TEST_F(users_of_a_policy, who_is_taken_out_is_let_go_and_others_stay) {
    now("bob = \"secret\"\n");
    EXPECT_EQ(of_alice->next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(of_alice->next().event, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) << "it has come again";
    expect_served(bob);
    EXPECT_FALSE(of_bob->has_input());
}

TEST_F(users_of_a_policy, who_has_come_with_an_older_password_is_let_go) {
    now("alice = \"another\"\nbob = \"secret\"\n");
    EXPECT_EQ(of_alice->next().event, ZMQ_EVENT_DISCONNECTED);
    expect_served(bob);
    EXPECT_FALSE(of_bob->has_input());
}

TEST_F(users_of_a_policy, who_may_come_still_stays_while_others_are_added_and_while_nobody_can_tell) {
    now("alice = \"secret\"\ncarol = \"secret\"\nbob = \"secret\"\n");
    now("this is no user");
    expect_served(alice);
    expect_served(bob);
    now("alice = \"secret\"\nbob = \"another\"\n");
    EXPECT_EQ(of_bob->next().event, ZMQ_EVENT_DISCONNECTED);
    expect_served(alice);
    EXPECT_FALSE(of_alice->has_input());
}

TEST_F(users_of_a_policy, who_is_taken_out_while_the_handler_of_the_program_thinks_does_not_get_in) {
    test_socket handler = zmq.socket(ZMQ_REP), late = zmq.socket(ZMQ_PUSH);
    handler.bind("inproc://zeromq.zap.01");
    late.set(ZMQ_PLAIN_USERNAME, "alice");
    late.set(ZMQ_PLAIN_PASSWORD, "secret");
    monitor of_late(zmq, late, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    late.connect(pull.last_endpoint());
    const frames asked = handler.receive_all();
    ASSERT_EQ(asked.size(), 8u);
    now("bob = \"secret\"\n");
    handler.send_all({"1.0", asked[1], "200", "yes", "", ""});
    EXPECT_EQ(of_late.next().event, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
}

TEST_F(under_a_policy, a_handler_of_the_program_has_to_accept_too) {
    say("[users]\nalice = \"secret\"\n", "users.toml");
    say(users_on_ipc);
    context zmq;
    test_socket handler = zmq.socket(ZMQ_REP), pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    handler.bind("inproc://zeromq.zap.01");
    push.set(ZMQ_PLAIN_USERNAME, "alice");
    push.set(ZMQ_PLAIN_PASSWORD, "secret");
    monitor events(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    push.connect(pull.bind("ipc://*"));
    const frames asked = handler.receive_all();
    ASSERT_EQ(asked.size(), 8u);
    handler.send_all({"1.0", asked[1], "400", "no", "", ""});
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
}

TEST_F(under_a_policy, plain_proves_a_name_over_ipc_where_the_program_has_a_handler) {
    say("[[entry]]\nscheme = \"ipc\"\nside = \"connect\"\nuse = \"plain\"\nusername = \"alice\"\npassword = "
        "\"secret\"\n" +
        entry("scheme = \"ipc\"\n"));
    context zmq;
    test_socket handler = zmq.socket(ZMQ_REP), pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    handler.bind("inproc://zeromq.zap.01");
    pull.set(ZMQ_PLAIN_SERVER, 1);
    push.connect(pull.bind("ipc://*"));
    const frames asked = handler.receive_all();
    ASSERT_EQ(asked.size(), 8u);
    EXPECT_EQ(asked[5], "PLAIN");
    EXPECT_EQ(asked[6], "alice");
    EXPECT_EQ(asked[7], "secret");
}

// ---- CURVE ----

struct key_pair {
    key_pair() {
        if (zmq_has("curve") != 1)
            return;  // no test needs it
        char public_text[41], secret_text[41];
        EXPECT_EQ(zmq_curve_keypair(public_text, secret_text), 0);
        public_key = public_text, secret_key = secret_text;
    }
    // This is as CZMQ writes it.
    std::string certificate(bool with_secret = true) const {
        return "metadata\n    name = \"somebody\"\ncurve\n    public-key = \"" + public_key + "\"\n" +
               (with_secret ? "    secret-key = \"" + secret_key + "\"\n" : "");
    }
    std::string public_key, secret_key;
};

// PULL binds as the server, PUSH connects as alice. Strangers are of type DEALER, which the policy
// leaves alone.
class under_a_policy_of_curve : public under_a_policy {
protected:
    void SetUp() override {
        if (zmq_has("curve") != 1)
            GTEST_SKIP() << "built without CURVE";
        say(server.certificate(), "server.key_secret");
        say(alice.certificate(), "alice.key_secret");
        know("alice", alice);
        say(entries());
    }
    std::string entries(const std::string &of_bind = "zap = \"users.toml\"\n",
                        const std::string &of_connect = "") const {
        return "[[entry]]\nside = \"bind\"\nuse = \"curve\"\ncertificate = \"server.key_secret\"\n" +
               of_bind +
               "[[entry]]\nside = \"connect\"\ntype = \"PUSH\"\nuse = \"curve\"\ncertificate = "
               "\"alice.key_secret\"\n" +
               (of_connect.empty() ? "server_key = \"" + server.public_key + "\"\n" : of_connect) +
               "[[entry]]\ntype = \"DEALER\"\nuse = \"clear\"\n";
    }
    void know(const std::string &name, const key_pair &whom) {
        say("[curve]\n" + name + " = \"" + whom.public_key + "\"\n", "users.toml");
    }
    void look() {
        test_socket pair = zmq.socket(ZMQ_PAIR);
        EXPECT_FAILS(EINVAL, zmq_bind(pair.handle(), "tcp://no"));
    }
    static std::string user_of_next(test_socket &socket) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        EXPECT_GE(zmq_msg_recv(&message, socket.handle(), 0), 0);
        const char *const name = zmq_msg_gets(&message, "User-Id");
        std::string user = name ? name : "";
        zmq_msg_close(&message);
        return user;
    }
    // Returns what becomes of a socket that is set up by itself.
    int outcome_of(test_socket &stranger, const std::string &endpoint) {
        monitor events(zmq, stranger,
                       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                           ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        stranger.connect(endpoint);
        return events.next().event;
    }
    test_socket stranger_with(const key_pair &keys) {
        test_socket socket = zmq.socket(ZMQ_DEALER);
        socket.set(ZMQ_CURVE_SERVERKEY, server.public_key);
        socket.set(ZMQ_CURVE_PUBLICKEY, keys.public_key);
        socket.set(ZMQ_CURVE_SECRETKEY, keys.secret_key);
        return socket;
    }

    const key_pair server, alice, mallory;
    context zmq;
};

TEST_F(under_a_policy_of_curve, programs_become_curve_over_each_transport_and_are_known_by_name) {
    for (const std::string &transport : where_built({"tcp", "ipc", "ws"})) {
        SCOPED_TRACE(transport);
        test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
        connected(zmq, pull, push, transport);
        push.send("hello");
        EXPECT_EQ(user_of_next(pull), "alice");
        EXPECT_EQ(pull.get(ZMQ_MECHANISM), ZMQ_NULL) << "what the program has set";
    }
}

TEST_F(under_a_policy_of_curve, a_peer_that_is_not_named_does_not_get_in) {
    test_socket router = zmq.socket(ZMQ_ROUTER), known = stranger_with(alice),
                unknown = stranger_with(mallory);
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(outcome_of(known, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(outcome_of(unknown, endpoint), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    know("mallory", mallory);
    look();
    test_socket late = stranger_with(alice), early = stranger_with(mallory);
    EXPECT_EQ(outcome_of(late, endpoint), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    EXPECT_EQ(outcome_of(early, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(under_a_policy_of_curve, a_peer_whose_key_is_taken_out_or_given_another_name_is_let_go) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push);
    push.send("hello");
    EXPECT_EQ(user_of_next(pull), "alice");
    monitor events(zmq, push, ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    know("alicia", alice);
    look();
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED) << "it has come again";
    push.send("hello");
    EXPECT_EQ(user_of_next(pull), "alicia");
    know("mallory", mallory);
    look();
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
}

TEST_F(under_a_policy_of_curve, a_peer_whose_certificate_is_taken_out_of_the_folder_is_let_go) {
    ASSERT_EQ(::mkdir(in_folder("clients").c_str(), 0700), 0);
    say(alice.certificate(false), "clients/alice.key");
    say(mallory.certificate(false), "clients/mallory.key");
    say(entries("curve_dir = \"clients\"\n"));
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH), other = stranger_with(mallory);
    const std::string endpoint = connected(zmq, pull, push);
    monitor of_alice(zmq, push, ZMQ_EVENT_DISCONNECTED), of_mallory(zmq, other);
    test_socket router = zmq.socket(ZMQ_ROUTER);
    EXPECT_EQ(outcome_of(other, router.bind("tcp://127.0.0.1:*")), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    std::filesystem::remove(in_folder("clients/alice.key"));
    look();
    EXPECT_EQ(of_alice.next().event, ZMQ_EVENT_DISCONNECTED);
    other.send("still there");
    EXPECT_EQ(router.receive_all().back(), "still there");
}

TEST_F(under_a_policy_of_curve, a_folder_of_certificates_names_those_that_get_in) {
    ASSERT_EQ(::mkdir(in_folder("clients").c_str(), 0700), 0);
    say(entries("curve_dir = \"clients\"\n"));
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH), router = zmq.socket(ZMQ_ROUTER);
    monitor events(zmq, pull, everything);
    EXPECT_FAILS(EACCES, zmq_bind(pull.handle(), "tcp://127.0.0.1:*"));
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words,
              path() + ":1: there is no certificate *.key in " + in_folder("clients"));
    say(alice.certificate(false), "clients/the feed's friend.key");
    say("this is none", "clients/mallory.key.old");
    say(mallory.certificate(), "clients/mallory.key_secret");
    connected(zmq, pull, push);
    push.send("hello");
    EXPECT_EQ(user_of_next(pull), "the feed's friend");
    test_socket unknown = stranger_with(mallory);
    EXPECT_EQ(outcome_of(unknown, router.bind("tcp://127.0.0.1:*")), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    ASSERT_EQ(::chmod(in_folder("clients").c_str(), 0770), 0);
    EXPECT_FAILS(EACCES, zmq_bind(router.handle(), "tcp://127.0.0.1:*"));
}

TEST_F(under_a_policy_of_curve, a_peer_without_curve_does_not_get_in) {
    test_socket router = zmq.socket(ZMQ_ROUTER), null = zmq.socket(ZMQ_DEALER),
                plain = zmq.socket(ZMQ_DEALER);
    plain.set(ZMQ_PLAIN_USERNAME, "alice");
    plain.set(ZMQ_PLAIN_PASSWORD, "secret");
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    EXPECT_NE(outcome_of(null, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_NE(outcome_of(plain, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(under_a_policy_of_curve, a_server_with_another_key_is_not_talked_to) {
    say(mallory.certificate(false), "other.key");
    say(entries("zap = \"users.toml\"\n", "server_certificate = \"other.key\"\n"));
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    monitor events(zmq, pull, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    const monitor_event told = events.next();
    EXPECT_EQ(told.event, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    EXPECT_EQ(told.value, ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC);
}

TEST_F(under_a_policy_of_curve, the_server_may_be_the_side_that_connects) {
    say("[[entry]]\nside = \"bind\"\nuse = \"curve\"\ncertificate = \"alice.key_secret\"\ncurve_server = "
        "false\nserver_key = \"" +
        server.public_key +
        "\"\n[[entry]]\nside = \"connect\"\nuse = \"curve\"\ncertificate = \"server.key_secret\"\n"
        "curve_server = true\nzap = \"users.toml\"\n");
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    connected(zmq, push, pull);
    push.send("hello");
    EXPECT_EQ(user_of_next(pull), "alice");
}

TEST_F(under_a_policy_of_curve, whoever_has_the_servers_key_may_come_where_the_policy_says_so) {
    say(entries("client_certificates = \"none\"\n"));
    test_socket router = zmq.socket(ZMQ_ROUTER), unknown = stranger_with(mallory),
                null = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(outcome_of(unknown, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_NE(outcome_of(null, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(under_a_policy_of_curve, a_handler_of_the_program_has_to_accept_too) {
    std::string status = "400";
    const auto judge = [&](const frames &asked) {
        EXPECT_EQ(asked.at(5), "CURVE");
        return reply_to(asked, status, "");
    };
    test_socket router = zmq.socket(ZMQ_ROUTER);
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    {
        handler refuses(zmq, ZMQ_REP, judge);
        test_socket known = stranger_with(alice), unknown = stranger_with(mallory);
        known.set(ZMQ_RECONNECT_IVL, -1);  // it asks once
        EXPECT_EQ(outcome_of(known, endpoint), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
        EXPECT_EQ(outcome_of(unknown, endpoint), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
        EXPECT_EQ(refuses.asked(), 1) << "about whom the policy does not know";
    }
    status = "200";
    handler accepts(zmq, ZMQ_REP, judge);
    test_socket known = stranger_with(alice);
    EXPECT_EQ(outcome_of(known, endpoint), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(under_a_policy_of_curve, a_key_that_cannot_be_used_refuses_and_says_where) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    monitor events(zmq, pull, everything);
    const auto words_of_refusal = [&] {
        EXPECT_FAILS(EACCES, zmq_bind(pull.handle(), "tcp://127.0.0.1:*"));
        return events.next(ZMQ_EVENT_REASON).words;
    };
    const std::string file = in_folder("server.key_secret");
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    EXPECT_EQ(words_of_refusal(), path() + ":4: " + file + " holds a secret, and may be read by others");
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    say(server.certificate(false), "server.key_secret");
    EXPECT_EQ(words_of_refusal(), path() + ":1: " + file + " holds no secret-key");
    say("curve\n    public-key = \"" + alice.public_key + "\"\n    secret-key = \"" + server.secret_key +
            "\"\n",
        "server.key_secret");
    EXPECT_EQ(words_of_refusal(),
              path() + ":1: " + file + ":3: its public-key is not that of its secret-key");
    std::filesystem::remove(file);
    EXPECT_EQ(words_of_refusal(), path() + ":4: cannot open " + file + ": No such file or directory");
    say(server.certificate(), "server.key_secret");
    say(entries("zap = \"users.toml\"\n", "server_certificate = \"alice.key_secret\"\n"));
    EXPECT_EQ(words_of_refusal(), path() + ":6: " + in_folder("alice.key_secret") +
                                      " holds a secret-key: the public certificate is expected");
}

TEST_F(under_a_policy_of_curve, a_key_that_changes_ends_connections_until_they_are_made_again) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push);
    monitor events(zmq, pull, everything);
    say(key_pair().certificate(), "server.key_secret");
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).value, EACCES);
    EXPECT_NE(events.next(ZMQ_EVENT_DISCONNECTED).event, 0);
}

TEST_F(under_a_policy_of_curve, curve_of_the_program_does_not_get_lost) {
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    monitor events(zmq, push, everything);
    push.set(ZMQ_CURVE_SERVERKEY, mallory.public_key);
    EXPECT_FAILS(EACCES, zmq_connect(push.handle(), "tcp://127.0.0.1:1"));
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words,
              path() + ":6: the program asks for another server's key of CURVE than the policy");
    push.set(ZMQ_CURVE_SERVERKEY, server.public_key);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    push.send("hello");
    EXPECT_EQ(user_of_next(pull), "alice");
}

}  // namespace
