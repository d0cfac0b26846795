// Things that peers do to a socket, a number of times, for growth_test.py: what each of them costs
// must not depend on how many there are.
//
//   growth_program CASE COUNT
//
// All sockets are in one process and one thread, so that counts do not depend on time.
#include <zmq.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ends.hpp"

namespace {

using namespace guard;

class party {
public:
    party(const context &owner, int type) : handle_(zmq_socket(owner.handle(), type)) {
        require(handle_ != nullptr, "zmq_socket");
        set(ZMQ_LINGER, 0);
    }
    party(const party &) = delete;
    party &operator=(const party &) = delete;
    ~party() { zmq_close(handle_); }

    void set(int option, int value) {
        require(zmq_setsockopt(handle_, option, &value, sizeof value) == 0, "zmq_setsockopt");
    }
    void set(int option, std::string_view value) {
        require(zmq_setsockopt(handle_, option, value.data(), value.size()) == 0, "zmq_setsockopt");
    }
    void bind() { require(zmq_bind(handle_, "inproc://growth") == 0, "zmq_bind"); }
    void connect() { require(zmq_connect(handle_, "inproc://growth") == 0, "zmq_connect"); }
    void send(std::string_view body, int flags = 0) {
        require(zmq_send(handle_, body.data(), body.size(), flags | ZMQ_DONTWAIT) >= 0, "zmq_send");
    }
    void subscribe(std::string_view topic) { send(std::string(1, '\1').append(topic)); }
    void cancel(std::string_view topic) { send(std::string(1, '\0').append(topic)); }
    bool receive() {
        char buffer[256];
        return zmq_recv(handle_, buffer, sizeof buffer, ZMQ_DONTWAIT) >= 0;
    }
    /// Until nothing is left.
    void receive_all() {
        int events = ZMQ_POLLIN;
        for (std::size_t size = sizeof events; events & ZMQ_POLLIN;) {
            while (receive()) {
            }
            require(zmq_getsockopt(handle_, ZMQ_EVENTS, &events, &size) == 0, "zmq_getsockopt");
        }
    }
    /// Takes in what its peers have done.
    void look() {
        int events = 0;
        std::size_t size = sizeof events;
        require(zmq_getsockopt(handle_, ZMQ_EVENTS, &events, &size) == 0, "zmq_getsockopt");
    }

private:
    void *const handle_;
};

/// A socket with its peers.
struct meeting {
    meeting(int type, int peer_type, int peers) : host(owner, type) {
        zmq_ctx_set(owner.handle(), ZMQ_MAX_SOCKETS, 100'000);
        host.set(ZMQ_RCVHWM, 0);
        host.bind();
        for (int i = 0; i < peers; ++i)
            add(peer_type);
    }
    party &add(int type) {
        guests.push_back(std::make_unique<party>(owner, type));
        party &guest = *guests.back();
        guest.set(ZMQ_SNDHWM, 0);
        if (type != ZMQ_DEALER)
            guest.connect();
        return guest;
    }

    context owner;
    party host;
    std::vector<std::unique_ptr<party>> guests;
};

/// Texts of two words with the same std::hash, as the GNU library has it (MurmurHash64A).
class colliding_texts {
public:
    std::string next() {
        const std::uint64_t first = ++count_;
        const std::uint64_t behind_first = (seed ^ (2 * sizeof first * factor) ^ mixed(first)) * factor;
        const std::uint64_t second = unmixed(behind_first ^ target);
        std::string text(sizeof first + sizeof second, '\0');
        std::memcpy(text.data(), &first, sizeof first);
        std::memcpy(text.data() + sizeof first, &second, sizeof second);
        return text;
    }

private:
    static constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
    static constexpr std::uint64_t seed = 0xc70f6907;
    static constexpr std::uint64_t target = 1;  // before the last factor; any will do
    static constexpr int shift = 47;

    static std::uint64_t mixed(std::uint64_t word) {
        word *= factor;
        word ^= word >> shift;
        return word * factor;
    }
    static std::uint64_t unmixed(std::uint64_t word) {
        std::uint64_t inverse = factor;  // each step doubles how many of its bits are right
        for (int i = 0; i < 6; ++i)
            inverse *= 2 - factor * inverse;
        word *= inverse;
        word ^= word >> shift;
        return word * inverse;
    }

