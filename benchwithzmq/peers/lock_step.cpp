// LOCK_STEP: one ROUTER answers many DEALERs, each with one request outstanding; round trips a
// second.
//
// Flow:     one thread is the ROUTER; another is all the DEALERs: it waits for them in one
//           zmq_poll, and each that has its answer sends the next request. --raw: the same over
//           stream sockets, with an epoll on either side.
// Order:    the DEALERs; the ROUTER; both sides over raw sockets; the cell.
#include "peers/peers.hpp"

#include <zmq.h>

#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

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

// One side of all the connections: takes a message wherever there is one, and sends it back.
class raw_side {
public:
    raw_side(const std::vector<int> &sockets, std::size_t size) : epoll_(::epoll_create1(0)), body_(size) {
        require(epoll_ >= 0, "epoll_create1");
        for (const int fd : sockets) {
            epoll_event wanted{};
            wanted.events = EPOLLIN;
            wanted.data.fd = fd;
            require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted) == 0, "epoll_ctl");
        }
    }
    ~raw_side() { ::close(epoll_); }
    raw_side(const raw_side &) = delete;
    raw_side &operator=(const raw_side &) = delete;

    // Takes so many messages, and sends all but the last `unanswered` of them back.
    void run(std::uint64_t messages, std::uint64_t unanswered) {
        epoll_event ready[256];
        for (std::uint64_t done = 0; done < messages;) {
            const int count = ::epoll_wait(epoll_, ready, std::size(ready), -1);
            require(count > 0, "epoll_wait");
            for (int i = 0; i < count; ++i) {
                read_all(ready[i].data.fd, body_.data(), body_.size());
                if (++done + unanswered <= messages)
                    write_all(ready[i].data.fd, body_.data(), body_.size());
            }
        }
    }

private:
    const int epoll_;
    std::vector<char> body_;
};

double run_raw(const peer_settings &wanted) {
    std::vector<int> clients, servers;
    for (std::size_t i = 0; i < wanted.count; ++i) {
        const raw_pair pair = open_raw_pair(wanted.transport);
        clients.push_back(pair.a);
        servers.push_back(pair.b);
    }
    const std::uint64_t messages = wanted.messages / wanted.count * wanted.count + wanted.count;
    const auto start = steady::now();
    std::thread server([&] { raw_side(servers, wanted.size).run(messages, 0); });
    const std::vector<char> request(wanted.size, 'r');
    for (const int fd : clients)
        write_all(fd, request.data(), request.size());
    raw_side(clients, wanted.size).run(messages, wanted.count);
    const double rate = static_cast<double>(messages) / seconds_between(start, steady::now());
    server.join();
    for (const std::vector<int> &side : {clients, servers})
        for (const int fd : side)
            ::close(fd);
    return rate;
}

}  // namespace

findings measure_lock_step(peer_settings &wanted) {
    if (wanted.raw)
        return {{"throughput", run_raw(wanted)}};
    context zmq(wanted, static_cast<int>(wanted.count) + 8);
    void *router = zmq.open(ZMQ_ROUTER);
    const std::vector<void *> sockets = connect_many(zmq, ZMQ_DEALER, wanted, bind_for_many(router, wanted));
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
