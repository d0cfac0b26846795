// The CURVE handshake, both roles: two of ours with each other, what a stranger may make of it, and
// its octets with keys that are known.
#include <gtest/gtest.h>

#include <set>
#include <sodium.h>

#include "memory_search.hpp"
#include "script.hpp"
#include "zmtp/curve_client.hpp"
#include "zmtp/curve_server.hpp"

namespace {

int multiplications_of_base = 0, multiplications = 0;  // of X25519

}  // namespace

// In place of libsodium's: they count, too.
int crypto_scalarmult_base(unsigned char *q, const unsigned char *n) {
    ++multiplications_of_base;
    return crypto_scalarmult_curve25519_base(q, n);
}
int crypto_scalarmult(unsigned char *q, const unsigned char *n, const unsigned char *p) {
    ++multiplications;
    return crypto_scalarmult_curve25519(q, n, p);
}

namespace zlink {
namespace {

using curve::key_size;
using testing::command_frame;
using testing::milliseconds;
using testing::octets;
using testing::peer_driver;
using testing::property;
using testing::socket_of;

octets from_hex(std::string_view hex) {
    octets out;
    for (std::size_t at = 0; at < hex.size(); at += 2)
        out += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
    return out;
}

// The pairs of zmq_curve(7).
octets client_public() {
    return from_hex("BB88471D65E2659B30C55A5321CEBB5AAB2B70A398645C26DCA2B2FCB43FC518");
}
octets client_secret() {
    return from_hex("7BB864B489AFA3671FBE69101F94B38972F24816DFB01B51656B3FEC8DFD0888");
}
octets server_public() {
    return from_hex("54FCBA24E93249969316FB617C872BB0C1D1FF14800427C594CBFACF1BC2D652");
}
octets server_secret() {
    return from_hex("8E0BDD697628B91D8F245587EE95C5B04D48963F79259877B49CD9063AEAD3B7");
}

settings client_of(socket_type type = socket_type::push) {
    settings options = socket_of(type);
    options.mechanism = mechanism_kind::curve;
    options.curve_public_key = client_public();
    options.curve_secret_key = std::string_view(client_secret());
    options.curve_server_key = server_public();
    return options;
}

settings server_of(socket_type type = socket_type::pull) {
    settings options = socket_of(type);
    options.mechanism = mechanism_kind::curve;
    options.curve_server = true;
    options.curve_secret_key = std::string_view(server_secret());
    return options;
}

/// Octets that follow from one another: every run of a test draws the same.
class known_octets final : public curve::random_octets {
public:
    explicit known_octets(std::uint8_t first) : next_(first) {}
    bool draw(std::uint8_t *to, std::size_t size) const noexcept override {
        if (is_empty)
            return false;
        for (std::size_t i = 0; i < size; ++i)
            to[i] = next_++;
        return true;
    }
    bool is_empty = false;

private:
    mutable std::uint8_t next_;
};

/// Octets of the system, of which an inverted copy stays.
class noted_octets final : public curve::random_octets {
public:
    explicit noted_octets(std::uint8_t) {}
    bool draw(std::uint8_t *to, std::size_t size) const noexcept override {
        const bool is_drawn = curve::system_octets().draw(to, size);
        std::string &copy = drawn_.emplace_back();
        for (std::size_t i = 0; i < size; ++i)
            copy += static_cast<char>(~to[i]);
        return is_drawn;
    }
    /// The keys among them.
    std::vector<std::string> keys() const {
        std::vector<std::string> out;
        for (const std::string &each : drawn_)
            if (each.size() == key_size)
                out.push_back(each);
        return out;
    }

private:
    mutable std::vector<std::string> drawn_;
};

/// One side: its mechanism, what it has written and what became of it.
template <typename Role, class Random = known_octets>
struct side {
    explicit side(settings own, std::uint8_t first_octet)
        : options(std::move(own)), random(first_octet), machine(options, random),
          info(block_ref::adopt(new peer_info)) {}

    /// Hands it the data of a command.
    mechanism::outcome hear(std::string_view name, const octets &data) {
        machine.tell_time(now);
        return last = machine.receive({name, as_bytes(data)}, peer(), out);
    }
    mechanism::outcome judge(const verdict &by = {}) { return last = machine.judge(by, peer(), out); }
    peer_info &peer() { return static_cast<peer_info &>(*info.get()); }
    /// The data of the one command that it has written since the last call.
    octets said(std::string_view name) {
        const octets written = testing::text(std::exchange(out, {}));
        const std::size_t header = written.empty() || !(written[0] & 2) ? 2 : 9;
        const octets begin = octets(1, static_cast<char>(name.size())) + octets(name);
        EXPECT_EQ(written.substr(std::min(header, written.size()), begin.size()), begin);
        return written.substr(std::min(header + begin.size(), written.size()));
    }

    settings options;
    Random random;
    Role machine;
    block_ref info;
    mechanism::time_point now{std::chrono::hours(1)};
    mechanism::outcome last;
    std::vector<std::uint8_t> out;
};

using status = mechanism::progress;

/// A client and a server, step by step.
struct pair {
    explicit pair(settings client_options = client_of(), settings server_options = server_of())
        : client(std::move(client_options), 1), server(std::move(server_options), 101) {}

    octets hello() {
        EXPECT_EQ(client.machine.start(client.out).status, status::unfinished);
        return client.said("HELLO");
    }
    octets welcome() {
        server.hear("HELLO", hello());
        return server.said("WELCOME");
    }
    octets initiate() {
        client.hear("WELCOME", welcome());
        return client.said("INITIATE");
    }
    octets ready() {
        server.hear("INITIATE", initiate());
        EXPECT_EQ(server.last.status, status::waiting);
        server.judge();
        return server.said("READY");
    }
    void complete() {
        client.hear("READY", ready());
        EXPECT_EQ(server.last.status, status::complete);
        EXPECT_EQ(client.last.status, status::complete);
    }

