// FAN_IN: one thread sends on many PUSHs in turn to one PULL; messages a second from the first that
// is received to the last.
//
// Flow:     each PUSH has a connection of its own. The order is checked for each by itself: nothing
//           says whose message comes next.
#include "peers/peers.hpp"

#include <zmq.h>

#include <cstring>
#include <thread>

namespace bench {

namespace {

class collector {
public:
    collector(void *socket, std::size_t senders, std::size_t size)
        : socket_(socket), message_(size), next_(senders), expected_(senders, incoming(size)) {}

    // Receives that many messages of each sender; messages a second.
    double receive(std::uint64_t each) {
        const std::uint64_t all = each * next_.size();
        steady::time_point first;
        for (std::uint64_t i = 0; i < all; ++i) {
            require(zmq_recv(socket_, message_.data(), message_.size(), 0) ==
                        static_cast<int>(message_.size()),
                    "receive of a message of the right size");
            if (i == 0)
                first = steady::now();
            check();
        }
        return static_cast<double>(all - 1) / seconds_between(first, steady::now());
    }

private:
    void check() {
        std::uint64_t sequence = 0;
        std::memcpy(&sequence, message_.data(), sizeof sequence);
        const std::size_t sender = sequence % next_.size();
        std::memcpy(expected_[sender].data(), message_.data(), message_.size());
        require(expected_[sender].is_message(next_[sender]++ * next_.size() + sender),
                "order and content of a message");
    }

    void *const socket_;
    std::vector<char> message_;
    std::vector<std::uint64_t> next_;  // of each sender
    std::vector<incoming> expected_;
};

}  // namespace

findings measure_fan_in(peer_settings &wanted) {
    context zmq(wanted, static_cast<int>(wanted.count) + 8);
    void *pull = zmq.open(ZMQ_PULL);
    const std::vector<void *> sockets = connect_many(zmq, ZMQ_PUSH, wanted, bind_for_many(pull, wanted));
    collector all(pull, wanted.count, wanted.size);
    std::vector<outgoing> bodies(wanted.count, outgoing(wanted.size));
    std::uint64_t sequence = 0;
    const auto run = [&](std::uint64_t each) {
        std::thread sender([&] {
            for (std::uint64_t i = 0; i < each * sockets.size(); ++i, ++sequence) {
                const std::size_t at = sequence % sockets.size();
                require(zmq_send(sockets[at], bodies[at].make(sequence), wanted.size, 0) >= 0, "send");
            }
        });
        const double rate = all.receive(each);
        sender.join();
        return rate;
    };
    run(wanted.warmup / wanted.count + 1);
    return {{"throughput", run(wanted.messages / wanted.count + 1)}};
}

}  // namespace bench
