// A publisher does not wait: what a slow subscriber has no room for is lost, and counted.
#include <iostream>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);
    zmq::socket_t subscriber(context, zmq::socket_type::sub);
    publisher.set(zmq::sockopt::sndhwm, 10);
    subscriber.set(zmq::sockopt::rcvhwm, 10);
    publisher.bind("inproc://news");
    subscriber.set(zmq::sockopt::subscribe, "");
    subscriber.connect("inproc://news");
    zmq::message_t notice;
    if (!publisher.recv(notice))  // the subscription has come
        return 1;

    for (int i = 0; i < 50; ++i)
        publisher.send(zmq::str_buffer("news"));  // succeeds each time

    zlink_stats_t stats;
    zlink_stats(publisher.handle(), &stats, sizeof stats);
    std::cout << stats.messages_sent << " sent, " << stats.dropped_hwm << " lost\n";
}
