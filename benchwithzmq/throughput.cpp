// Throughput: one thread sends as fast as it can, another receives and holds the watch.
#include "bench.hpp"

#include <zmq.h>

namespace bench {

namespace {

class sending_end {
public:
    sending_end(const pattern &kind, void *socket, body_way way, std::size_t size)
        : addresses_(kind.sender_addresses), socket_(socket), body_(way, size) {}

    void send(std::uint64_t sequence) {
        if (addresses_)
            require(zmq_send(socket_, receiver_id, receiver_id_size, ZMQ_SNDMORE) >= 0,
                    "send of a routing id");
        body_.send(socket_, sequence);
    }

private:
    const bool addresses_;
    void *const socket_;
    body_sender body_;
};

class receiving_end {
public:
    receiving_end(const pattern &kind, void *socket, body_way way, std::size_t size)
        : sees_id_(kind.receiver_sees_id), polls_(kind.polls), socket_(socket), body_(way, size) {}

    void receive(std::uint64_t sequence) {
        if (polls_) {
            zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
            require(zmq_poll(&item, 1, -1) == 1, "zmq_poll");
        }
        if (sees_id_) {
            char id[sizeof sender_id];
            require(zmq_recv(socket_, id, sizeof id, 0) == static_cast<int>(sender_id_size) &&
                        std::memcmp(id, sender_id, sender_id_size) == 0,
                    "receive of a routing id");
        }
        body_.receive(socket_, sequence);
    }

private:
    const bool sees_id_;
    const bool polls_;
    void *const socket_;
    body_receiver body_;
};

}  // namespace

double measure_throughput(const settings &wanted) {
    const pattern &kind = find_pattern(wanted.pattern);
    context zmq(wanted);
    link pair = zmq.open_link(kind);
    sending_end to(kind, pair.sender, wanted.bodies, wanted.size);
    receiving_end from(kind, pair.receiver, wanted.bodies, wanted.size);
    const double rate = time_stream(wanted.warmup, wanted.messages, to, from);
    zmq.close(pair);
    return rate;
}

}  // namespace bench
