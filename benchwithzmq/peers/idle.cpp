// IDLE: what connections cost that nothing is sent through.
//
// Flow:     a PULL in this process, one PUSH in a second process that connects to it again and
//           again (a DEALER would take the second zmq_connect to one endpoint for the first).
//           Monitors on both sides count the handshakes; then the growth of both processes is read:
//           memory, octets for each connection with both its ends. Afterwards one message goes
//           through every connection, and the growth is read again (memory_used).
// Limits:   one process holds one end of each connection, so the count is limited by the
//           descriptors of one process; the result's name says how many connections there were.
// It lies if: the allocator had free memory before. Both processes are new, so it had not.
#include "peers/peers.hpp"

#include <zmq.h>

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace bench {

namespace {

constexpr std::size_t other_descriptors = 64;
constexpr std::size_t connects_at_once = 100;
constexpr long longest_silence_ms = 60'000;
constexpr char monitor_endpoint[] = "inproc://bench-handshakes";

class handshakes {
public:
    handshakes(context &zmq, void *socket) {
        require(zmq_socket_monitor(socket, monitor_endpoint, ZMQ_EVENT_HANDSHAKE_SUCCEEDED) == 0,
                "zmq_socket_monitor");
        events_ = zmq.open(ZMQ_PAIR);
        require(zmq_connect(events_, monitor_endpoint) == 0, "zmq_connect");
    }

    void wait_until(std::size_t count) {
        for (; seen_ < count; ++seen_) {
            if (!has_input(events_, longest_silence_ms)) {
                std::fprintf(stderr, "%zu of %zu handshakes after a minute of silence\n", seen_, count);
                fail("a handshake for every connection");
            }
            char event[6];
            char address[256];
            require(zmq_recv(events_, event, sizeof event, 0) == sizeof event, "receive of an event");
            require(zmq_recv(events_, address, sizeof address, 0) >= 0, "receive of an address");
        }
    }

private:
    void *events_ = nullptr;
    std::size_t seen_ = 0;
};

void write_memory(int channel) {
    const std::size_t octets = memory_in_use().now;
    write_all(channel, &octets, sizeof octets);
}

std::size_t read_memory(int channel) {
    std::size_t octets = 0;
    read_all(channel, &octets, sizeof octets);
    return octets;
}

void wait_for_go(int channel) { read_text(channel); }
void say_go(int channel) { write_text(channel, "go"); }

void connect_many(const peer_settings &wanted, int channel) {
    const std::string endpoint = read_text(channel);
    context zmq(wanted);
    void *push = zmq.open(ZMQ_PUSH);
    handshakes done(zmq, push);
    write_memory(channel);
    wait_for_go(channel);
    for (std::size_t i = 0; i < wanted.count; ++i) {
        require(zmq_connect(push, endpoint.c_str()) == 0, "zmq_connect");
        if ((i + 1) % connects_at_once == 0)
            done.wait_until(i + 1);
    }
    done.wait_until(wanted.count);
    say_go(channel);
    wait_for_go(channel);
    write_memory(channel);
    wait_for_go(channel);
    outgoing message(wanted.size);
    for (std::size_t i = 0; i < wanted.count; ++i)
        require(zmq_send(push, message.make(i), wanted.size, 0) >= 0, "send");
    wait_for_go(channel);
    write_memory(channel);
    wait_for_go(channel);
}

// PUSH sends in turn, so that is one message from each connection; each comes once.
void receive_from_all(void *pull, const peer_settings &wanted) {
    std::vector<bool> came(wanted.count);
    std::vector<char> body(wanted.size);
    for (std::size_t i = 0; i < wanted.count; ++i) {
        require(has_input(pull, longest_silence_ms), "a message from every connection");
        require(zmq_recv(pull, body.data(), wanted.size, 0) == static_cast<int>(wanted.size),
                "receive of a message of the right size");
        const std::uint64_t sequence = load_word(body.data());
        require(sequence < wanted.count && !came[sequence], "every message once");
        came[sequence] = true;
    }
}

}  // namespace

findings measure_idle(peer_settings &wanted) {
    wanted.count = std::min(wanted.count, raise_descriptor_limit() - other_descriptors);
    child_process client([&](int channel) { connect_many(wanted, channel); });
    const int channel = client.channel();
    const auto both_ends = [&] { return static_cast<double>(memory_in_use().now + read_memory(channel)); };
    double before = 0;
    double after = 0;
    double used = 0;
    {
        context zmq(wanted);
        void *pull = zmq.open(ZMQ_PULL);
        set_int(pull, ZMQ_BACKLOG, 4096);
        handshakes done(zmq, pull);
        write_text(channel, bind_and_name(pull, wildcard(wanted.transport, 0)));
        before = both_ends();
        say_go(channel);
        done.wait_until(wanted.count);
        wait_for_go(channel);
        say_go(channel);
        after = both_ends();
        say_go(channel);
        receive_from_all(pull, wanted);
        say_go(channel);
        used = both_ends();
        say_go(channel);
        client.wait_for_end();
    }
    const auto count = static_cast<double>(wanted.count);
    return {{"memory", (after - before) / count}, {"memory_used", (used - before) / count}};
}

}  // namespace bench
