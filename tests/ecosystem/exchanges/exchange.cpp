// Asks and answers over tcp by cppzmq, publishes with a topic, sends messages of two parts, and
// hears a monitor.
#include <zmq.hpp>
#include <zmq_addon.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

void right(bool is, const std::string &what) {
    if (is)
        return;
    std::fprintf(stderr, "not right: %s\n", what.c_str());
    std::exit(1);
}

std::string heard(zmq::socket_t &socket) {
    zmq::message_t message;
    right(socket.recv(message).has_value(), "a message in time");
    return message.to_string();
}

std::pair<zmq::socket_t, zmq::socket_t> pair_of(zmq::context_t &context, zmq::socket_type one,
                                                zmq::socket_type other, const char *topic = nullptr) {
    zmq::socket_t first(context, one), second(context, other);
    first.bind("tcp://127.0.0.1:*");
    if (topic)
        second.set(zmq::sockopt::subscribe, topic);
    second.connect(first.get(zmq::sockopt::last_endpoint));
    for (zmq::socket_t *each : {&first, &second}) {
        each->set(zmq::sockopt::linger, 0);
        each->set(zmq::sockopt::rcvtimeo, 20000);
    }
    return {std::move(first), std::move(second)};
}

void ask_and_answer(zmq::context_t &context, int count) {
    auto [rep, req] = pair_of(context, zmq::socket_type::rep, zmq::socket_type::req);
    for (int number = 0; number < count; ++number) {
        req.send(zmq::buffer("question " + std::to_string(number)), zmq::send_flags::none);
        right(heard(rep) == "question " + std::to_string(number), "the question");
        rep.send(zmq::buffer("answer " + std::to_string(number)), zmq::send_flags::none);
        right(heard(req) == "answer " + std::to_string(number), "the answer");
    }
}

#ifdef ZMQ_BUILD_DRAFT_API
// Waits for messages: cppzmq's pollers where the library has drafts, zmq_poll elsewhere.
class watcher {
public:
    explicit watcher(zmq::socket_t &socket) {
        poller_.add(socket, zmq::event_flags::pollin, [](zmq::event_flags) {});
        tagged_.add(socket, zmq::event_flags::pollin, &tag_);
    }

    void wait() {
        right(poller_.wait(std::chrono::milliseconds(20000)) == 1, "the active poller");
        std::vector<zmq::poller_event<int>> events(1);
        right(tagged_.wait_all(events, std::chrono::milliseconds(20000)) == 1 && events[0].user_data == &tag_,
              "the poller");
    }

private:
    int tag_ = 42;
    zmq::active_poller_t poller_;
    zmq::poller_t<int> tagged_;
};
#else
class watcher {
public:
    explicit watcher(zmq::socket_t &socket) : item_{socket.handle(), 0, ZMQ_POLLIN, 0} {}

    void wait() { right(zmq::poll(&item_, 1, std::chrono::milliseconds(20000)) == 1, "zmq_poll"); }

private:
    zmq::pollitem_t item_;
};
#endif

void send_two_parts(zmq::context_t &context, int count) {
    auto [push, pull] = pair_of(context, zmq::socket_type::push, zmq::socket_type::pull);
    for (int number = 0; number < count; ++number) {
        zmq::multipart_t parts(std::to_string(number));
        parts.addstr(std::string(number, 'x'));
        right(parts.send(push), "sending of parts");
    }
    watcher waiting(pull);
    for (int number = 0; number < count; ++number) {
        waiting.wait();
        zmq::multipart_t parts(pull);
        right(parts.size() == 2 && parts.peekstr(0) == std::to_string(number) &&
                  parts.peekstr(1) == std::string(number, 'x'),
              "the parts");
    }
}

void publish(zmq::context_t &context, int count) {
    auto [xpub, sub] = pair_of(context, zmq::socket_type::xpub, zmq::socket_type::sub, "even");
    right(heard(xpub) == "\x01"
                         "even",
          "the subscription");
    for (int number = 0; number < count; ++number)
        xpub.send(zmq::buffer((number % 2 ? "odd " : "even ") + std::to_string(number)),
                  zmq::send_flags::none);
    for (int number = 0; number < count; number += 2)
        right(heard(sub) == "even " + std::to_string(number), "the topic");
}

struct counting_monitor : zmq::monitor_t {
    int connected = 0;
    void on_event_connected(const zmq_event_t &, const char *) override { ++connected; }
};

void watch(zmq::context_t &context) {
    zmq::socket_t rep(context, zmq::socket_type::rep), req(context, zmq::socket_type::req);
    rep.bind("tcp://127.0.0.1:*");
    counting_monitor monitor;
    monitor.init(req, "inproc://monitor", ZMQ_EVENT_CONNECTED);
    req.connect(rep.get(zmq::sockopt::last_endpoint));
    while (monitor.connected == 0)
        right(monitor.check_event(20000), "the monitor");
}

}  // namespace

int main(int, char **given) {
    const int count = std::atoi(given[1]);
    zmq::context_t context;
    ask_and_answer(context, count);
    send_two_parts(context, count);
    publish(context, count);
    watch(context);
    std::printf("%d questions, %d of two parts, %d by topic\n", count, count, count / 2);
}
