// Contexts, sockets, messages and monitors of zmq.h as objects. Each throws `failure` where zmq.h
// answers -1.

#pragma once

#include "failure.hpp"

#include <optional>
#include <string>
#include <vector>

namespace command {

/// The parts of a message, and what is known of whoever sent it.
struct message {
    std::vector<std::string> parts;
    std::string peer_address;
    std::string peer_type;
    int descriptor = -1;   // of the connection that it came by
    std::string endpoint;  // bound or connected to, that it came by; "" where that is not known
};

class context {
public:
    context();
    ~context();
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    void *handle() const { return handle_; }

private:
    void *handle_;
};

class socket {
public:
    socket(context &owner, int type);
    ~socket();
    socket(const socket &) = delete;
    socket &operator=(const socket &) = delete;

    void *handle() const { return handle_; }
    void set(int option, int value);
    void set(int option, const std::string &value);
    int get(int option) const;
    std::string last_endpoint() const;

    void bind(const std::string &endpoint);
    void connect(const std::string &endpoint);

    /// False where it would have to wait; nothing is queued then.
    bool try_send(const std::vector<std::string> &parts);
    bool try_receive(message &into);

protected:
    void *handle_;
    explicit socket(void *handle) : handle_(handle) {}
};

/// One that somebody else closes.
class borrowed_socket : public socket {
public:
    explicit borrowed_socket(void *handle) : socket(handle) {}
    ~borrowed_socket() { handle_ = nullptr; }
    borrowed_socket(const borrowed_socket &) = delete;
    borrowed_socket &operator=(const borrowed_socket &) = delete;
};

/// A number of the type of that name, such as "pub"; none where there is no such type.
std::optional<int> type_of_name(const std::string &name);
std::string name_of_type(int type);
std::vector<std::string> names_of_types();

/// The type that a probe or a benchmark uses to talk to a peer of that type: SUB for PUB.
int partner_of(int type);

struct watch_event {
    int number = 0;
    unsigned value = 0;
    std::string endpoint;
    std::string reason;  // words, where the library had some for this event
    int reason_errno = 0;
};

/// Tells what happens to the connections of a socket, each with its reason.
class watch {
public:
    watch(context &owner, socket &watched);
    void *handle() const { return events_.handle(); }
    std::optional<watch_event> next();

    /// Words that no event has followed: those of a bind or connect that has failed.
    std::string left_reason();

private:
    socket events_;
    std::string reason_;
    int reason_errno_ = 0;
};

/// Says what an event means for the end of the command: refused, protocol or unreachable; none
/// where it is no fault.
std::optional<status> meaning_of(const watch_event &event);

/// Whether another attempt could end otherwise.
bool is_final(const watch_event &event);

std::string words_of(const watch_event &event);

}  // namespace command
