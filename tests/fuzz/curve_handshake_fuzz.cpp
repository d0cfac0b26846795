// Fuzz target: the CURVE handshake of either role, with a peer who has good keys and says with them
// what the input has. What fails leaves nothing behind, and nothing that was changed on its way is
// taken.
//
// Input:    form:1 | octets. The form says who hears a command of the other side, its first or its
//           second, and how that comes: in clear as the octets have it | with the octets in its box
//           | with them behind what is sound in the box | with octets changed, where (place:2 |
//           change:1)* have it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/invariant.hpp"
#include "curve_target.hpp"
#include "zmtp/curve_client.hpp"
#include "zmtp/curve_server.hpp"

using namespace zlink;
using namespace zlink::test;

namespace {

using octets = std::vector<std::uint8_t>;
using progress = mechanism::progress;

constexpr std::size_t most_said = 4096;

template <typename Role>
struct side {
    side(const settings &own, std::uint8_t first)
        : options(own), random(first), machine(options, random), info(block_ref::adopt(new peer_info)) {}

    mechanism::outcome hear(std::string_view name, byte_span data) {
        last = machine.receive({name, data}, peer(), out);
        check();
        return last;
    }
    void judge() {
        verdict yes;
        yes.what = verdict::kind::accepted;
        last = machine.judge(yes, peer(), out);
        check();
    }
    void check() {
        ZLINK_INVARIANT(out.size() < most_said);
        ZLINK_INVARIANT(last.status != progress::failed || machine.take_session() == nullptr);
    }
    peer_info &peer() { return static_cast<peer_info &>(*info.get()); }
    /// The data of the one command that it has said.
    octets said() {
        const std::size_t header = out.at(0) & 2 ? 9 : 2;
        return {out.begin() + static_cast<std::ptrdiff_t>(header + 1 + out.at(header)), out.end()};
    }

    const settings options;
    known_octets random;
    Role machine;
    block_ref info;
    mechanism::outcome last;
    octets out;
};

/// Says where the box of a command stands, and what its nonce is made of.
struct box_place {
    std::string_view name;
    std::size_t in_front;
    std::string_view prefix;
    bool has_long_nonce;
    // Octets of what is in it that have to be there for the rest to be looked at.
    std::size_t sound;
};

constexpr box_place hello{"HELLO", curve::hello_size - curve::signature_size - curve::box_overhead,
                          curve::prefix::hello, false, 0};
constexpr box_place welcome{"WELCOME", curve::long_nonce_size, curve::prefix::welcome, true, curve::key_size};
constexpr box_place initiate{"INITIATE", curve::cookie_size + curve::short_nonce_size,
                             curve::prefix::initiate, false, curve::key_size + curve::vouch_size};
constexpr box_place ready{"READY", curve::short_nonce_size, curve::prefix::ready, false, 0};

curve::nonce nonce_of(const octets &data, const box_place &where) {
    const byte_span clear = byte_span(data).first(where.in_front);
    return where.has_long_nonce
               ? curve::make_nonce(where.prefix, clear)
               : curve::make_nonce(where.prefix, get_u64(clear.last(curve::short_nonce_size).data()));
}

/// Does the same command with something else in its box.
octets resealed(const octets &data, const box_place &where, const curve_secret_key &shared, bool keeps_sound,
                byte_span content) {
    octets text(data.size() - where.in_front - curve::box_overhead);
    ZLINK_INVARIANT(
        curve::open(byte_span(data).subspan(where.in_front), nonce_of(data, where), shared, text.data()));
    text.resize(keeps_sound ? where.sound : 0);
    text.insert(text.end(), content.begin(), content.end());
    octets out(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(where.in_front));
    out.resize(where.in_front + text.size() + curve::box_overhead);
    curve::seal(text, nonce_of(data, where), shared, out.data() + where.in_front);
    return out;
}

octets changed(octets data, byte_span edits) {
    for (; edits.size() >= 3; edits = edits.subspan(3))
        data[(edits[0] << 8 | edits[1]) % data.size()] ^= edits[2];
    return data;
}

/// Both sides, who draw the same octets in each run, so that their short-term keys are known.
struct conversation_of_two {
    static constexpr std::uint8_t first_of_client = 1, first_of_server = 101;

