// TOPICS, MATCH, MISS, TOPIC_MEMORY, TOPIC_MEMORY_ALONE: one PUB and one SUB with many topics.
//
// Flow:     the SUB subscribes to all topics and then to one of its own; the publisher repeats that
//           one until it arrives, so every subscription before it has arrived, too. TOPICS is the
//           rate at the SUB, with one thread at each end; every message matches one topic, all of
//           them in turn. MATCH is the same run seen by the publisher: first zmq_send to last. In
//           MISS no message matches; each differs from a topic in its last octet. TOPIC_MEMORY is
//           what the process grows by for each topic, both ends in it; TOPIC_MEMORY_ALONE has no
//           connection.
// Limits:   topics are 16 octets and none is a prefix of another. The marks on the way of the
//           subscriptions (SNDHWM of the SUB, RCVHWM of the PUB) are 0: there are more
//           subscriptions than 1000, and libzmq drops the rest.
// Order:    topics; the PUB and the SUB; a round; memory; the cells.
#include "peers/peers.hpp"

#include <zmq.h>

#include <cstdio>
#include <thread>

namespace bench {

namespace {

constexpr std::size_t topic_size = 16;
constexpr char topic_head[] = "topics/";
constexpr std::size_t digits = 8;
constexpr char wanted_end = '/';
constexpr char unwanted_end = '-';

constexpr std::size_t control_size = 8;
constexpr char connected_topic[] = "control1";
constexpr char subscribed_topic[] = "control2";

constexpr long resend_after_ms = 1;
constexpr std::size_t subscriptions_at_once = 1000;
constexpr std::uint64_t stride = 2'654'435'761;  // a prime, so that all topics are used in turn

void write_topic(char *to, std::uint64_t number, char end) {
    std::memcpy(to, topic_head, sizeof topic_head - 1);
    for (std::size_t i = topic_size - 2; i > topic_size - 2 - digits; --i) {
        to[i] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
    to[topic_size - 1] = end;
}

class topic_link {
public:
    explicit topic_link(const peer_settings &wanted)
        : zmq_(wanted), publisher_(zmq_.open(ZMQ_PUB)), subscriber_(zmq_.open(ZMQ_SUB)) {
        set_int(publisher_, ZMQ_RCVHWM, 0);
        set_int(subscriber_, ZMQ_SNDHWM, 0);
        const std::string endpoint = bind_and_name(publisher_, wildcard(wanted.transport, 0));
        require(zmq_connect(subscriber_, endpoint.c_str()) == 0, "zmq_connect");
        wait_for_subscription(connected_topic);
    }

    // While it subscribes it publishes now and then, as PUB looks at subscriptions only when it
    // does.
    void subscribe(std::size_t topics) {
        const auto start = steady::now();
        char topic[topic_size];
        for (std::size_t i = 0; i < topics; ++i) {
            write_topic(topic, i, wanted_end);
            set_bytes(subscriber_, ZMQ_SUBSCRIBE, topic, topic_size);
            if (i % subscriptions_at_once == 0)
                send_control("unwanted", 0);
        }
        wait_for_subscription(subscribed_topic);
        if (number_from("BENCH_DEBUG", 0))
            std::fprintf(stderr, "%zu subscriptions in %.3f s\n", topics,
                         seconds_between(start, steady::now()));
    }

    void send_control(const char *topic, std::uint64_t mark) {
        char body[control_size + sizeof mark];
        std::memcpy(body, topic, control_size);
        store_word(body + control_size, mark);
        require(zmq_send(publisher_, body, sizeof body, 0) == sizeof body, "send of a mark");
    }

    std::uint64_t receive_control(const char *topic) {
        char body[control_size + sizeof(std::uint64_t)];
        require(zmq_recv(subscriber_, body, sizeof body, 0) == sizeof body &&
                    std::memcmp(body, topic, control_size) == 0,
                "receive of a mark");
        return load_word(body + control_size);
    }

    void *publisher() const { return publisher_; }
    void *subscriber() const { return subscriber_; }

private:
    void wait_for_subscription(const char *topic) {
        set_bytes(subscriber_, ZMQ_SUBSCRIBE, topic, control_size);
        do
            send_control(topic, hello_mark);
        while (!has_input(subscriber_, resend_after_ms));
        send_control(topic, go_mark);
        while (receive_control(topic) != go_mark) {
        }
    }

    context zmq_;
    void *const publisher_;
    void *const subscriber_;
};

struct rates {
    double published;
    double received;
};

// Publishes messages about all topics in turn; unless they are wanted, the SUB gets the end mark
// only.
rates run_round(topic_link &pair, const peer_settings &wanted, std::uint64_t messages, bool are_wanted) {
    const std::size_t payload = wanted.size - topic_size;
    rates found{};
    std::thread receiver([&] {
        incoming body(wanted.size);
        incoming check(payload);
        char topic[topic_size];
        steady::time_point first;
        for (std::uint64_t i = 0; are_wanted && i < messages; ++i) {
            require(zmq_recv(pair.subscriber(), body.data(), wanted.size, 0) == static_cast<int>(wanted.size),
                    "receive of a message of the right size");
            if (i == 0)
                first = steady::now();
            write_topic(topic, i * stride % wanted.count, wanted_end);
            std::memcpy(check.data(), body.data() + topic_size, payload);
            require(std::memcmp(body.data(), topic, topic_size) == 0 && check.is_message(i),
                    "topic, order and content of a message");
        }
        found.received = static_cast<double>(messages - 1) / seconds_between(first, steady::now());
        require(pair.receive_control(subscribed_topic) == end_mark, "an end where the end should be");
    });
    outgoing payload_of(payload);
    std::vector<char> body(wanted.size);
    const auto start = steady::now();
    for (std::uint64_t i = 0; i < messages; ++i) {
        write_topic(body.data(), i * stride % wanted.count, are_wanted ? wanted_end : unwanted_end);
        std::memcpy(body.data() + topic_size, payload_of.make(i), payload);
        require(zmq_send(pair.publisher(), body.data(), body.size(), 0) >= 0, "send");
    }
    found.published = static_cast<double>(messages) / seconds_between(start, steady::now());
    pair.send_control(subscribed_topic, end_mark);
    receiver.join();
    return found;
}

rates run(const peer_settings &wanted, bool are_wanted) {
    require(wanted.size >= 2 * topic_size, "a size of 32 octets or more");
    topic_link pair(wanted);
    pair.subscribe(wanted.count);
    run_round(pair, wanted, wanted.warmup + 1, are_wanted);
    return run_round(pair, wanted, wanted.messages, are_wanted);
}

findings growth(const memory_use &before, const memory_use &after, std::size_t count) {
    const auto each = [&](std::size_t octets) {
        return (static_cast<double>(octets) - static_cast<double>(before.now)) / static_cast<double>(count);
    };
    return {{"memory", each(after.now)}, {"memory_peak", each(after.peak)}};
}

}  // namespace

findings measure_filtering(peer_settings &wanted) { return {{"throughput", run(wanted, true).received}}; }

findings measure_publisher(peer_settings &wanted) {
    return {{"throughput", run(wanted, wanted.cell == "MATCH").published}};
}

findings measure_topic_memory(peer_settings &wanted) {
    wanted.size = topic_size;
    topic_link pair(wanted);
    const memory_use before = memory_in_use();
    pair.subscribe(wanted.count);
    return growth(before, memory_in_use(), wanted.count);
}

findings measure_topic_memory_alone(peer_settings &wanted) {
    wanted.size = topic_size;
    context zmq(wanted);
    void *subscriber = zmq.open(ZMQ_SUB);
    const memory_use before = memory_in_use();
    char topic[topic_size];
    for (std::size_t i = 0; i < wanted.count; ++i) {
        write_topic(topic, i, wanted_end);
        set_bytes(subscriber, ZMQ_SUBSCRIBE, topic, topic_size);
    }
    return growth(before, memory_in_use(), wanted.count);
}

}  // namespace bench
