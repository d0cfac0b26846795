// Latency: one message goes back and forth; half of the mean round trip is one way.
//
// Flow:     end A sends, end B answers with the message it got, A checks it. A pattern that cannot
//           answer uses a second pair of sockets for the way back. The ends share a thread or have
//           one each.
#include "bench.hpp"

#include <zmq.h>

#include <chrono>
#include <thread>

namespace bench {

namespace {

using steady = std::chrono::steady_clock;

// One end of the conversation: where it sends, where it receives, and which routing ids travel
// along.
class talker {
public:
    struct routing {
        const char *address = nullptr;  // put before every message sent
        std::size_t address_size = 0;
        bool sees_id = false;  // found before every message received
    };

    talker(void *out, void *in, routing frames, const settings &wanted, bool polls)
        : out_(out), in_(in), frames_(frames), polls_(polls), sent_(wanted.bodies, wanted.size),
          received_(wanted.bodies, wanted.size) {}

    void send(std::uint64_t sequence) {
        if (frames_.address)
            require(zmq_send(out_, frames_.address, frames_.address_size, ZMQ_SNDMORE) >= 0,
                    "send of a routing id");
        sent_.send(out_, sequence);
    }

    void receive(std::uint64_t sequence) {
        if (polls_) {
            zmq_pollitem_t item{in_, 0, ZMQ_POLLIN, 0};
            require(zmq_poll(&item, 1, -1) == 1, "zmq_poll");
        }
        if (frames_.sees_id) {
            char id[32];
            require(zmq_recv(in_, id, sizeof id, 0) > 0, "receive of a routing id");
        }
        received_.receive(in_, sequence);
    }

private:
    void *const out_;
    void *const in_;
    const routing frames_;
    const bool polls_;
    body_sender sent_;
    body_receiver received_;
};

double one_way_us(steady::duration elapsed, std::uint64_t round_trips) {
    return std::chrono::duration<double, std::micro>(elapsed).count() /
           (2.0 * static_cast<double>(round_trips));
}

double ping_in_one_thread(const settings &wanted, talker &a, talker &b) {
    steady::time_point start;
    for (std::uint64_t i = 0; i < wanted.warmup + wanted.round_trips; ++i) {
        if (i == wanted.warmup)
            start = steady::now();
        a.send(i);
        b.receive(i);
        b.send(i);
        a.receive(i);
    }
    return one_way_us(steady::now() - start, wanted.round_trips);
}

double ping_between_threads(const settings &wanted, talker &a, talker &b) {
    const std::uint64_t all = wanted.warmup + wanted.round_trips;
    std::thread echo([&] {
        for (std::uint64_t i = 0; i < all; ++i) {
            b.receive(i);
            b.send(i);
        }
    });
    steady::time_point start;
    for (std::uint64_t i = 0; i < all; ++i) {
        if (i == wanted.warmup)
            start = steady::now();
        a.send(i);
        a.receive(i);
    }
    const auto elapsed = steady::now() - start;
    echo.join();
    return one_way_us(elapsed, wanted.round_trips);
}

}  // namespace

double measure_latency(const settings &wanted) {
    const pattern &kind = find_pattern(wanted.pattern);
    context zmq(wanted);
    link forth = zmq.open_link(kind);
    link back = kind.one_way ? zmq.open_link(kind) : link{};

    talker::routing at_a;
    talker::routing at_b;
    if (kind.sender_addresses)
        at_a = {receiver_id, receiver_id_size, true};
    if (kind.receiver_sees_id)
        at_b = {sender_id, sender_id_size, true};

    talker a(forth.sender, kind.one_way ? back.receiver : forth.sender, at_a, wanted, kind.polls);
    talker b(kind.one_way ? back.sender : forth.receiver, forth.receiver, at_b, wanted, kind.polls);
    const double result =
        wanted.latency_in_one_thread ? ping_in_one_thread(wanted, a, b) : ping_between_threads(wanted, a, b);
    zmq.close(forth);
    if (kind.one_way)
        zmq.close(back);
    return result;
}

}  // namespace bench
