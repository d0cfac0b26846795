// LOCK_STEP: one ROUTER answers many DEALERs, each with one request outstanding; round trips a second.
//
// Flow:     one thread is the ROUTER; another is all the DEALERs: it waits for them in one zmq_poll, and each that has
//           its answer sends the next request.
#include "peers/peers.hpp"

#include <zmq.h>

#include <thread>

namespace bench {

namespace {

class dealers {
public:
    dealers(const std::vector<void *> &sockets, std::size_t size) : size_(size) {
        for (void *each : sockets) {
            items_.push_back({each, 0, ZMQ_POLLIN, 0});
            sent_.emplace_back(size);
            received_.emplace_back(size);
            answers_.push_back(0);
        }
    }

    // That many round trips for each; all together a second.
    double run(std::uint64_t each) {
        const auto start = steady::now();
        for (std::size_t i = 0; i < items_.size(); ++i)
            send(i);
        const std::uint64_t all = each * items_.size();
        for (std::uint64_t done = 0; done < all;) {
            int ready = zmq_poll(items_.data(), static_cast<int>(items_.size()), -1);
            require(ready > 0, "zmq_poll");
            for (std::size_t i = 0; ready > 0; ++i) {
                if (!(items_[i].revents & ZMQ_POLLIN))
                    continue;
                --ready;
                ++done;
                receive(i);
                if (++answers_[i] % each != 0)
                    send(i);
            }
        }
        const double rate = static_cast<double>(all) / seconds_between(start, steady::now());
        answers_.assign(answers_.size(), 0);
        for (std::size_t i = 0; i < items_.size(); ++i) {
            sent_[i] = outgoing(size_);
            received_[i] = incoming(size_);
        }
        return rate;
    }

private:
    void send(std::size_t i) {
        require(zmq_send(items_[i].socket, sent_[i].make(sequence(i)), size_, 0) >= 0, "send of a request");
    }

    void receive(std::size_t i) {
        const int got = zmq_recv(items_[i].socket, received_[i].data(), size_, ZMQ_DONTWAIT);
        require(got == static_cast<int>(size_), "receive of an answer of the right size");
        require(received_[i].is_message(sequence(i)), "order and content of an answer");
    }

    // Tells the peers apart, too: an answer at the wrong DEALER is noticed.
    std::uint64_t sequence(std::size_t i) const { return answers_[i] << 20 | i; }

    const std::size_t size_;
    std::vector<zmq_pollitem_t> items_;
    std::vector<outgoing> sent_;
    std::vector<incoming> received_;
    std::vector<std::uint64_t> answers_;
};

void answer(void *router, std::uint64_t requests, std::size_t size) {
    std::vector<char> body(size);
    char id[256];
    for (std::uint64_t i = 0; i < requests; ++i) {
        const int id_size = zmq_recv(router, id, sizeof id, 0);
        require(id_size > 0, "receive of a routing id");
        require(zmq_recv(router, body.data(), size, 0) == static_cast<int>(size), "receive of a request");
        require(zmq_send(router, id, static_cast<std::size_t>(id_size), ZMQ_SNDMORE) == id_size,
                "send of a routing id");
        require(zmq_send(router, body.data(), size, 0) == static_cast<int>(size), "send of an answer");
    }
}

}  // namespace

findings measure_lock_step(peer_settings &wanted) {
    context zmq(wanted, static_cast<int>(wanted.count) + 8);
    void *router = zmq.open(ZMQ_ROUTER);
    set_int(router, ZMQ_BACKLOG, static_cast<int>(wanted.count));
    const std::string endpoint = bind_and_name(router, wildcard(wanted.transport, 0));
    std::vector<void *> sockets;
    for (std::size_t i = 0; i < wanted.count; ++i) {
        sockets.push_back(zmq.open(ZMQ_DEALER));
        require(zmq_connect(sockets.back(), endpoint.c_str()) == 0, "zmq_connect");
    }
    const std::uint64_t warmup = wanted.warmup / wanted.count + 1;
    const std::uint64_t measured = wanted.messages / wanted.count + 1;
    std::thread server([&] { answer(router, (warmup + measured) * wanted.count, wanted.size); });
    dealers clients(sockets, wanted.size);
    clients.run(warmup);
    const double rate = clients.run(measured);
    server.join();
    return {{"throughput", rate}};
}

}  // namespace bench
