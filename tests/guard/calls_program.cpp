// Does what calls_test.py looks at from outside: conversations of a known length.
//
//   calls_program lockstep one|two ROUND_TRIPS     ROUTER to ROUTER over tcp, in one thread or in
//                                                  two
//   calls_program between tcp|ipc ROUND_TRIPS      two processes; each prints how often its threads
//                                                  slept
//   calls_program poll tcp|inproc MESSAGES         zmq_poll and zmq_recv of what is there, between
//                                                  two calls of getppid
#include "ends.hpp"
#include "raw_peer.hpp"
#include "switches.hpp"

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

using namespace guard;

constexpr int warm_up_round_trips = 2000;

void ask(end &from) {
    from.send();
    from.receive();
}

void answer(end &from) {
    from.receive();
    from.send();
}

// Every message of the process counts, so there are none to prove the connection: a ROUTER sends at
// once.
void lockstep(bool in_one_thread, int round_trips) {
    const context zmq;
    two_ends pair(zmq, find_pattern("ROUTER_ROUTER"), "tcp");
    if (in_one_thread) {
        for (int i = 0; i < round_trips; ++i) {
            pair.sender.send();
            answer(pair.receiver);
            pair.sender.receive();
        }
        return;
    }
    std::thread other([&] {
        for (int i = 0; i < round_trips; ++i)
            answer(pair.receiver);
    });
    for (int i = 0; i < round_trips; ++i)
        ask(pair.sender);
    other.join();
}

template <class RoundTrip>
void count_sleeps(const char *role, int round_trips, RoundTrip &&round_trip) {
    for (int i = 0; i < warm_up_round_trips; ++i)
        round_trip();
    const auto begun = std::chrono::steady_clock::now();
    const switches before = count_switches();
    for (int i = 0; i < round_trips; ++i)
        round_trip();
    const switches after = count_switches();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    std::printf("%s application %ld library %ld milliseconds %.0f\n", role,
                after.application - before.application, after.library - before.library, took.count());
    std::fflush(stdout);
}

void between(const std::string &transport, int round_trips) {
    int pipe_ends[2];
    require(::pipe(pipe_ends) == 0, "pipe");
    const pid_t child = ::fork();  // before there is a context
    require(child >= 0, "fork");
    const context zmq;
    char endpoint[256] = {};
    if (child == 0) {
        end bound(zmq, ZMQ_DEALER, "answers", "");
        const std::string name = bound.bind(transport);
        require(::write(pipe_ends[1], name.data(), name.size()) > 0, "write of the endpoint");
        count_sleeps("answers", round_trips, [&] { answer(bound); });
        bound.send();  // the last one, for the other process must not end first
        bound.receive();
        return;
    }
    require(::read(pipe_ends[0], endpoint, sizeof endpoint - 1) > 0, "read of the endpoint");
    end connecting(zmq, ZMQ_DEALER, "asks", "");
    connecting.connect(endpoint);
    count_sleeps("asks", round_trips, [&] { ask(connecting); });
    connecting.receive();
    connecting.send();
    connecting.set(ZMQ_LINGER, patience_ms);
    int status = 0;
    require(::waitpid(child, &status, 0) == child && status == 0, "the other process");
}

void receive_polled(end &from, int messages) {
    from.receive();  // what has to be done once is done now
    (void)::getppid();
    for (int i = 0; i < messages; ++i) {
        require(from.has_input(i % 2 == 0 ? -1 : 0), "zmq_poll");
        from.receive();
    }
    (void)::getppid();
}

void poll_over_inproc(int messages) {
    const context zmq;
    end receiver(zmq, ZMQ_PAIR, "", "");
    end sender(zmq, ZMQ_PAIR, "", "");
    receiver.set(ZMQ_RCVHWM, 0);
    sender.set(ZMQ_SNDHWM, 0);
    sender.connect(receiver.bind("inproc"));
    for (int i = 0; i < messages + 1; ++i)
        sender.send();
    receive_polled(receiver, messages);
}

// The peer asks for a PONG behind its last message: when that comes, all messages have arrived.
void poll_over_tcp(int messages) {
    const context zmq;
    end receiver(zmq, ZMQ_PULL, "", "");
    receiver.set(ZMQ_RCVHWM, 0);
    zlink::test::raw_peer peer(receiver.bind("tcp"));
    std::string octets = zlink::test::greeting() + zlink::test::ready("PUSH");
    for (int i = 0; i < messages + 1; ++i)
        octets += zlink::test::message(std::string(message_size, 'g'));
    octets += zlink::test::command("PING", std::string_view("\0\0", 2));
    require(peer.send(octets), "send of the messages");
    (void)peer.receive(zlink::test::greeting().size());
    const auto is_pong = [](const std::string &body) { return body.find("PONG") != std::string::npos; };
    for (std::pair<std::uint8_t, std::string> frame; !is_pong(frame.second);) {
        frame = peer.receive_frame();
        require(frame.first != 0xff, "a PONG");
    }
    receive_polled(receiver, messages);
}

}  // namespace

int main(int count, char **words) {
    require(count == 4, "usage: calls_program lockstep|between|poll WHICH COUNT");
    const std::string what = words[1];
    const std::string which = words[2];
    const int times = std::atoi(words[3]);
    if (what == "lockstep")
        lockstep(which == "one", times);
    else if (what == "between")
        between(which, times);
    else if (which == "tcp")
        poll_over_tcp(times);
    else
        poll_over_inproc(times);
}
