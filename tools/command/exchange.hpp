// Messages from stdin to a socket, and from the socket to stdout, until there is a reason to end.
//
// Flow: one thread polls the socket, its monitor, stdin and the signals. REQ and REP need no rules
// of their own: the library says when they may send.

#pragma once

#include "arguments.hpp"
#include "interrupts.hpp"
#include "output.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace command {

struct exchange_flags {
    connection_flags connection;
    format_flags format;
    std::vector<std::string> messages;  // sent instead of stdin
    std::vector<std::string> topics;
    std::optional<unsigned long> count;
    std::optional<milliseconds> interval;
    unsigned ready = 0;  // subscribers to wait for
    bool has_delimiter = false;
    bool ends_with_peer = false;
};

/// The way in which a type of socket takes part.
struct role {
    int type = 0;
    bool binds_by_default = false;
    bool sends = false;
    bool receives = false;
};

role role_of(int type);

/// Makes a reply of a request; for REP. None where a signal came before, which can be read from the
/// descriptor.
using responder =
    std::function<std::optional<std::vector<std::string>>(const std::vector<std::string> &, int interrupted)>;

class exchange {
public:
    exchange(const exchange_flags &flags, const role &part, responder answer);
    status run();

private:
    using clock = std::chrono::steady_clock;

    status run_until_end();
    void set_up_socket();
    std::optional<status> wait_for_subscribers();
    bool receive_some();
    void take(message &got);
    void send_some();
    bool has_next();
    void load_next();
    bool may_send_now() const;
    bool is_done() const;
    bool is_source_exhausted() const;
    bool is_waiting_for_peer() const;
    bool is_overdue() const;
    std::optional<status> wait(bool with_source, int timeout);
    std::optional<status> look_once_more();
    std::optional<status> look_at_events();
    void collect_events();
    std::string endpoint_of(const message &got);
    int poll_timeout() const;
    status without_more(status nothing_came) const;
    status end(status code);

    const exchange_flags &flags_;
    role part_;
    responder answer_;
    interrupts interrupts_;
    context context_;
    socket socket_;
    watch watch_;
    output out_;
    input in_;
    std::optional<std::vector<std::string>> pending_;
    unsigned long loaded_ = 0, sent_ = 0, received_ = 0;
    size_t next_message_ = 0;
    clock::time_point last_activity_;
    clock::time_point next_send_;
    bool waits_for_subscribers_ = false;
    std::set<std::string> subscribers_;
    long ready_peers_ = 0;
    // By endpoint: those whose end is still to be told.
    std::map<std::string, long> failed_handshakes_;
    bool had_peer_ = false;
    std::deque<watch_event> events_;        // that nobody has looked at
    std::map<int, std::string> endpoints_;  // by descriptor of the connection
    opened opened_;
    status why_nothing_ = status::timed_out;
    std::string why_words_;
};

}  // namespace command
