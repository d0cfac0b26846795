// Holds what zlink_stats, zlink_stats_text and zlink_peers tell, for tests.
#pragma once

#include <string>
#include <vector>

#include "sockets.hpp"

namespace zlink_test {

inline zlink_stats_t stats_of(void *what) {
    zlink_stats_t stats;
    EXPECT_EQ(zlink_stats(what, &stats, sizeof stats), 0) << zmq_strerror(zmq_errno());
    return stats;
}
inline zlink_stats_t stats_of(const test_socket &socket) { return stats_of(socket.handle()); }

inline std::string text_of(context &zmq, int format) {
    std::string text;
    const auto keep = [](void *arg, const char *octets, std::size_t size) {
        static_cast<std::string *>(arg)->assign(octets, size);
    };
    EXPECT_EQ(zlink_stats_text(zmq.handle(), format, keep, &text), 0);
    return text;
}

struct seen_peer {
    std::string endpoint, address, mechanism, tls_version, routing_id;
    zlink_peer_t numbers;
};
inline std::vector<seen_peer> peers_of(const test_socket &socket) {
    std::vector<seen_peer> found;
    const auto keep = [](void *arg, const zlink_peer_t *peer, std::size_t size) {
        EXPECT_EQ(size, sizeof *peer);
        static_cast<std::vector<seen_peer> *>(arg)->push_back(
            {peer->endpoint, peer->address, peer->mechanism, peer->tls_version,
             std::string(static_cast<const char *>(peer->routing_id), peer->routing_id_size), *peer});
        return 0;
    };
    const int shown = zlink_peers(socket.handle(), keep, &found);
    EXPECT_EQ(shown, static_cast<int>(found.size()));
    return found;
}

}  // namespace zlink_test