    conversation_of_two()
        : client(curve_options(false, socket_type::dealer), first_of_client),
          server(curve_options(true, socket_type::router), first_of_server) {
        known_octets(first_of_client).draw(client_secret, sizeof client_secret);
        known_octets(first_of_server).draw(server_secret, sizeof server_secret);
        (void)client.machine.start(client.out);
        said_hello = client.said();
    }
    void say_welcome() {
        (void)server.hear(hello.name, said_hello);
        said_welcome = server.said();
        server.out.clear();
    }
    void say_initiate() {
        client.out.clear();
        (void)client.hear(welcome.name, said_welcome);
        said_initiate = client.said();
        client.out.clear();
    }
    void say_ready() {
        (void)server.hear(initiate.name, said_initiate);
        server.judge();
        said_ready = server.said();
    }
    static curve_secret_key shared(byte_span secret_half, byte_span public_half) {
        curve_secret_key out;
        ZLINK_INVARIANT(curve::agree(secret_half, public_half, out));
        return out;
    }
    curve_secret_key before_welcome() const {
        return shared(client_secret, as_bytes(pair_of_server().public_half));
    }
    curve_secret_key behind_welcome() const {
        curve_key their_key{};
        (void)derive_curve_public(server_secret, their_key);
        return shared(client_secret, their_key);
    }

    side<curve::client> client;
    side<curve::server> server;
    std::uint8_t client_secret[curve::key_size], server_secret[curve::key_size];
    octets said_hello, said_welcome, said_initiate, said_ready;
};

/// One command, told to who waits for another like it.
template <typename Role>
void tell(side<Role> &who, std::uint8_t form, const box_place &due, const octets &sound,
          const curve_secret_key &shared, byte_span content) {
    constexpr std::string_view names[] = {"HELLO", "WELCOME", "INITIATE", "READY",
                                          "ERROR", "MESSAGE", "",         "PING"};
    who.out.clear();
    switch ((form >> 2) % 4) {
    case 0: {
        // Half of them have the name that is due.
        const std::string_view name = form & 0x80 ? due.name : names[(form >> 4) % 8];
        (void)who.hear(name, content);
        ZLINK_INVARIANT(who.last.status == progress::failed);
        return;
    }
    case 1:
    case 2:
        (void)who.hear(due.name, resealed(sound, due, shared, (form >> 2) % 4 == 2, content));
        break;
    case 3: {
        const octets other = changed(sound, content);
        (void)who.hear(due.name, other);
        // X25519 does not look at the topmost bit of a key; the vouch of INITIATE does.
        ZLINK_INVARIANT(other == sound || who.last.status == progress::failed || due.name == hello.name);
        break;
    }
    }
    if (who.last.status == progress::waiting)
        who.judge();
    if (who.last.status == progress::complete)
        ZLINK_INVARIANT(who.machine.take_session() != nullptr);
    // Nothing is due any more.
    if (who.last.status == progress::complete || who.last.status == progress::failed) {
        (void)who.hear(due.name, sound);
        ZLINK_INVARIANT(who.last.status == progress::failed);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::uint8_t form = data[0];
    const bool is_servers = form & 1, is_second = form & 2;
    const byte_span content(data + 1, size - 1);
    conversation_of_two both;
    if (is_servers && !is_second) {
        tell(both.server, form, hello, both.said_hello, both.before_welcome(), content);
        return 0;
    }
    both.say_welcome();
    if (!is_servers && !is_second) {
        tell(both.client, form, welcome, both.said_welcome, both.before_welcome(), content);
        return 0;
    }
    both.say_initiate();
    if (is_servers) {
        tell(both.server, form, initiate, both.said_initiate, both.behind_welcome(), content);
        return 0;
    }
    both.say_ready();
    tell(both.client, form, ready, both.said_ready, both.behind_welcome(), content);
    return 0;
}
