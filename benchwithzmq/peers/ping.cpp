// PING_ONE_THREAD, PING_TWO_THREADS, PING_TWO_PROCESSES, each also with _POLL, POLL_AMONG and WAKE:
// microseconds one way.
//
// Flow:     a message goes forth and back between two PAIRs (or, --raw, between two blocking stream
//           sockets); half of the mean round trip is one way. The ends share a thread, have one
//           each, or have a process each. _POLL waits in zmq_poll (poll) before every receive.
//           POLL_AMONG is two threads, one of which waits in one zmq_poll for that many PAIRs, each
//           with a peer of its own, all but one of which are silent. WAKE passes a turn between two
//           threads by an eventfd or a futex: what inproc cannot undercut when both sides sleep.
// Order:    the ends, of zmq and raw; both ways between them; in one process, among silent peers,
//           in two processes; bells and turns; the cells.
#include "peers/peers.hpp"

#include <zmq.h>

#include <atomic>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace bench {

namespace {

constexpr char polls_suffix[] = "_POLL";

class zmq_end {
public:
    zmq_end(void *socket, bool polls) : socket_(socket), polls_(polls) {}
    // Waits for `silent` as well, which must live as long.
    zmq_end(void *socket, const std::vector<void *> &silent) : zmq_end(socket, true) {
        for (void *each : silent)
            items_.push_back({each, 0, ZMQ_POLLIN, 0});
    }

    void send(const void *data, std::size_t size) {
        require(zmq_send(socket_, data, size, 0) == static_cast<int>(size), "send");
    }

    void receive(void *data, std::size_t size) {
        if (polls_) {
            items_[0].revents = 0;
            require(zmq_poll(items_.data(), static_cast<int>(items_.size()), -1) == 1 && items_[0].revents,
                    "zmq_poll");
        }
        require(zmq_recv(socket_, data, size, 0) == static_cast<int>(size), "receive");
    }

private:
    void *const socket_;
    const bool polls_;
    std::vector<zmq_pollitem_t> items_{{socket_, 0, ZMQ_POLLIN, 0}};
};

class raw_end {
public:
    raw_end(int fd, bool polls) : fd_(fd), polls_(polls) {}

    void send(const void *data, std::size_t size) { write_all(fd_, data, size); }

    void receive(void *data, std::size_t size) {
        if (polls_) {
            pollfd item{fd_, POLLIN, 0};
            require(::poll(&item, 1, -1) == 1, "poll");
        }
        read_all(fd_, data, size);
    }

private:
    const int fd_;
    const bool polls_;
};

// One end and its messages.
template <class End>
class talker {
public:
    talker(End end, std::size_t size) : end_(end), sent_(size), received_(size) {}

    void send(std::uint64_t sequence) { end_.send(sent_.make(sequence), sent_.size()); }

