#include "plan.hpp"

#include <algorithm>

namespace zlink::sim {

plan::plan(dice &d) {
    constexpr conversation kinds[] = {
        conversation::push_pull, conversation::push_pull, conversation::pair,     conversation::dealer_router,
        conversation::req_rep,   conversation::pub_sub,   conversation::xpub_xsub};
    kind = d.pick(kinds);
    if (kind != conversation::pair) {
        left_count = d.between(1, 3);
        right_count = d.coin() ? 1 : d.between(1, is_one_way() ? 3 : 2);
    }
    is_inproc = d.chance(200'000);
    left_binds = d.coin();
    is_calm = d.chance(300'000);
    keeps_sockets = d.coin();
    constexpr message_profile profiles[] = {
        {1, 40, 40}, {8, 100, 100}, {8, 2000, 2000}, {8, 2000, 20'000}, {3, 300, 100'000}};
    looks = d.pick(profiles);
    messages = d.between(10, looks.largest_rarely > 50'000 ? 100 : 500);
    chaos = milliseconds(d.between(50, 3000));
    constexpr ending endings[] = {ending::at_once, ending::lingering, ending::in_vain, ending::in_chaos};
    how = d.pick(endings);
    constexpr int lingers[] = {0, 50, 300};
    linger_ms = how == ending::in_vain || how == ending::in_chaos ? d.pick(lingers) : 0;
    constexpr int intervals[] = {1, 10, 50, 100};
    reconnect_ms = d.pick(intervals);
    reconnect_max_ms = d.coin() ? 0 : 4 * reconnect_ms;
    constexpr int handshakes[] = {300, 1000, 30'000};
    handshake_ms = d.pick(handshakes);
    heartbeat_ms = d.chance(300'000) ? 50 : 0;
    heartbeat_timeout_ms = d.coin() ? 300 : 5000;
    has_slow_readers = d.chance(250'000);
    is_immediate = d.chance(150'000);
    has_names = kind == conversation::dealer_router && d.chance(300'000);
    topics = d.coin() ? 0 : d.between(1, 40);
    constexpr std::size_t batches[] = {512, 4096, 65536};
    knobs.tcp.in_batch_size = d.pick(batches);
    knobs.tcp.senders_batch_size = knobs.tcp.written_alone_from = knobs.tcp.in_batch_size;
    // Often filled exactly.
    knobs.tcp.piece = knobs.tcp.in_batch_size == batches[0] ? 16 : knobs.tcp.in_batch_size;
    loops = d.between(1, 2);
    polls = d.chance(300'000);
    is_patient = d.coin();
    is_monitored = d.chance(250'000);
    constexpr std::uint64_t shortages[] = {0, 0, 0, 10'000, 200'000};
    // Whatever an XPUB misses for lack of memory is not told later.
    short_memory = kind == conversation::xpub_xsub ? 0 : d.pick(shortages);
    is_starving = d.chance(130'000);
    if (is_starving)
        starve();
    is_borrowing = !is_starving && d.chance(200'000);
    if (is_borrowing)
        borrow(d);
    is_local = !is_starving && d.chance(80'000);
    if (is_local)
        share(d);
}

/// Large messages: a ring is offered to a peer that was sent much.
void plan::share(dice &d) {
    is_inproc = false;
    right_count = left_count = 1;
    has_slow_readers &= d.coin();
    looks = {2, 30'000, 100'000};
    messages = d.between(150, 250);
    chaos = std::max(chaos, milliseconds(1500));
    knobs.ipc = knobs.tcp;
    knobs.ipc.piece = 0;
    if (knobs.ipc.in_batch_size < 4096)
        knobs.ipc.in_batch_size = 4096;
}

/// One queue, and connections that break when much is under way: what may be lost is known closely.
void plan::starve() {
    kind = conversation::push_pull;
    left_count = right_count = 1;
    is_inproc = left_binds = is_calm = is_immediate = has_names = has_slow_readers = false;
    keeps_sockets = true;
    looks = {8, 2000, 2000};
    chaos = std::max(chaos, milliseconds(1500));
    if (how == ending::in_chaos)
        how = ending::at_once;
}

/// Connections are lent all the time, and things happen to them while somebody sleeps who uses
/// them.
void plan::borrow(dice &d) {
    constexpr conversation kinds[] = {conversation::pair, conversation::dealer_router, conversation::req_rep};
    kind = d.pick(kinds);
    left_count = right_count = 1;
    if (kind != conversation::pair && d.coin()) {
        left_count = d.between(1, 2);
        right_count = d.between(2, 3);
    }
    is_inproc = is_calm = is_immediate = has_names = has_slow_readers = false;
    is_patient = keeps_sockets = true;
    looks = d.coin() ? message_profile{8, 100, 100} : message_profile{8, 2000, 2000};
    polls = right_count > 1;
    chaos = std::max(chaos, milliseconds(1000));
    heartbeat_ms = 0;
    if (how == ending::in_chaos)
        how = ending::at_once;
}

void plan::secure(dice &d) {
    // It is known of these closely what may be lost, or what is on the way.
    if (is_starving || is_local)
        return;
    is_inproc = false;
    is_judged = true;
#ifdef ZLINK_WITH_CURVE
    constexpr mechanism_kind mechanisms[] = {mechanism_kind::null, mechanism_kind::plain,
                                             mechanism_kind::curve, mechanism_kind::curve};
#else
    constexpr mechanism_kind mechanisms[] = {mechanism_kind::null, mechanism_kind::plain};
#endif
    mechanism = d.pick(mechanisms);
    // A handler that says nothing is waited for so long.
    handshake_ms = std::min(handshake_ms, 1000);
}

std::string plan::text() const {
    constexpr const char *names[] = {"PUSH/PULL", "PAIR", "DEALER/ROUTER", "REQ/REP", "PUB/SUB", "XPUB/XSUB"};
    constexpr const char *ends[] = {"at once", "lingering", "in vain", "in chaos"};
    return std::string(names[static_cast<int>(kind)]) + " " + std::to_string(left_count) + ":" +
           std::to_string(right_count) +
           (is_inproc  ? " inproc"
            : is_local ? " ipc"
                       : " tcp") +
           (!is_judged                           ? ""
            : mechanism == mechanism_kind::plain ? " with PLAIN"
            : mechanism == mechanism_kind::curve ? " with CURVE"
                                                 : ", judged") +
           (left_binds ? ", left binds" : ", right binds") + (is_calm ? ", calm" : "") +
           (is_starving ? ", starving" : "") + (is_borrowing ? ", borrowing" : "") +
           (polls ? ", polls" : "") + (is_monitored ? ", monitored" : "") +
           (short_memory ? ", short of memory" : "") + (is_patient ? ", patient" : "") +
           (is_immediate ? ", immediate" : "") + (has_names ? ", named" : "") + ", parts of " +
           std::to_string(looks.largest_part) + ", ends " + ends[static_cast<int>(how)] + ", linger " +
           std::to_string(linger_ms) + ", heartbeat " + std::to_string(heartbeat_ms);
}

}  // namespace zlink::sim
