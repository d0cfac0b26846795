// A run of sockets that talk to each other: members do their traffic while there is chaos, the
// oracle judges.
//
// Flow:     chaos (traffic under faults) | heal, then everybody must be heard again by everybody
//           within the time of a reconnect | a last round that must arrive whole | the end, one of
//           several, which must come in time | nothing may be left. Some runs are terminated in the
//           middle of the chaos.
// Files:    conversations.cpp is the conductor, conversations_life.cpp what becomes of a member's
//           socket, conversations_traffic.cpp what it sends and receives, conversations_topics.cpp
//           what it subscribes to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "handler.hpp"
#include "plan.hpp"
#include "socket/poll_set.hpp"
#include "stage.hpp"
#include "topic_watch.hpp"

namespace zlink::sim {

constexpr std::size_t last_round_messages = 5;  // of each sender

/// One socket and the actor that uses it.
struct member {
    int tag = 0;
    bool is_left = false;
    bool binds = false;
    sim_context *home = nullptr;
    settings options;
    std::unique_ptr<socket> handle;
    actor *who = nullptr;
    int epoch = 0;
    std::map<std::pair<int, octets>, channel *>
        out;  // by receiver (0: any or all) and the routing id it goes by
    std::size_t sent_in_chaos = 0;
    std::size_t sent_last = 0;
    time_point next_upstream{};
    std::vector<std::string> endpoints;  // bound or connected
    bool wants_new_socket = false;
    bool wants_new_endpoints = false;
    bool has_ended = false;  // closes its last socket, or has done so
};

class conversations final : private stage {
public:
    conversations(std::uint64_t seed, planted plant, const plan &what, const dice &chance);
    verdict run();

private:
    // ---- what members do ----
    enum class outcome { done, not_now, ended };

    void live(const std::vector<member *> &all);
    void rest(member &self);
    bool serves_together() const noexcept { return plan_.polls && plan_.kind != conversation::pair; }
    bool poll(std::span<member *const> all, short wanted, int timeout_ms, std::vector<watched> &items);
    void take_polled(const std::vector<member *> &all);
    void change(member &self);
    void open(member &self);
    void monitor(member &self);
    void watch(sim_context &home, int tag, const std::string &endpoint);
    void renew(member &self);
    void close(member &self);
    void attach(member &self);
    time_point end_of_linger(int linger_ms) const noexcept;
    void note_end(member &self);
    void turn(member &self);
    unsigned next_failure();
    error insist(const std::function<error()> &call);
    bool is_excused(error e) const noexcept { return e == error::no_memory && plan_.short_memory > 0; }
    void burst(member &self);
    outcome send_turn(member &self);
    outcome send(member &self, channel &to, const std::deque<octets> &front = {});
    outcome send_part(member &self, const octets &body, bool more);
    bool receive_at_once(member &self, message &out);
    outcome receive(member &self, std::deque<octets> &parts, int &link, int flags);
    outcome receive_turn(member &self, int flags, bool must_find = false);
    outcome answer(member &self, channel &from, const std::deque<octets> &front);
    void ask(member &self);
    void pause(member &self);
    bool may_send(member &self) const;
    channel &channel_to(member &self, int to, const octets &routing_id = {});
    reach reach_of(const member &self) const;
    bool sends_by_itself(const member &self) const;
    bool has_ended(int tag) const;

    // ---- what publishers and subscribers do ----
    void choose_types(settings &options, bool is_left);
    void open_topics(member &self);
    void subscribe(member &self);
    void change_topic(member &self, bool is_subscribe, const std::string &topic);
    void change_mind(member &self);
    static bool sends_upstream(const member &self) noexcept { return self.options.type == socket_type::xsub; }
    bool listens(const member &self);
    channel &upstream_of(member &self);
    channel &choose_topic(member &self, std::deque<octets> &front);
    bool is_meant(const member &who, const channel &what) const;
    bool take_topic(member &self, std::deque<octets> &parts, octets &topic, int link);
    octets front_of(const channel &what) const;
    void settle_topics();

    // ---- what the conductor does ----
    void conduct();
    void check_counters();
    void add_members();
    settings options_for(bool is_left);
    void secure(settings &options, bool is_server) const;
    void set_faults();
    void make_chaos();
    void act();
    void prove_life();
    void last_round();
    void end_all();
    std::vector<member *> side(bool is_left);
    bool is_heard(int from, int to) const;
    bool hears(const member &left, const member &right) const;
    std::uint64_t missing() const;

    plan plan_;
    std::unique_ptr<handler> handler_;  // of whoever binds, where peers are judged
    std::deque<member> members_;
    phase phase_ = phase::chaos;
    time_point healed_{};
    time_point last_round_began_{};
    std::set<int> living_;
    std::vector<message> kept_;  // planted
    unsigned receives_ = 0;
    bool sends_last_words_ = false;
    topic_watch topics_{world_};
    std::map<int, octets> front_of_;  // channels whose messages have a topic in front
};

}  // namespace zlink::sim