    void receive(std::uint64_t sequence) {
        end_.receive(received_.data(), received_.size());
        require(received_.is_message(sequence), "order and content of a message");
    }

private:
    End end_;
    outgoing sent_;
    incoming received_;
};

template <class End>
void echo(End end, const peer_settings &wanted) {
    talker<End> self(end, wanted.size);
    for (std::uint64_t i = 0; i < wanted.warmup + wanted.messages; ++i) {
        self.receive(i);
        self.send(i);
    }
}

// Between the calls of answer the other end is somebody else's, or this thread's.
template <class End, class Answer>
double ping(End end, const peer_settings &wanted, Answer answer) {
    talker<End> self(end, wanted.size);
    steady::time_point start;
    for (std::uint64_t i = 0; i < wanted.warmup + wanted.messages; ++i) {
        if (i == wanted.warmup)
            start = steady::now();
        self.send(i);
        answer(i);
        self.receive(i);
    }
    return one_way_us(steady::now() - start, wanted.messages);
}

template <class End>
double ping_here(End a, End b, const peer_settings &wanted, bool in_one_thread) {
    if (in_one_thread) {
        talker<End> other(b, wanted.size);
        return ping(a, wanted, [&](std::uint64_t i) {
            other.receive(i);
            other.send(i);
        });
    }
    std::thread thread([&] { echo(b, wanted); });
    const double result = ping(a, wanted, [](std::uint64_t) {});
    thread.join();
    return result;
}

double ping_here_on_zmq(const peer_settings &wanted, bool polls, bool in_one_thread) {
    context zmq(wanted);
    void *bound = zmq.open(ZMQ_PAIR);
    void *connecting = zmq.open(ZMQ_PAIR);
    const std::string endpoint = bind_and_name(bound, wildcard(wanted.transport, 0));
    require(zmq_connect(connecting, endpoint.c_str()) == 0, "zmq_connect");
    return ping_here(zmq_end(connecting, polls), zmq_end(bound, polls), wanted, in_one_thread);
}

double ping_among_silent(const peer_settings &wanted) {
    context zmq(wanted, 2 * static_cast<int>(wanted.count) + 8);
    std::vector<void *> silent;
    void *bound = nullptr;
    void *connecting = nullptr;
    for (std::size_t i = 0; i < wanted.count; ++i) {
        if (connecting)
            silent.push_back(connecting);
        bound = zmq.open(ZMQ_PAIR);
        connecting = zmq.open(ZMQ_PAIR);
        require(zmq_connect(connecting, bind_and_name(bound, wildcard(wanted.transport, 0)).c_str()) == 0,
                "zmq_connect");
        // Everybody is connected when the clock starts.
        char text = 'x';
        require(zmq_send(bound, &text, 1, 0) == 1 && zmq_recv(connecting, &text, 1, 0) == 1,
                "the first message");
    }
    return ping_here(zmq_end(connecting, silent), zmq_end(bound, false), wanted, false);
}

double ping_processes_on_zmq(const peer_settings &wanted, bool polls) {
    require(wanted.transport != "inproc", "a transport between processes");
    child_process other([&](int channel) {
        context zmq(wanted);
        void *socket = zmq.open(ZMQ_PAIR);
        require(zmq_connect(socket, read_text(channel).c_str()) == 0, "zmq_connect");
        echo(zmq_end(socket, polls), wanted);
        read_text(channel);  // the last message may still be on its way
    });
    context zmq(wanted);
    void *socket = zmq.open(ZMQ_PAIR);
    write_text(other.channel(), bind_and_name(socket, wildcard(wanted.transport, 0)));
    const double result = ping(zmq_end(socket, polls), wanted, [](std::uint64_t) {});
    write_text(other.channel(), "end");
    other.wait_for_end();
    return result;
}

double ping_processes_raw(const peer_settings &wanted, bool polls) {
    const raw_pair pair = open_raw_pair(wanted.transport);
    child_process other([&](int) { echo(raw_end(pair.b, polls), wanted); });
    const double result = ping(raw_end(pair.a, polls), wanted, [](std::uint64_t) {});
    other.wait_for_end();
    return result;
}

class eventfd_bell {
public:
    eventfd_bell() : fd_(::eventfd(0, 0)) { require(fd_ >= 0, "eventfd"); }
    ~eventfd_bell() { ::close(fd_); }

    void ring() {
        const std::uint64_t one = 1;
        require(::write(fd_, &one, sizeof one) == sizeof one, "write of an eventfd");
    }
    void wait() {
        std::uint64_t rings = 0;
        require(::read(fd_, &rings, sizeof rings) == sizeof rings && rings == 1, "read of an eventfd");
    }

private:
    const int fd_;
};

class futex_bell {
public:
    void ring() {
        rung_.store(1, std::memory_order_release);
        ::syscall(SYS_futex, &rung_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    void wait() {
        while (rung_.exchange(0, std::memory_order_acquire) == 0)
            ::syscall(SYS_futex, &rung_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }

private:
    std::atomic<std::uint32_t> rung_{0};
};

template <class Bell>
double pass_turns(const peer_settings &wanted) {
    Bell to_other;
    Bell to_self;
    const std::uint64_t all = wanted.warmup + wanted.messages;
    std::thread other([&] {
        for (std::uint64_t i = 0; i < all; ++i) {
            to_other.wait();
            to_self.ring();
        }
    });
    steady::time_point start;
    for (std::uint64_t i = 0; i < all; ++i) {
        if (i == wanted.warmup)
            start = steady::now();
        to_other.ring();
        to_self.wait();
    }
    const auto elapsed = steady::now() - start;
    other.join();
    return one_way_us(elapsed, wanted.messages);
}

bool has_suffix(const std::string &text, const std::string &end) {
    return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

findings measure_ping(peer_settings &wanted) {
    const bool polls = has_suffix(wanted.cell, polls_suffix);
    if (wanted.cell == "POLL_AMONG")
        return {{"latency", ping_among_silent(wanted)}};
    const bool in_processes = wanted.cell.rfind("PING_TWO_PROCESSES", 0) == 0;
    const bool in_one_thread = wanted.cell.rfind("PING_ONE_THREAD", 0) == 0;
    if (in_processes)
        return {{"latency",
                 wanted.raw ? ping_processes_raw(wanted, polls) : ping_processes_on_zmq(wanted, polls)}};
    if (!wanted.raw)
        return {{"latency", ping_here_on_zmq(wanted, polls, in_one_thread)}};
    const raw_pair pair = open_raw_pair(wanted.transport);
    return {{"latency", ping_here(raw_end(pair.a, polls), raw_end(pair.b, polls), wanted, in_one_thread)}};
}

findings measure_wake(peer_settings &wanted) {
    require(wanted.transport == "eventfd" || wanted.transport == "futex",
            "eventfd or futex as the transport");
    return {{"latency", wanted.transport == "futex" ? pass_turns<futex_bell>(wanted)
                                                    : pass_turns<eventfd_bell>(wanted)}};
}

}  // namespace bench
