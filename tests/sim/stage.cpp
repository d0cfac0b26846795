#include "stage.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "core/curve_keys.hpp"

namespace zlink::sim {

namespace {

octets garbage(dice &d) {
    // No version of ZMTP begins so; without the first octet nearly anything could be the routing id
    // of a peer of ZMTP 1.0.
    octets made(10, 0x11);
    made[0] = 0xff;
    if (d.coin()) {
        // A greeting that promises ZMTP 3.0 with NULL, and something else behind it.
        made.assign(64, 0);
        made[0] = 0xff;
        made[9] = 0x7f;
        made[10] = 3;
        const char name[] = "NULL";
        std::copy_n(name, 4, made.begin() + 12);
    }
    for (std::uint64_t count = d.next() % 200; count > 0; --count)
        made.push_back(static_cast<std::uint8_t>(d.next()));
    made.resize(d.between(0, made.size()));
    return made;
}

#ifdef ZLINK_WITH_CURVE
std::string public_half_of(const std::string &secret_half) {
    curve_key key{};
    (void)derive_curve_public(as_bytes(secret_half), key);
    return std::string(as_text(key));
}
#endif

}  // namespace

void stage::set_keys([[maybe_unused]] settings &options, [[maybe_unused]] bool is_server) {
#ifdef ZLINK_WITH_CURVE
    const std::string of_server(curve_secret_key::octets, 's'), of_client(curve_secret_key::octets, 'c');
    options.mechanism = mechanism_kind::curve;
    options.curve_server = is_server;
    options.curve_secret_key = std::string_view(is_server ? of_server : of_client);
    options.curve_public_key = public_half_of(is_server ? of_server : of_client);
    options.curve_server_key = public_half_of(of_server);
#endif
}

void stage::set_faults(bool is_calm) {
    fault_rates &r = network_.rates;
    constexpr std::uint64_t often[] = {0, 1'000, 20'000, 300'000};
    r.one_octet = chance_.pick(often);
    r.short_count = chance_.pick(often);
    r.not_ready = chance_.pick(often);
    r.lend_refused = chance_.pick(often);
    world_.switches = chance_.pick(often);
    constexpr std::uint64_t rarely[] = {0, 0, 300, 3'000};
    world_.signals = chance_.pick(often) / 4;
    network_.smallest_buffer = chance_.coin() ? 64 : 16384;
    network_.largest_buffer = chance_.coin() ? 16384 : 262144;
    constexpr std::size_t pieces[] = {3, 100, 1460, 65536};
    network_.largest_piece = chance_.pick(pieces);
    network_.most_latency = microseconds(chance_.between(50, 3000));
    r.stall = chance_.pick(rarely);
    r.longest_stall = milliseconds(chance_.between(1, 400));
    world_.late_timers = chance_.pick(often);
    if (is_calm)
        return;
    r.reset = chance_.pick(rarely);
    constexpr std::uint64_t failing_writes[] = {0, 300, 3'000, 30'000};
    r.write_fails = chance_.pick(failing_writes);
    r.take_back_fails = chance_.pick(rarely);
    r.refuse = 10 * chance_.pick(often) / 10;
    r.accept_error = chance_.pick(often) / 2;
    r.handshake_stall = chance_.pick(often) / 2;
}

void stage::heal() {
    network_.heal();
    world_.late_timers = 0;
    world_.signals = 0;
    world_.tell("healed");
}

void stage::disturb(std::uint64_t what) {
    constexpr const char *names[] = {"reset one",      "reset one",    "reset one",   "reset all",
                                     "half-close one", "stall one",    "stall one",   "refuse dials",
                                     "accept dials",   "accept dials", "rogue comes", "starves one",
                                     "starves one"};
    world_.tell("act: ", names[what]);
    switch (what) {
    case 0:
    case 1:
    case 2:
        network_.reset_one();
        break;
    case 3:
        network_.reset_all();
        break;
    case 4:
        network_.half_close_one();
        break;
    case 5:
    case 6:
        network_.stall_one(milliseconds(chance_.between(1, 1000)));
        break;
    case 7:
        network_.refuse_dials(true);
        network_.reset_all();
        break;
    case 8:
    case 9:
        network_.refuse_dials(false);
        break;
    case 10:
        network_.connect_rogue(garbage(chance_));
        break;
    case starving:
    case 12:
        network_.starve_one(milliseconds(chance_.between(20, 500)));
        break;
    }
}

/// Promise 7.
void stage::finish(sim_context &which, const std::string &name, duration at_most) {
    auto is_done = std::make_shared<bool>(false);
    world_.at(world_.now() + at_most, [this, is_done, name] {
        if (!*is_done)
            world_.violate(promise::terminates, "the " + name + " context does not end in time");
    });
    world_.tell("the ", name, " context ends");
    which.terminate();
    world_.tell("the ", name, " context has ended");
    *is_done = true;
}

void stage::finish_both(duration at_most) {
    sim_context *order[] = {&left_, &right_};
    if (chance_.coin())
        std::swap(order[0], order[1]);
    for (sim_context *c : order)
        finish(*c, c == &left_ ? "left" : "right", at_most);
}

void stage::expect_equal(const std::string &side, const std::string &what, std::uint64_t one,
                         std::uint64_t other, std::uint64_t more_at_most) {
    if (one > other || other - one > more_at_most)
        world_.violate(promise::counts_once, "the " + side + ", " + what + ": " + std::to_string(one) +
                                                 " and " + std::to_string(other));
}

/// The value of a counter; one less where a fault is planted in it.
std::uint64_t stage::counted(const counters &which, counter what) const {
    static const std::map<planted, counter> missed = {
        {planted::uncounted_full, counter::dropped_hwm},
        {planted::uncounted_nobody, counter::dropped_no_peer},
        {planted::uncounted_unroutable, counter::dropped_unroutable},
        {planted::uncounted_late, counter::dropped_filtered_late},
        {planted::uncounted_unwanted, counter::dropped_unwanted},
        {planted::uncounted_unread, counter::dropped_unread},
        {planted::uncounted_lingering, counter::dropped_linger},
        {planted::uncounted_gone, counter::dropped_peer_gone},
        {planted::uncounted_sent, counter::messages_sent},
        {planted::uncounted_received, counter::messages_received},
    };
    const std::uint64_t found = which.get(what);
    if (found == 0)
        return 0;
    for (const auto &[plant, where] : missed)
        if (where == what && world_.has_planted(plant))
            return found - 1;
    const bool is_of_publishers = &which == &left_.counts_of(sim_context::group::pub) ||
                                  &which == &left_.counts_of(sim_context::group::xpub);
    const bool is_missed = is_of_publishers && what == counter::dropped_unwanted &&
                           world_.has_planted(planted::uncounted_upstream);
    return found - is_missed;
}

namespace {

std::uint64_t sum_of(const network::metered &all, const std::set<int> &sockets,
                     std::uint64_t message_meter::found::*what) {
    std::uint64_t sum = 0;
    for (const auto &[tag, found] : all)
        sum += sockets.contains(tag) ? found.*what : 0;
    return sum;
}

}  // namespace

/// The sum of what was read for sockets of this kind.
std::uint64_t stage::came(const tags &sockets, sim_context::group to,
                          std::uint64_t message_meter::found::*what) const {
    const auto those = sockets.find(to);
    return those != sockets.end() ? sum_of(network_.metered_read(), those->second, what) : 0;
}

/// Nobody can open the boxes behind a READY that there was no memory for.
std::uint64_t stage::unopened(const tags &sockets, sim_context::group to) const {
    return world_.has_failed_reading() ? came(sockets, to, &message_meter::found::beside_handshake) : 0;
}

/// All that was sent was written to a stream as a whole, or is counted as lost.
void stage::check_counters(const std::string &name, const sim_context &which, const tags &sockets,
                           bool mistakable) {
    const auto number = [&](counter what) { return counted(which.counts(), what); };
    std::uint64_t written = 0;
    for (const auto &[group, those] : sockets)
        written += sum_of(network_.metered_written(), those, &message_meter::found::messages);
    const bool only_receives = number(counter::messages_sent) == 0;
    expect_equal(name, "sent; lost before and written", number(counter::messages_sent),
                 number(counter::dropped_linger) + number(counter::dropped_peer_gone) +
                     (only_receives ? 0 : number(counter::dropped_conflate)) + written);
    check_read(name, which, sockets, mistakable);
}

/// All that a connection has read from its stream was received, or is counted as lost. A socket
/// that conflates throws away at either end, and here is at one of them alone. For publishers
/// subscriptions are messages, too; those of a peer that goes before its publisher has looked are
/// forgotten.
void stage::check_read(const std::string &name, const sim_context &which, const tags &sockets,
                       bool mistakable) {
    using found = message_meter::found;
    const auto number = [&](counter what) { return counted(which.counts(), what); };
    std::uint64_t read = 0, behind_ready = 0;
    for (const auto &[group, those] : sockets) {
        read += came(sockets, group, &found::messages) + came(sockets, group, &found::subscriptions);
        behind_ready += unopened(sockets, group);
    }
    const bool only_receives = number(counter::messages_sent) == 0;
    const bool has_publishers =
        sockets.contains(sim_context::group::pub) || sockets.contains(sim_context::group::xpub);
    expect_equal(name, "read; received and lost behind", read - behind_ready,
                 number(counter::messages_received) + number(counter::dropped_unread) +
                     number(counter::dropped_too_large) +
                     (only_receives ? number(counter::dropped_conflate) : 0) +
                     counted(which.counts_of(sim_context::group::pub), counter::dropped_unwanted) +
                     (has_publishers ? world_.pipes.withdrawn() : 0),
                 number(counter::dropped_too_large) + behind_ready +
                     (mistakable ? came(sockets, sim_context::group::pub, &found::messages) : 0));
}

/// Each message that was given went into the queue of one peer, had no room there, or nobody was
/// known by its address. Whether nobody gets it is known with its first part, which may be all that
/// was given of it.
void stage::check_given(const std::string &name, const sim_context &which) {
    const auto number = [&](counter what) { return counted(which.counts(), what); };
    const sim_context::traffic &real = which.of_application();
    const std::uint64_t lost = number(counter::dropped_hwm) + number(counter::dropped_unroutable);
    expect_equal(name, "given; sent and lost before", real.given, number(counter::messages_sent) + lost,
                 std::min(real.half_given, lost));
}

/// Each message went into the queue of each peer that wanted it, or had no room there. Where there
/// was no peer it is counted once.
void stage::check_wanted() {
    const auto number = [&](counter what) {
        return counted(left_.counts(), what) + counted(right_.counts(), what);
    };
    const fan_watch &fans = world_.fans;
    const std::uint64_t given = left_.of_application().given + right_.of_application().given;
    const std::uint64_t to_the_only = given - fans.messages();
    expect_equal("two", "wanted; sent and without room", fans.wanted() + to_the_only,
                 number(counter::messages_sent) + number(counter::dropped_hwm),
                 std::min(fans.half_wanted(), number(counter::dropped_hwm)));
    expect_equal("two", "sent while nobody was there; no_peer", fans.to_nobody(),
                 number(counter::dropped_no_peer));
}

/// Each message that a socket has read from a queue was taken, or is counted as one that nobody
/// wants any more.
void stage::check_taken(const std::string &name, const sim_context &which) {
    const auto number = [&](counter what) {
        return counted(which.counts_of(sim_context::group::others), what);
    };
    const sim_context::traffic &real = which.of_application();
    expect_equal(name, "taken and passed over; received",
                 real.taken + number(counter::dropped_unwanted) + number(counter::dropped_filtered_late),
                 number(counter::messages_received));
}

/// Nobody can take the messages that come to a PUB. Those of an XPUB are taken, or left when it
/// closes. How many of the subscriptions are among what was received, and not among what is unread,
/// the counters do not say.
void stage::check_upstream(const std::string &name, const sim_context &which, const tags *sockets) {
    using enum sim_context::group;
    const counters &pubs = which.counts_of(pub), &xpubs = which.counts_of(xpub);
    const std::uint64_t subscriptions =
        sockets ? came(*sockets, xpub, &message_meter::found::subscriptions) : 0;
    const std::uint64_t unseen = counted(xpubs, counter::dropped_unread) + world_.pipes.withdrawn() +
                                 (sockets ? unopened(*sockets, xpub) : 0);
    expect_equal(
        name, "received by XPUBs; taken, left and subscriptions", counted(xpubs, counter::messages_received),
        which.of_application().taken_upstream + counted(xpubs, counter::dropped_unwanted) + subscriptions,
        std::min(subscriptions, unseen));
    if (!sockets)
        expect_equal(name, "received by PUBs; unwanted", counted(pubs, counter::messages_received),
                     counted(pubs, counter::dropped_unwanted));
    else
        expect_equal(name, "unwanted at PUBs; messages that came", counted(pubs, counter::dropped_unwanted),
                     came(*sockets, pub, &message_meter::found::messages),
                     counted(pubs, counter::dropped_unread) + counted(pubs, counter::dropped_too_large) +
                         unopened(*sockets, pub));
}

/// Over inproc nothing else knows what becomes of each message that is sent.
void stage::check_sides(const tags &left, const tags &right, const run_kind &how) {
    if (how.is_inproc)
        for (const sim_context *each : {&left_, &right_})
            if (const std::string why = each->unaccounted(); !why.empty())
                world_.violate(promise::counts_once, why);
    for (const bool is_left : {true, false}) {
        const char *const name = is_left ? "left" : "right";
        const sim_context &which = is_left ? left_ : right_;
        const tags &sockets = is_left ? left : right;
        if (!how.is_inproc)
            check_counters(name, which, sockets, how.is_mistakable);
        else if (!is_left)
            continue;  // all of them are of the left
        if (!how.is_publishing)
            check_given(name, which);
        check_taken(name, which);
        check_upstream(name, which, how.is_inproc ? nullptr : &sockets);
    }
}

void stage::check_leftovers() {
    const auto left = [&](std::uint64_t count, const char *what) {
        if (count)
            world_.violate(promise::leaves_nothing, std::to_string(count) + " " + what + " left");
    };
    left(world_.live_timers, "timers");
    left(world_.live_streams, "streams");
    left(world_.live_dialers, "dialers");
    left(world_.live_listeners, "listeners");
    left(left_.live_sessions() + right_.live_sessions(), "sessions");
    left(static_cast<std::uint64_t>(left_.pool_users()), "chunks of the left");
    left(static_cast<std::uint64_t>(right_.pool_users()), "chunks of the right");
}

verdict stage::play(const std::string &story) {
    world_.run();
    if (!world_.is_over()) {
        world_.run_out();
        check_leftovers();
    }
    return {world_.found(),
            world_.what(),
            story,
            world_.trace_hash(),
            world_.steps(),
            world_.elapsed(),
            delivered_,
            network_.breaks(),
            network_.lendings(),
            network_.reads_by_borrowers(),
            network_.writes_by_senders(),
            network_.breaks_in_use(),
            network_.rings(),
            world_.full_rings,
            network_.hostile_rings(),
            0,
            0,
            world_.pipes.seen()};
}

}  // namespace zlink::sim