    side<curve::client> client;
    side<curve::server> server;
};

template <typename Role>
void expect_failure(side<Role> &who, protocol_error detail) {
    EXPECT_EQ(who.last.status, status::failed);
    EXPECT_EQ(who.last.failure, failure_kind::protocol);
    EXPECT_EQ(who.last.detail, detail);
    EXPECT_TRUE(who.out.empty());
    EXPECT_EQ(who.machine.take_session(), nullptr);
}

octets key_in(const std::unique_ptr<curve_session> &session) {
    return octets(as_text(byte_span(session->shared)));
}

curve_secret_key agreed(const octets &secret_half, const octets &public_half) {
    curve_secret_key out;
    EXPECT_TRUE(curve::agree(as_bytes(secret_half), as_bytes(public_half), out));
    return out;
}

octets sealed(const octets &text, const curve::nonce &nonce, const curve_secret_key &shared) {
    octets out(text.size() + curve::box_overhead, '\0');
    curve::seal(as_bytes(text), nonce, shared, reinterpret_cast<std::uint8_t *>(out.data()));
    return out;
}

octets opened(const octets &box, const curve::nonce &nonce, const curve_secret_key &shared) {
    octets out(box.size() - curve::box_overhead, '\0');
    EXPECT_TRUE(curve::open(as_bytes(box), nonce, shared, reinterpret_cast<std::uint8_t *>(out.data())));
    return out;
}

octets number(std::uint64_t value) {
    std::uint8_t out[8];
    put_u64(out, value);
    return octets(as_text(out));
}

octets public_of(const octets &secret_half) {
    curve_key out;
    EXPECT_TRUE(derive_curve_public(as_bytes(secret_half), out));
    return octets(as_text(out));
}

/// A client that a test writes by hand, and that may break any rule.
struct own_client {
    octets short_secret = octets(32, 's');
    octets long_public = client_public(), long_secret = client_secret();
    octets short_public = public_of(short_secret);
    octets vouched = short_public + server_public();
    octets padding = octets(72, '\0'), signature = octets(64, '\0'), version = octets("\1\0", 2);
    octets properties = property("Socket-Type", "PUSH");
    std::uint64_t first = 1, second = 2;