    std::uint64_t count_ = 0;
};

void repeat_a_subscription(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, 1);
    m.host.set(ZMQ_XPUB_VERBOSE, 1);
    for (int i = 0; i < count; ++i)
        m.guests[0]->subscribe("topic");
    m.host.receive_all();
}

void never_make_up_ones_mind(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, 1);
    for (int i = 0; i < count; ++i) {
        m.guests[0]->subscribe("topic");
        m.guests[0]->cancel("topic");
    }
    m.host.receive_all();
}

void choose_topics_that_collide(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, 1);
    colliding_texts texts;
    for (int i = 0; i < count; ++i)
        m.guests[0]->subscribe(texts.next());
    m.host.receive_all();
}

void leave_a_message_each(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, count);
    m.host.set(ZMQ_RCVHWM, 10);
    for (const auto &guest : m.guests)
        guest->send("upstream");
    m.host.receive_all();
}

void subscribe_and_go(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, count);
    for (std::size_t i = 0; i < m.guests.size(); ++i)
        m.guests[i]->subscribe("topic" + std::to_string(i));
    m.host.receive_all();
    for (auto &guest : m.guests) {
        guest.reset();
        m.host.look();
    }
    m.host.receive_all();
}

void share_topics_and_go(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, count);
    for (const auto &guest : m.guests)
        for (int i = 0; i < 20; ++i)
            guest->subscribe("topic" + std::to_string(i));
    m.host.receive_all();
    for (auto &guest : m.guests) {
        guest.reset();
        m.host.look();
    }
}

/// More than a few topics each, the same ones, when there are no others yet.
void share_all_topics_and_go(int count) {
    meeting m(ZMQ_XPUB, ZMQ_XSUB, count);
    for (const auto &guest : m.guests)
        for (int i = 0; i < 70; ++i)
            guest->subscribe("topic" + std::to_string(i));
    m.host.receive_all();
    party &last = m.add(ZMQ_XSUB);
    for (int i = 0; i < 10 * count; ++i)
        last.subscribe("another" + std::to_string(i));
    m.host.receive_all();
    for (int i = 0; i < count; ++i) {
        m.guests[static_cast<std::size_t>(i)].reset();
        m.host.look();
    }
}

void choose_routing_ids_that_collide(int count) {
    meeting m(ZMQ_ROUTER, ZMQ_DEALER, count);
    colliding_texts texts;
    for (const auto &guest : m.guests) {
        guest->set(ZMQ_ROUTING_ID, texts.next());
        guest->connect();
        guest->send("a message");
    }
    m.host.receive_all();
}

void go_from_a_router(int count) {
    meeting m(ZMQ_ROUTER, ZMQ_DEALER, count);
    for (const auto &guest : m.guests) {
        guest->connect();
        guest->send("a message");
    }
    m.host.receive_all();
    for (auto &guest : m.guests) {
        guest.reset();
        m.host.look();
    }
}

void come_and_go_from(int type, int peer_type, int count) {
    meeting m(type, peer_type, 0);
    for (int i = 0; i < count; ++i)
        m.add(peer_type).send("a message");
    m.host.look();
    for (auto &guest : m.guests) {
        guest.reset();
        m.host.look();
    }
    m.host.receive_all();
}

void go_from_a_pull(int count) { come_and_go_from(ZMQ_PULL, ZMQ_PUSH, count); }

struct named_case {
    const char *name;
    void (*run)(int count);
};

constexpr named_case cases[] = {
    {"repeat_a_subscription", repeat_a_subscription},
    {"never_make_up_ones_mind", never_make_up_ones_mind},
    {"choose_topics_that_collide", choose_topics_that_collide},
    {"leave_a_message_each", leave_a_message_each},
    {"subscribe_and_go", subscribe_and_go},
    {"share_topics_and_go", share_topics_and_go},
    {"share_all_topics_and_go", share_all_topics_and_go},
    {"choose_routing_ids_that_collide", choose_routing_ids_that_collide},
    {"go_from_a_router", go_from_a_router},
    {"go_from_a_pull", go_from_a_pull},
};

}  // namespace

int main(int count, char **words) {
    if (count == 1) {
        for (const named_case &each : cases)
            std::puts(each.name);
        return 0;
    }
    require(count == 3, "usage: growth_program CASE COUNT");
    for (const named_case &each : cases) {
        if (std::string_view(words[1]) == each.name) {
            each.run(std::atoi(words[2]));
            return 0;
        }
    }
    fail("no such case");
}
