// Holds what kind of run a seed chooses: who talks to whom, over what, with which faults, and how
// it ends.
#pragma once

#include <string>

#include "core/tuning.hpp"
#include "dice.hpp"
#include "ledger.hpp"
#include "world.hpp"

namespace zlink::sim {

enum class conversation { push_pull, pair, dealer_router, req_rep, pub_sub, xpub_xsub };
enum class phase { chaos, probing, last_round, draining, over };
/// The run ends so.
enum class ending { at_once, lingering, in_vain, in_chaos };

struct plan {
    explicit plan(dice &d);

    /// Peers are judged, and keep what they say to themselves or not.
    void secure(dice &d);

    conversation kind;
    std::size_t left_count = 1;   // PUSH, DEALER, REQ, PUB, XPUB
    std::size_t right_count = 1;  // PULL, ROUTER, REP, SUB, XSUB
    bool is_inproc;
    bool left_binds;
    bool is_calm;        // faults that break nothing
    bool keeps_sockets;  // nobody gives sockets or endpoints up
    message_profile looks;
    std::size_t messages;  // of each sender, while there is chaos
    milliseconds chaos;
    ending how;
    int linger_ms = 0;
    milliseconds interval{};
    int reconnect_ms;
    int reconnect_max_ms;
    int handshake_ms;
    int heartbeat_ms;
    int heartbeat_timeout_ms;
    bool has_slow_readers;  // which take their time while there is chaos
    bool is_immediate;      // ZMQ_IMMEDIATE: a queue lives as long as its connection
    bool has_names;         // DEALERs announce ids of their own, ROUTERs hand them over
    bool is_starving;       // the only fault is that connections stall and then break
    bool is_local;          // much goes through memory that both sides share
    // Quick answers between few, through narrow streams that fail to be written.
    bool is_borrowing;
    // Whoever receives waits long, or for ever where nobody depends on what it does next.
    bool is_patient;
    // Waits are those of zmq_poll; one actor serves all sockets of the right.
    bool polls;
    // Calls in which an allocation fails, of a million, while there is chaos.
    std::uint64_t short_memory;
    // Somebody reads what the monitors of the sockets say, or nobody does.
    bool is_monitored;
    bool is_judged = false;  // who binds asks its handler about peers
    mechanism_kind mechanism = mechanism_kind::null;
    std::size_t topics;  // that SUBs subscribe to and that nobody publishes
    tuning knobs;
    std::size_t loops;

    bool is_publishing() const noexcept {
        return kind == conversation::pub_sub || kind == conversation::xpub_xsub;
    }
    bool is_one_way() const noexcept { return kind == conversation::push_pull || is_publishing(); }
    duration longest_reconnect() const { return milliseconds(std::max(2 * reconnect_ms, reconnect_max_ms)); }
    std::string text() const;

private:
    void share(dice &d);
    void starve();
    void borrow(dice &d);
};

}  // namespace zlink::sim
