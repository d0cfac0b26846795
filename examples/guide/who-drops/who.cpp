// A publisher that says which of its subscribers are too slow.
#include <iostream>
#include <zmq.hpp>

static int show(void *, const zlink_peer_t *peer, size_t) {
    if (peer->dropped_hwm > 0)
        std::cout << peer->dropped_hwm << " lost, " << peer->queued_out
                  << " wait: " << (*peer->address ? peer->address : "a thread of this program")
                  << "\n";
    return 0;  // go on
}

static zmq::socket_t subscribe(zmq::context_t &context, int mark) {
    zmq::socket_t subscriber(context, zmq::socket_type::sub);
    subscriber.set(zmq::sockopt::rcvhwm, mark);
    subscriber.set(zmq::sockopt::subscribe, "");
    subscriber.connect("inproc://news");
    return subscriber;
}

int main() {
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);
    publisher.set(zmq::sockopt::sndhwm, 100);
    publisher.set(zmq::sockopt::xpub_verbose, true);
    publisher.bind("inproc://news");
    const zmq::socket_t quick = subscribe(context, 1000), slow = subscribe(context, 10);
    zmq::message_t notice;
    for (int i = 0; i < 2; ++i)
        if (!publisher.recv(notice))  // both are there
            return 1;

    for (int i = 0; i < 200; ++i)
        publisher.send(zmq::str_buffer("news"));
    zlink_peers(publisher.handle(), show, nullptr);
}
