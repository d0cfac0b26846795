// An authentication handler at inproc://zeromq.zap.01 that answers as a test says (RFC 27/ZAP).
#pragma once

#include "sockets.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace zlink_test {

inline constexpr auto handlers_endpoint = "inproc://zeromq.zap.01";

inline frames reply_to(const frames &asked, const std::string &status, const std::string &user = "alice",
                       const std::string &metadata = "") {
    return {"1.0", asked.at(1), status, "text", user, metadata};
}

// It has a thread of its own, until it goes.
class handler {
public:
    using judge = std::function<frames(const frames &asked)>;  // an empty reply is none
    handler(context &owner, int type, judge how) : socket_(owner.socket(type)), how_(std::move(how)) {
        socket_.bind(handlers_endpoint);
        socket_.set(ZMQ_RCVTIMEO, -1);
        end_ = scratch_endpoint("inproc");
        stop_ = owner.socket(ZMQ_PAIR);
        stop_.bind(end_);
        heard_stop_ = owner.socket(ZMQ_PAIR);
        heard_stop_.connect(end_);
        thread_ = std::thread([this] { run(); });
    }
    ~handler() {
        stop_.send("");
        thread_.join();
    }
    int asked() const { return asked_; }

private:
    void run() {
        for (;;) {
            zmq_pollitem_t items[] = {{heard_stop_.handle(), 0, ZMQ_POLLIN, 0},
                                      {socket_.handle(), 0, ZMQ_POLLIN, 0}};
            if (zmq_poll(items, 2, patience_ms) <= 0 || items[0].revents)
                break;
            const frames asked = socket_.receive_all();
            ++asked_;
            const frames reply = how_(asked);
            if (!reply.empty()) {
                EXPECT_TRUE(socket_.send_all(reply));
            }
        }
        socket_.close();
        heard_stop_.close();
    }

    test_socket socket_, stop_, heard_stop_;
    judge how_;
    std::string end_;
    std::atomic<int> asked_{0};
    std::thread thread_;
};

// A property of the message that comes next; "nobody" where it has none of that name.
inline std::string property_of_next(test_socket &socket, const char *name) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    std::string value = "no message";
    if (zmq_msg_recv(&message, socket.handle(), 0) >= 0) {
        const char *found = zmq_msg_gets(&message, name);
        value = found ? found : "nobody";
    }
    zmq_msg_close(&message);
    return value;
}

inline std::string user_id_of(test_socket &socket) { return property_of_next(socket, "User-Id"); }

inline void make_plain_server(test_socket &socket) {
    ASSERT_EQ(socket.set(ZMQ_PLAIN_SERVER, 1), 0);
    ASSERT_EQ(socket.set(ZMQ_ZAP_DOMAIN, "here"), 0);
}

inline void make_plain_client(test_socket &socket, const char *password = "secret") {
    ASSERT_EQ(socket.set(ZMQ_PLAIN_USERNAME, "bob"), 0);
    ASSERT_EQ(socket.set(ZMQ_PLAIN_PASSWORD, password), 0);
}

}  // namespace zlink_test
