// A router with a hundred peers: who is there, and how much waits for each.
#include <iostream>
#include <string>
#include <vector>
#include <zmq_addon.hpp>

static int count(void *arg, const zlink_peer_t *peer, size_t) {
    *static_cast<int *>(arg) += peer->state == ZLINK_PEER_READY && peer->routing_id_size > 0;
    return 0;  // go on
}

int main() {
    const int clients = 100;
    zmq::context_t context(2);  // I/O threads
    zmq::socket_t router(context, zmq::socket_type::router);
    router.set(zmq::sockopt::heartbeat_ivl, 5000);  // finds those that vanished
    router.bind("ipc://many.sock");

    std::vector<zmq::socket_t> sockets;
    for (int i = 0; i < clients; ++i) {
        zmq::socket_t &client = sockets.emplace_back(context, zmq::socket_type::dealer);
        client.set(zmq::sockopt::routing_id, "client " + std::to_string(i));
        client.set(zmq::sockopt::reconnect_ivl_max, 10000);
        client.connect("ipc://many.sock");
        client.send(zmq::str_buffer("here"));
    }
    zmq::multipart_t message;
    for (int i = 0; i < clients; ++i)
        message.recv(router);  // the name, and "here"
    int ready = 0;
    const int shown = zlink_peers(router.handle(), count, &ready);
    std::cout << shown << " peers, " << ready << " of them are there\n";
}
