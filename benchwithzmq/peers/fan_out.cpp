// FAN_OUT: one PUB to many SUBs; deliveries a second from the first send to the last delivery.
//
// Why:      not from the first delivery: it comes when the reader is next given a processor, which
//           in a round of some milliseconds is as often after the last send as before it. Rates of
//           one binary were 3 to 92 M/s that way.
// Flow:     one thread publishes; another waits for all SUBs in one zmq_poll and reads each of
//           those that are ready until it is empty. Every SUB gets every message: ZMQ_XPUB_NODROP
//           is set, and each counts for itself.
// Order:    one subscriber; all of them; a round; the cell.
#include "peers/peers.hpp"

#include <zmq.h>

#include <cerrno>
#include <thread>

namespace bench {

namespace {

constexpr long resend_after_ms = 1;

struct subscriber {
    void *socket;
    incoming message;
    std::uint64_t next = 0;
    bool ended = false;
};

class crowd {
public:
    explicit crowd(const std::vector<void *> &sockets) : sockets_(sockets) {
        for (void *each : sockets)
            items_.push_back({each, 0, ZMQ_POLLIN, 0});
    }

    // Calls read for each socket that has something to read.
    template <class Read>
    void for_each_ready(long timeout_ms, Read read) {
        int ready = zmq_poll(items_.data(), static_cast<int>(items_.size()), timeout_ms);
        require(ready >= 0, "zmq_poll");
        for (std::size_t i = 0; ready > 0; ++i) {
            if (items_[i].revents & ZMQ_POLLIN) {
                read(i);
                --ready;
            }
        }
    }

    // Publishes until every subscription has arrived, then ends what was published for this.
    void wait_until_subscribed(void *publisher) {
        std::vector<bool> reached(sockets_.size());
        for (std::size_t missing = sockets_.size(); missing > 0;) {
            publish_mark(publisher, hello_mark);
            for_each_ready(resend_after_ms, [&](std::size_t i) {
                receive_marks(i);
                missing -= reached[i] ? 0 : 1;
                reached[i] = true;
            });
        }
        publish_mark(publisher, go_mark);
        for (std::size_t i = 0; i < sockets_.size(); ++i)
            while (receive_mark(i) != go_mark) {
            }
    }

    // Receives that many messages and the end mark at each socket; when the last came.
    steady::time_point receive_all(std::uint64_t messages, std::size_t size) {
        std::vector<subscriber> readers;
        for (void *each : sockets_)
            readers.push_back({each, incoming(size)});
        std::uint64_t deliveries = 0;
        steady::time_point last;
        for (std::size_t open = readers.size(); open > 0;) {
            for_each_ready(-1, [&](std::size_t i) {
                subscriber &reader = readers[i];
                deliveries += drain(reader, messages);
                if (reader.ended) {
                    items_[i].events = 0;
                    --open;
                    last = steady::now();
                }
            });
        }
        require(deliveries == messages * readers.size(), "as many deliveries as there should be");
        for (zmq_pollitem_t &item : items_)
            item.events = ZMQ_POLLIN;
        return last;
    }

    std::size_t size() const { return sockets_.size(); }

private:
    static void publish_mark(void *publisher, std::uint64_t mark) {
        require(zmq_send(publisher, &mark, sizeof mark, 0) == sizeof mark, "send of a mark");
    }

    std::uint64_t receive_mark(std::size_t i) {
        std::uint64_t mark = 0;
        require(zmq_recv(sockets_[i], &mark, sizeof mark, 0) == sizeof mark, "receive of a mark");
        return mark;
    }

    // All that are there: a subscriber that fell behind by its high-water mark would stop the
    // publisher, which is this thread.
    void receive_marks(std::size_t i) {
        std::uint64_t mark = 0;
        int got = 0;
        while ((got = zmq_recv(sockets_[i], &mark, sizeof mark, ZMQ_DONTWAIT)) == sizeof mark) {
        }
        require(got < 0 && zmq_errno() == EAGAIN, "receive of a mark");
    }

    static std::uint64_t drain(subscriber &reader, std::uint64_t messages) {
        const std::uint64_t before = reader.next;
        while (!reader.ended) {
            const int got =
                zmq_recv(reader.socket, reader.message.data(), reader.message.size(), ZMQ_DONTWAIT);
            if (got < 0) {
                require(zmq_errno() == EAGAIN, "receive");
                break;
            }
            require(got == static_cast<int>(reader.message.size()), "receive of a message of the right size");
            reader.ended = reader.next == messages;
            require(reader.message.is_message(reader.ended ? end_mark : reader.next),
                    "order and content of a message");
            reader.next += reader.ended ? 0 : 1;
        }
        return reader.next - before;
    }

    const std::vector<void *> &sockets_;
    std::vector<zmq_pollitem_t> items_;
};

double run_round(void *publisher, crowd &readers, std::uint64_t messages, std::size_t size) {
    steady::time_point first;
    std::thread sender([&] {
        first = steady::now();
        outgoing message(size);
        for (std::uint64_t i = 0; i <= messages; ++i)
            require(zmq_send(publisher, message.make(i == messages ? end_mark : i), size, 0) >= 0, "send");
    });
    const steady::time_point last = readers.receive_all(messages, size);
    sender.join();
    return static_cast<double>(messages * readers.size()) / seconds_between(first, last);
}

}  // namespace

findings measure_fan_out(peer_settings &wanted) {
    context zmq(wanted, static_cast<int>(wanted.count) + 8);
    void *publisher = zmq.open(ZMQ_PUB);
    const std::string endpoint = bind_for_many(publisher, wanted);
    std::vector<void *> sockets;
    for (std::size_t i = 0; i < wanted.count; ++i) {
        sockets.push_back(zmq.open(ZMQ_SUB));
        set_bytes(sockets.back(), ZMQ_SUBSCRIBE, "", 0);
        require(zmq_connect(sockets.back(), endpoint.c_str()) == 0, "zmq_connect");
    }
    crowd readers(sockets);
    readers.wait_until_subscribed(publisher);
    run_round(publisher, readers, wanted.warmup / wanted.count + 1, wanted.size);
    return {{"throughput", run_round(publisher, readers, wanted.messages / wanted.count + 1, wanted.size)}};
}

}  // namespace bench