    octets hello() const {
        return version + padding + short_public + number(first) +
               sealed(signature, curve::make_nonce(curve::prefix::hello, first),
                      agreed(short_secret, server_public()));
    }
    octets initiate(const octets &welcome) const {
        const octets nonce = welcome.substr(0, 16);
        const octets text =
            opened(welcome.substr(16), curve::make_nonce(curve::prefix::welcome, as_bytes(nonce)),
                   agreed(short_secret, server_public()));
        const octets their_key = text.substr(0, 32), cookie = text.substr(32);
        const octets vouch_nonce(16, 'v');
        const octets vouch =
            vouch_nonce + sealed(vouched, curve::make_nonce(curve::prefix::vouch, as_bytes(vouch_nonce)),
                                 agreed(long_secret, their_key));
        return cookie + number(second) +
               sealed(long_public + vouch + properties, curve::make_nonce(curve::prefix::initiate, second),
                      agreed(short_secret, their_key));
    }
    /// Says HELLO and INITIATE to a server.
    void greet(side<curve::server> &server) const {
        server.hear("HELLO", hello());
        ASSERT_EQ(server.last.status, status::unfinished);
        server.hear("INITIATE", initiate(server.said("WELCOME")));
    }
};

// ---- Two of ours --------------------------------------------------------------------------------

TEST(curve_handshake, ends_with_the_same_key_on_both_sides) {
    pair both;
    both.complete();
    const auto client = both.client.machine.take_session(), server = both.server.machine.take_session();
    ASSERT_TRUE(client && server);
    EXPECT_EQ(key_in(client), key_in(server));
    EXPECT_NE(key_in(client), octets(32, '\0'));
    EXPECT_FALSE(client->is_server);
    EXPECT_TRUE(server->is_server);
    EXPECT_EQ(client->last_sent, 2u);
    EXPECT_EQ(server->last_received, 2u);
    EXPECT_EQ(server->last_sent, 1u);
    EXPECT_EQ(client->last_received, 1u);
    EXPECT_STREQ(both.client.peer().find("Socket-Type"), "PULL");
    EXPECT_STREQ(both.server.peer().find("Socket-Type"), "PUSH");
    EXPECT_EQ(both.client.machine.take_session(), nullptr) << "it is given once";
}

TEST(curve_handshake, makes_a_new_key_for_each_connection) {
    const auto key = [](std::uint8_t first) {
        pair both;
        both.client.random = known_octets(first);
        both.complete();
        return key_in(both.client.machine.take_session());
    };
    EXPECT_NE(key(1), key(2));
}

TEST(curve_handshake, shows_the_key_of_the_client_to_be_judged_by) {
    pair both;
    both.server.hear("INITIATE", both.initiate());
    const credentials shown = both.server.machine.shown();
    EXPECT_EQ(shown.mechanism, "CURVE");
    ASSERT_EQ(shown.items.size(), 1u);
    EXPECT_EQ(std::string_view(shown.items[0]), client_public());
}

TEST(curve_handshake, lets_the_client_in_without_a_handler_unless_the_domain_is_enforced) {
    settings options = server_of();
    options.zap_enforce_domain = true;
    pair open(client_of(), options);
    open.complete();
    options.zap_domain = "d";
    pair closed(client_of(), options);
    closed.server.hear("INITIATE", closed.initiate());
    closed.server.judge();
    EXPECT_EQ(closed.server.last.failure, failure_kind::no_handler);
    EXPECT_TRUE(closed.server.out.empty());
}

TEST(curve_handshake, tells_a_client_that_is_refused) {
    for (const int code : {300, 400, 500}) {
        pair both;
        both.server.hear("INITIATE", both.initiate());
        verdict no;
        no.what = verdict::kind::refused;
        no.status = code;
        both.server.judge(no);
        EXPECT_EQ(both.server.last.failure, failure_kind::authentication);
        EXPECT_EQ(testing::text(both.server.out),
                  code == 300 ? octets() : command_frame("ERROR", "\3" + std::to_string(code)));
    }
}

TEST(curve_handshake, lets_nobody_in_by_a_verdict_that_is_none) {
    settings options = server_of();
    options.zap_domain = "d";
    options.zap_enforce_domain = true;
    for (const auto kind : {verdict::kind::refused, verdict::kind::no_handler, verdict::kind::unanswered,
                            verdict::kind::unusable}) {
        pair both(client_of(), options);
        both.server.hear("INITIATE", both.initiate());
        verdict no;
        no.what = kind;
        no.status = 500;
        both.server.judge(no);
        EXPECT_EQ(both.server.last.status, status::failed);
        EXPECT_EQ(testing::text(both.server.out).find("READY"), octets::npos);
    }
}

TEST(curve_handshake, believes_the_verdict_before_the_client) {
    settings options = client_of();
    options.metadata = {{"X-Role", "guest"}, {"X-Mine", "yes"}};
    pair both(options);
    both.server.hear("INITIATE", both.initiate());
    verdict yes;
    yes.what = verdict::kind::accepted;
    yes.user_id = "alice";
    yes.metadata = {{"X-Role", "admin"}};
    both.server.judge(yes);
    EXPECT_STREQ(both.server.peer().find("X-Role"), "admin");
    EXPECT_STREQ(both.server.peer().find("X-Mine"), "yes");
    EXPECT_STREQ(both.server.peer().find("User-Id"), "alice");
}

TEST(curve_handshake, tells_a_client_of_another_socket_type_after_the_verdict) {
    pair both(client_of(socket_type::pull));
    both.server.hear("INITIATE", both.initiate());
    EXPECT_EQ(both.server.last.status, status::waiting);
    both.server.judge();
    EXPECT_EQ(both.server.last.detail, protocol_errors::invalid_metadata);
    EXPECT_EQ(both.server.said("ERROR"), "\x18"
                                         "Incompatible-Socket-Type");
    EXPECT_EQ(both.server.machine.take_session(), nullptr);
}

TEST(curve_handshake, of_a_client_ends_without_a_word_at_a_server_of_another_socket_type) {
    pair both;
    const octets ready = both.ready();
    both.client.options.type = socket_type::pull;
    both.client.hear("READY", ready);
    expect_failure(both.client, protocol_errors::invalid_metadata);
    EXPECT_FALSE(both.client.last.may_retry);
}

// ---- As libzmq writes it ------------------------------------------------------------------------

// A conversation of libzmq 4.3.4 with itself, as tests/interop/record_curve.py records it: PUSH to
// PULL, the keys of zmq_curve(7), and random octets that follow from one another: the client's from
// 17 on, the server's from 117 on. What stands behind each command's name.
const octets hello_of_libzmq =
    from_hex("01000000000000000000000000000000000000000000000000000000000000000000000000000000"
             "000000000000000000000000000000000000000000000000000000000000000000004D27BCEE3135"
             "C4944B28D27DD809B07BE10C35160D20131CAA7E85575498D07C000000000000000173236C60E22C"
             "6F1BDA19FA49C3273B298E7D08D91AF657DAD3A24C4CC855E104E612F990690A6F4DC1B9B227EF8B"
             "34AFA859A8F8274AF1E6A7F4C70AC231F69F2EA304C3DDF90ED6DF0D457F88764676");
const octets welcome_of_libzmq =
    from_hex("C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4E4CBB177CCB47D9E11F4670016B90C10ADC7807B3A545242"
             "6AD351D9EA0B5755873FDC00DCFC433A822863D641CAA38904E9BE86EE9D848A8EF79F7D251CA97A"
             "D63AC06EDCBA3FD35D71EBB96A296C9180FC8AEE180E13674C607BEA4729F6E40BEB98503EE3F089"
             "7DA2347D15594B2C3319BCEB6E2E652DED72058DF44AA7C43F3E488E18E41CCDB413FD6A6522DB3C");
const octets initiate_of_libzmq =
    from_hex("95969798999A9B9C9D9E9FA0A1A2A3A419B88D9A1CEFCC5DFB1D364FAEE8C873B8FE5227A7FBC62E"
             "2A9C340E832353B33C59CA27E195C3081ADE1680753DB2A9E56BA170832C1C4BE81284B8B4603D35"
             "563FEA57294DB5D04AF83C2333D4D9C900000000000000020686AFB549560E4A7D72E18F27D90D65"
             "24695448D50CBFBC06228739505A0B377400821D55ACD51D13C954DF8A13D26D23882C279C140F35"
             "0A1B1EACDCAC965DABE4C5ACC6551E7F2D424963B230408E3517C0DF170AA530E88A1078BACE07AB"
             "1131118E89ECD3486927A7FC48AA07C8FF92D98A4DE53FB6F11F6DD9D7973CCB047788E4FCCEF1FB"
             "962A664084B485CBAA5BFCA170C9FCFDC4DE3769597E357BEE348EA8");
const octets ready_of_libzmq =
    from_hex("000000000000000109620392FCEEE79C52018284D070EACF54588C970ED544AA454D0E6A55CFD8EF"
             "3E17D4CF");

TEST(curve_transcript, is_that_of_libzmq_up_to_the_properties) {
    pair both;
    both.client.random = known_octets(17);
    both.server.random = known_octets(117);
    EXPECT_EQ(both.hello(), hello_of_libzmq);
    both.server.hear("HELLO", hello_of_libzmq);
    EXPECT_EQ(both.server.said("WELCOME"), welcome_of_libzmq);
    both.client.hear("WELCOME", welcome_of_libzmq);
    const octets initiate = both.client.said("INITIATE");

    // Whatever goes before the properties is the same, octet for octet; behind them stands one
    // more.
    std::uint8_t short_secret[32], their_secret[32];
    known_octets(17).draw(short_secret, 32), known_octets(117).draw(their_secret, 32);
    const octets own_secret(as_text(short_secret)), their_public = public_of(octets(as_text(their_secret)));
    const auto inside = [&](const octets &data, std::string_view prefix, std::size_t in_front) {
        const std::uint64_t used = get_u64(as_bytes(data).data() + in_front);
        return opened(data.substr(in_front + 8), curve::make_nonce(prefix, used),
                      agreed(own_secret, their_public));
    };
    EXPECT_EQ(initiate.substr(0, 104), initiate_of_libzmq.substr(0, 104));
    EXPECT_EQ(inside(initiate, curve::prefix::initiate, 96),
              inside(initiate_of_libzmq, curve::prefix::initiate, 96) + property("X-Zlink-Batch", "1c"));

    both.server.hear("INITIATE", initiate_of_libzmq);
    ASSERT_EQ(both.server.last.status, status::waiting);
    ASSERT_EQ(both.server.judge().status, status::complete);
    const octets ready = both.server.said("READY");
    EXPECT_EQ(ready.substr(0, 8), ready_of_libzmq.substr(0, 8));
    EXPECT_EQ(inside(ready, curve::prefix::ready, 0),
              inside(ready_of_libzmq, curve::prefix::ready, 0) + property("X-Zlink-Batch", "1s"));
    both.client.hear("READY", ready_of_libzmq);
    ASSERT_EQ(both.client.last.status, status::complete);
    const auto client = both.client.machine.take_session(), server = both.server.machine.take_session();
    EXPECT_EQ(key_in(client), key_in(server));
    EXPECT_FALSE(client->batches || server->batches) << "libzmq does not know of that";
}

// ---- Several frames in a box --------------------------------------------------------------------

TEST(curve_batches, are_agreed_on_by_two_of_ours_and_shown_to_nobody) {
    pair both;
    both.complete();
    EXPECT_TRUE(both.client.machine.take_session()->batches);
    EXPECT_TRUE(both.server.machine.take_session()->batches);
    EXPECT_EQ(both.client.peer().find("X-Zlink-Batch"), nullptr);
    EXPECT_EQ(both.server.peer().find("X-Zlink-Batch"), nullptr);
}

TEST(curve_batches, need_the_value_of_the_other_role) {
    for (const auto &[announced, agreed] :
         std::initializer_list<std::pair<octets, bool>>{{"", false},
                                                        {property("X-Zlink-Batch", "1c"), true},
                                                        {property("x-zlink-BATCH", "1c"), true},
                                                        {property("X-Zlink-Batch", "1s"), false},
                                                        {property("X-Zlink-Batch", "1"), false},
                                                        {property("X-Zlink-Batch", "1c "), false},
                                                        {property("X-Zlink-Batch", ""), false}}) {
        own_client stranger;
        stranger.properties += announced;
        side<curve::server> server(server_of(), 1);
        stranger.greet(server);
        ASSERT_EQ(server.judge().status, status::complete);
        EXPECT_EQ(server.machine.take_session()->batches, agreed) << announced;
        EXPECT_EQ(server.peer().find("X-Zlink-Batch"), nullptr);
    }
}

// ---- What is changed, cut or sent again ---------------------------------------------------------

TEST(curve_handshake, refuses_each_command_with_any_octet_changed) {
    const auto each_octet_of = [](const octets &sound, const auto &refuses) {
        for (std::size_t at = 0; at < sound.size(); ++at)
            for (const int change : {1 << at % 7, 0x80}) {
                SCOPED_TRACE("octet " + std::to_string(at));
                octets hurt = sound;
                hurt[at] = static_cast<char>(hurt[at] ^ change);
                refuses(hurt);
            }
    };
    each_octet_of(pair().hello(), [](const octets &hurt) {
        pair both;
        const octets sound = both.hello();
        both.server.hear("HELLO", hurt);
        if (both.server.last.status == status::unfinished) {
            // X25519 does not look at the topmost bit of a key, but the client vouches for the key
            // that it has sent.
            EXPECT_EQ(hurt.substr(0, 105) + hurt.substr(106), sound.substr(0, 105) + sound.substr(106));
            both.client.hear("WELCOME", both.server.said("WELCOME"));
            both.server.hear("INITIATE", both.client.said("INITIATE"));
            expect_failure(both.server, protocol_errors::key_exchange);
            return;
        }
        const bool is_clear = both.server.last.detail == protocol_errors::malformed_hello;
        expect_failure(both.server,
                       is_clear ? protocol_errors::malformed_hello : protocol_errors::cryptographic);
    });
    each_octet_of(pair().welcome(), [](const octets &hurt) {
        pair both;
        (void)both.welcome();
        both.client.hear("WELCOME", hurt);
        expect_failure(both.client, protocol_errors::cryptographic);
    });
    each_octet_of(pair().initiate(), [](const octets &hurt) {
        pair both;
        (void)both.initiate();
        both.server.hear("INITIATE", hurt);
        const bool is_nonce = both.server.last.detail == protocol_errors::invalid_sequence;
        expect_failure(both.server,
                       is_nonce ? protocol_errors::invalid_sequence : protocol_errors::cryptographic);
    });
    each_octet_of(pair().ready(), [](const octets &hurt) {
        pair both;
        (void)both.ready();
        both.client.hear("READY", hurt);
        expect_failure(both.client, protocol_errors::cryptographic);
    });
}

TEST(curve_handshake, refuses_commands_of_another_size) {
    for (const int by : {-1, 1}) {
        const auto resized = [by](octets data) {
            data.resize(data.size() + static_cast<std::size_t>(by));
            return data;
        };
        pair a, b, d;
        a.server.hear("HELLO", resized(a.hello()));
        expect_failure(a.server, protocol_errors::malformed_hello);
        b.client.hear("WELCOME", resized(b.welcome()));
        expect_failure(b.client, protocol_errors::malformed_welcome);
        d.client.hear("READY", resized(d.ready()));
        expect_failure(d.client, protocol_errors::cryptographic);
    }
    pair c, e;
    c.server.hear("INITIATE", c.initiate().substr(0, 247));
    expect_failure(c.server, protocol_errors::malformed_initiate);
    e.client.hear("READY", e.ready().substr(0, 23));
    expect_failure(e.client, protocol_errors::malformed_ready);
    for (const char *name : {"HELLO", "WELCOME", "INITIATE", "READY"}) {
        pair empty;
        (void)empty.hello();
        empty.server.hear(name, "");
        empty.client.hear(name, "");
        EXPECT_EQ(empty.server.last.status, status::failed);
        EXPECT_EQ(empty.client.last.status, status::failed);
    }
}

TEST(curve_handshake, takes_the_least_there_may_be) {
    own_client stranger;
    stranger.properties.clear();
    side<curve::server> server(server_of(), 1);
    stranger.greet(server);
    EXPECT_EQ(server.judge().status, status::complete) << "INITIATE has 257 octets, and READY what it has";
}

TEST(curve_handshake, refuses_a_hello_that_is_not_as_it_should_be_inside_or_outside) {
    own_client newer, padded, signs;
    newer.version = octets("\1\1", 2);
    padded.padding[71] = 1;
    signs.signature[63] = 1;
    for (const own_client *each : {&newer, &padded, &signs}) {
        side<curve::server> server(server_of(), 1);
        server.hear("HELLO", each->hello());
        expect_failure(server, protocol_errors::malformed_hello);
    }
}

TEST(curve_handshake, knows_one_version) {
    side<curve::server> server(server_of(), 1);
    for (int major = 0; major < 256; ++major)
        for (int minor = 0; minor < 256; ++minor) {
            if (major == 1 && minor == 0)
                continue;
            side<curve::server> each(server.options, 1);
            each.hear("HELLO", octets(1, static_cast<char>(major)) + octets(1, static_cast<char>(minor)) +
                                   octets(192, '\0'));
            ASSERT_EQ(each.last.detail, protocol_errors::malformed_hello);
        }
}

constexpr std::size_t connections_made = 10'000;

// In a HELLO the version, and zeros against amplification, stand before the short-term key.
TEST(curve_handshake, says_hello_with_another_key_in_each_of_ten_thousand_connections) {
    const settings options = client_of();
    std::set<octets> keys;
    for (std::size_t i = 0; i < connections_made; ++i) {
        curve::client client(options, curve::system_octets());
        std::vector<std::uint8_t> out;
        ASSERT_EQ(client.start(out).status, status::unfinished);
        keys.insert(testing::text(out).substr(2 + 6 + 2 + 72, curve::key_size));
    }
    EXPECT_EQ(keys.size(), connections_made);
}

// It is one HELLO, time and again, as of somebody who has recorded it.
TEST(curve_handshake, welcomes_each_connection_with_other_keys_nonces_and_cookies) {
    const own_client stranger;
    const settings options = server_of();
    block_ref info = block_ref::adopt(new peer_info);
    const curve_secret_key agreed_on = agreed(stranger.short_secret, server_public());
    const octets hello = stranger.hello();
    std::set<octets> nonces, cookies, keys;
    for (std::size_t i = 0; i < connections_made; ++i) {
        curve::server server(options, curve::system_octets());
        std::vector<std::uint8_t> out;
        ASSERT_EQ(
            server.receive({"HELLO", as_bytes(hello)}, static_cast<peer_info &>(*info.get()), out).status,
            status::unfinished);
        const octets welcome = testing::text(out).substr(2 + 8);
        const octets nonce = welcome.substr(0, 16);
        const octets text =
            opened(welcome.substr(16), curve::make_nonce(curve::prefix::welcome, as_bytes(nonce)), agreed_on);
        nonces.insert(nonce);
        nonces.insert(text.substr(32, 16));  // the cookie's
        keys.insert(text.substr(0, 32));
        cookies.insert(text.substr(48));
    }
    EXPECT_EQ(nonces.size(), 2 * connections_made);
    EXPECT_EQ(keys.size(), connections_made);
    EXPECT_EQ(cookies.size(), connections_made);
}

TEST(curve_handshake, refuses_a_client_that_expects_another_server) {
    settings options = client_of();
    options.curve_server_key = client_public();
    pair both(options);
    both.server.hear("HELLO", both.hello());
    expect_failure(both.server, protocol_errors::cryptographic);
}

TEST(curve_handshake, refuses_a_nonce_that_does_not_grow) {
    for (const std::uint64_t second : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{7}}) {
        own_client stranger;
        stranger.first = 7;
        stranger.second = second;
        side<curve::server> server(server_of(), 1);
        stranger.greet(server);
        expect_failure(server, protocol_errors::invalid_sequence);
    }
    own_client last;
    last.first = UINT64_MAX;
    last.second = 0;
    side<curve::server> server(server_of(), 1);
    last.greet(server);
    expect_failure(server, protocol_errors::invalid_sequence);
}

TEST(curve_handshake, goes_on_from_the_nonces_that_the_peer_has_used) {
    own_client stranger;
    stranger.first = 0;
    stranger.second = UINT64_MAX - 1;
    side<curve::server> server(server_of(), 1);
    stranger.greet(server);
    server.judge();
    EXPECT_EQ(server.machine.take_session()->last_received, UINT64_MAX - 1);
}

TEST(curve_handshake, refuses_a_vouch_for_another_connection_another_server_or_of_another_key) {
    own_client other_connection, other_server, other_key;
    other_connection.vouched = public_of(octets(32, 'x')) + server_public();
    other_server.vouched = other_server.short_public + client_public();
    other_key.long_public = public_of(octets(32, 'y'));
    for (const own_client *each : {&other_connection, &other_server}) {
        side<curve::server> server(server_of(), 1);
        each->greet(server);
        expect_failure(server, protocol_errors::key_exchange);
    }
    side<curve::server> server(server_of(), 1);
    other_key.greet(server);
    expect_failure(server, protocol_errors::cryptographic);
}

// RFC 7748, section 6.1: with these a secret would be the same with everybody.
TEST(curve_handshake, refuses_keys_of_low_order) {
    for (const octets &low : {octets(32, '\0'), octets(1, '\1') + octets(31, '\0'),
                              from_hex("E0EB7A7C3B41B8AE1656E3FAF19FC46ADA098DEB9C32B1FD866205165F49B800"),
                              from_hex("5F9C95BCA3508C24B1D0B1559C83EF5B04445CC4581C8E86D8224EDDD09F1157"),
                              from_hex("ECFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF7F"),
                              from_hex("EDFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF7F"),
                              from_hex("EEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF7F")}) {
        side<curve::server> server(server_of(), 1);
        server.hear("HELLO", octets("\1\0", 2) + octets(72, '\0') + low + number(1) + octets(80, '\0'));
        expect_failure(server, protocol_errors::cryptographic);

        own_client stranger;
        stranger.long_public = low;
        side<curve::server> second(server_of(), 1);
        stranger.greet(second);
        expect_failure(second, protocol_errors::cryptographic);

        // This is as a server's short-term key.
        side<curve::client> client(client_of(), 1);
        client.machine.start(client.out);
        const octets their_key = client.said("HELLO").substr(74, 32), nonce(16, 'n');
        client.hear("WELCOME", nonce + sealed(low + octets(96, 'c'),
                                              curve::make_nonce(curve::prefix::welcome, as_bytes(nonce)),
                                              agreed(server_secret(), their_key)));
        expect_failure(client, protocol_errors::cryptographic);

        settings options = client_of();
        options.curve_server_key = low;
        side<curve::client> misled(options, 1);
        misled.last = misled.machine.start(misled.out);
        expect_failure(misled, protocol_errors::key_exchange);
        EXPECT_FALSE(misled.last.may_retry);
    }
}

TEST(curve_handshake, delivers_nothing_when_it_is_played_again) {
    own_client stranger;
    side<curve::server> server(server_of(), 1);
    server.hear("HELLO", stranger.hello());
    const octets initiate = stranger.initiate(server.said("WELCOME"));
    server.hear("INITIATE", initiate);
    ASSERT_EQ(server.last.status, status::waiting);

    // To the same connection, to another one, and to one that has said the same WELCOME.
    server.hear("INITIATE", initiate);
    EXPECT_EQ(server.last.detail, protocol_errors::unexpected_command);
    side<curve::server> other(server_of(), 2);
    other.hear("HELLO", stranger.hello());
    other.hear("INITIATE", initiate);
    EXPECT_EQ(other.last.detail, protocol_errors::cryptographic);
    other.hear("INITIATE", initiate);
    EXPECT_EQ(other.last.detail, protocol_errors::unexpected_command);
}

TEST(curve_handshake, takes_a_cookie_back_for_a_minute) {
    for (const int seconds : {60, 61}) {
        pair both;
        const octets initiate = both.initiate();
        both.server.now += std::chrono::seconds(seconds);
        both.server.hear("INITIATE", initiate);
        if (seconds == 60)
            EXPECT_EQ(both.server.last.status, status::waiting);
        else
            expect_failure(both.server, protocol_errors::cryptographic);
    }
}

TEST(curve_handshake, refuses_what_is_not_due) {
    const octets data(300, 'x');
    for (const char *name : {"HELLO", "WELCOME", "INITIATE", "READY", "MESSAGE", "ERROR", "PING", "X"})
        for (int stage = 0; stage < 3; ++stage) {
            SCOPED_TRACE(std::string(name) + " at " + std::to_string(stage));
            const std::string_view command = name;
            pair both;
            if (stage == 0)
                (void)both.hello();
            else if (stage == 1)
                (void)both.initiate();
            else
                both.complete();
            (void)both.server.machine.take_session(), (void)both.client.machine.take_session();
            if (command != (stage == 0 ? "HELLO" : stage == 1 ? "INITIATE" : "")) {
                both.server.hear(name, data);
                expect_failure(both.server, protocol_errors::unexpected_command);
            }
            if (command != "ERROR" && command != (stage == 0 ? "WELCOME" : stage == 1 ? "READY" : "")) {
                both.client.hear(name, data);
                EXPECT_EQ(both.client.last.detail, protocol_errors::unexpected_command);
            }
        }
}

// Somebody on the way can say so, too: in no state is it for good.
TEST(curve_handshake, of_a_client_ends_when_it_is_told_so_and_may_be_tried_again) {
    for (const bool is_early : {true, false})
        for (const octets &reason : {octets("300"), octets("400"), octets("500"), octets("no"), octets()}) {
            SCOPED_TRACE(reason);
            pair both;
            if (is_early)
                (void)both.hello();
            else
                (void)both.initiate();
            both.client.hear("ERROR", octets(1, static_cast<char>(reason.size())) + reason);
            const bool is_status = reason.size() == 3;
            EXPECT_EQ(both.client.last.status, status::failed);
            EXPECT_EQ(both.client.last.failure,
                      is_status ? failure_kind::authentication : failure_kind::peer_error);
            EXPECT_EQ(both.client.last.detail, is_status ? std::stoul(reason) : 0u);
            EXPECT_TRUE(both.client.last.may_retry);
            EXPECT_EQ(both.client.machine.take_session(), nullptr);
            both.client.hear("ERROR", "\4"
                                      "400");
            EXPECT_EQ(both.client.last.detail, protocol_errors::malformed_error);
        }
}

TEST(curve_handshake, fails_without_random_octets) {
    pair first, second, third;
    first.client.random.is_empty = true;
    EXPECT_EQ(first.client.machine.start(first.client.out).status, status::failed);
    second.server.random.is_empty = true;
    second.server.hear("HELLO", second.hello());
    EXPECT_EQ(second.server.last.status, status::failed);
    const octets welcome = third.welcome();
    third.client.random.is_empty = true;
    third.client.hear("WELCOME", welcome);
    EXPECT_EQ(third.client.last.status, status::failed);
    EXPECT_TRUE(first.client.out.empty() && second.server.out.empty() && third.client.out.empty());
}

TEST(curve_handshake, refuses_properties_that_break_the_rules) {
    for (const octets &broken : {octets("\xff"), octets("abc"), property("Socket-Type", "PUSH") + octets("x"),
                                 property("A", "1") + property("a", "2")}) {
        own_client stranger;
        stranger.properties = broken;
        side<curve::server> server(server_of(), 1);
        stranger.greet(server);
        server.judge();
        expect_failure(server, protocol_errors::invalid_metadata);
    }
}

TEST(curve_handshake, takes_properties_of_any_size) {
    own_client stranger;
    stranger.properties += property("X-Long", octets(std::size_t{1} << 20, 'l'));
    side<curve::server> server(server_of(), 1);
    stranger.greet(server);
    ASSERT_EQ(server.judge().status, status::complete);
    EXPECT_EQ(std::string_view(server.peer().find("X-Long")).size(), std::size_t{1} << 20);
}

/// It makes those of a fresh pair, and of the agreements that RFC 26 names; nothing is computed
/// twice. The first INITIATE has the server's public key derived, for all connections with these
/// options.
TEST(curve_handshake, multiplies_no_more_than_its_boxes_need) {
    const settings of_server = server_of();
    for (const bool is_first : {true, false}) {
        pair both(client_of(), of_server);
        const auto expect = [](int of_base, int others, const char *what) {
            EXPECT_EQ(std::exchange(multiplications_of_base, 0), of_base) << what;
            EXPECT_EQ(std::exchange(multiplications, 0), others) << what;
        };
        multiplications_of_base = multiplications = 0;
        const octets hello = both.hello();
        expect(1, 1, "client: C' and c'->S");
        both.server.hear("HELLO", hello);
        expect(1, 1, "server: S' and s->C'");
        both.client.hear("WELCOME", both.server.said("WELCOME"));
        expect(0, 2, "client: c'->S' and c->S'");
        both.server.hear("INITIATE", both.client.said("INITIATE"));
        expect(is_first, 2, "server: s'->C' and s'->C");
        both.server.judge();
        both.client.hear("READY", both.server.said("READY"));
        expect(0, 0, "READY");
        EXPECT_EQ(both.client.last.status, status::complete);
    }
}

TEST(curve_server, keeps_little_of_a_client_that_has_not_come_back) {
    EXPECT_LE(sizeof(curve::server) + arena_key::size, 256u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(curve_handshake, has_its_secrets_where_no_core_is_written_and_forgets_them) {
    const bool may_lock = zlink_test::may_lock_memory();
    side<curve::client, noted_octets> client(client_of(), 0);
    side<curve::server, noted_octets> server(server_of(), 0);
    const auto expect_found = [&](std::vector<int> times) {
        std::vector<std::string> keys = client.random.keys();
        for (const std::string &each : server.random.keys())
            keys.push_back(each);
        ASSERT_EQ(keys.size(), times.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(zlink_test::count_words_in_core(keys[i]), 0) << i;
            EXPECT_EQ(zlink_test::count_where(keys[i],
                                              [&](const zlink_test::mapping &each) {
                                                  return !each.is_dumped() && each.is_locked() == may_lock;
                                              }),
                      times[i])
                << i;
        }
    };
    ASSERT_EQ(client.machine.start(client.out).status, status::unfinished);
    expect_found({1});  // the client's short-term key
    server.hear("HELLO", client.said("HELLO"));
    expect_found({1, 0, 1});  // the server's is in the cookie only, and here is the cookie's
    client.hear("WELCOME", server.said("WELCOME"));
    expect_found({0, 0, 1});
    server.hear("INITIATE", client.said("INITIATE"));
    expect_found({0, 0, 0});
    server.judge();
    client.hear("READY", server.said("READY"));
    EXPECT_EQ(client.last.status, status::complete);
    std::string hidden = key_in(client.machine.take_session());
    for (char &each : hidden)
        each = static_cast<char>(~each);
    EXPECT_EQ(
        zlink_test::count_where(hidden, [](const zlink_test::mapping &each) { return !each.is_dumped(); }), 1)
        << "the server's, which the client's is the same as";
}
#endif

// ---- Inside a conversation ----------------------------------------------------------------------

octets curve_greeting(bool is_server) {
    octets out = testing::greeting("CURVE");
    out[32] = is_server;
    return out;
}

/// Hands each what the other has written until neither has more to say.
void talk(peer_driver &a, peer_driver &b) {
    for (bool is_over = false; !is_over;) {
        const octets from_a = a.take_written(), from_b = b.take_written();
        is_over = from_a.empty() && from_b.empty();
        if (!from_a.empty())
            b.feed(from_a);
        if (!from_b.empty())
            a.feed(from_b);
    }
}

TEST(curve_conversation, begins_with_the_greeting_of_its_role) {
    peer_driver server(server_of(), true), client(client_of());
    EXPECT_EQ(server.take_written(), curve_greeting(true));
    EXPECT_EQ(client.take_written(), curve_greeting(false));
}

TEST(curve_conversation, is_established_by_two_of_ours) {
    peer_driver server(server_of(), true, nullptr, nullptr, verdict{}), client(client_of());
    talk(server, client);
    EXPECT_EQ(client.log(), std::vector<std::string>{"established"});
    ASSERT_EQ(server.log().size(), 2u);
    EXPECT_EQ(server.log()[0], "authenticate CURVE " + client_public());
    EXPECT_EQ(server.log()[1], "established");
}

TEST(curve_conversation, of_a_server_puts_off_what_public_keys_are_computed_with) {
    peer_driver server(server_of(), true, nullptr, nullptr, verdict{}), client(client_of());
    talk(server, client);
    EXPECT_TRUE(server.machine().is_established());
    EXPECT_EQ(server.turns(), "sg");
    EXPECT_EQ(client.turns(), "");
}

TEST(curve_conversation, refuses_what_shows_at_once_that_it_is_none_without_a_turn) {
    peer_driver server(server_of(), true);
    server.feed(peer_driver(client_of()).take_written());
    server.feed(command_frame("HELLO", octets(curve::hello_size - 1, '\1')));
    EXPECT_TRUE(server.is_closed());
    EXPECT_EQ(server.turns(), "");
}

TEST(curve_conversation, does_not_begin_with_a_peer_of_another_mechanism) {
    settings plain = socket_of(socket_type::push);
    plain.mechanism = mechanism_kind::plain;
    for (const settings &other : {socket_of(socket_type::push), plain}) {
        peer_driver server(server_of(), true), client(other);
        talk(server, client);
        EXPECT_EQ(server.log().back(), "close mechanism_mismatch 11000002");
        EXPECT_EQ(client.log().back(), "close mechanism_mismatch 11000002");
    }
}

TEST(curve_conversation, takes_nobody_of_an_older_version) {
    peer_driver server(server_of(), true);
    server.feed(octets("\xff\0\0\0\0\0\0\0\1\x7f\1", 11));
    EXPECT_TRUE(server.is_closed());
}

TEST(curve_conversation, takes_no_message_before_the_handshake_is_over) {
    for (const octets &early :
         {testing::frame("early"), testing::frame("\7MESSAGE" + octets(8, '\0') + octets(25, 'x')),
          command_frame("MESSAGE", octets(33, 'x')), command_frame("PING", octets(2, '\0'))})
        for (int heard = 0; heard < 3; ++heard) {
            SCOPED_TRACE(heard);
            peer_driver server(server_of(), true), client(client_of());
            server.feed(client.take_written());
            client.feed(server.take_written());
            if (heard > 0) {
                server.feed(client.take_written());
                if (heard > 1)
                    client.feed(server.take_written());
            }
            server.feed(early);
            client.feed(early);
            EXPECT_TRUE(server.is_closed());
            EXPECT_TRUE(client.is_closed());
            EXPECT_EQ(testing::octets(client.take_written()).find("ERROR"), octets::npos);
        }
}

TEST(curve_conversation, allows_a_minute_for_the_cookie_where_there_is_no_limit) {
    settings options = server_of();
    options.handshake_interval_ms = 0;
    peer_driver server(options, true), client(client_of());
    client.feed(server.take_written());
    server.feed(client.take_written());
    client.feed(server.take_written());
    server.pass(milliseconds(61000));
    server.feed(client.take_written());
    EXPECT_EQ(server.log().back(), "close protocol 11000001");
}

TEST(curve_conversation, keeps_no_more_than_64_kib_of_a_command) {
    peer_driver server(server_of(), true);
    server.feed(curve_greeting(false));
    server.feed(octets("\6\0\0\0\0\0\1\0\1", 9));
    EXPECT_TRUE(server.is_closed());
}

}  // namespace
}  // namespace zlink
