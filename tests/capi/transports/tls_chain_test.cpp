// The certificates that a client shows beside its own: how many a server takes, what it keeps of
// them, and what they cost it.
#include "flooded_server.hpp"
#include "processor_time.hpp"
#include "tls_refusal.hpp"
#include "transports.hpp"

#include <ctime>
#include <deque>

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

// Some that have nothing to do with each other, but for their names: who looks for an issuer finds
// them all.
const std::deque<identity> &junk() {
    static const std::deque<identity> all = [] {
        std::deque<identity> made;
        for (int i = 0; i < 20; ++i)
            made.emplace_back(statement{.name = "junk", .is_authority = true});
        return made;
    }();
    return all;
}
std::size_t size_of(const identity &whom) {
    return static_cast<std::size_t>(i2d_X509(whom.certificate(), nullptr));
}

const identity &good_client() {
    static const identity client({.name = "a client", .alternatives = "", .usage = "clientAuth"},
                                 &good().authority);
    return client;
}

// A server that wants certificates, and clients of OpenSSL.
class client_chain : public ::testing::TestWithParam<std::string> {
protected:
    static void ask_for_certificates(test_socket &server) {
        server.set(ZMQ_TLS_CERT, good().cert);
        server.set(ZMQ_TLS_KEY, good().key);
        server.set(ZMQ_TLS_CA, good().ca);
        server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    }
    std::string wild_card() const { return GetParam() + "://127.0.0.1:*"; }
    static std::unique_ptr<tls_peer> open_peer(const std::string &endpoint,
                                               const identity &whom = good_client()) {
        auto peer = std::make_unique<tls_peer>(raw_peer(endpoint), tls_peer::role::client);
        peer->use(whom);
        return peer;
    }
    // Shows it, and junk up to so many octets.
    static void add_junk(tls_peer &to, std::size_t octets) {
        std::size_t sum = size_of(good_client());
        for (std::size_t i = 0; sum + size_of(junk()[0]) < octets; ++i) {
            const identity &each = junk()[i % junk().size()];
            sum += size_of(each);
            SSL_add1_chain_cert(to.tls(), each.certificate());
        }
    }
    // The server has taken it when it sends its ticket.
    static bool is_admitted(tls_peer &peer) {
        SSL_clear_mode(peer.tls(), SSL_MODE_AUTO_RETRY);
        ERR_clear_error();
        if (!peer.shake_hands())
            return false;
        char octet;
        const int result = SSL_peek(peer.tls(), &octet, 1);
        return result > 0 || SSL_get_error(peer.tls(), result) == SSL_ERROR_WANT_READ;
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_STREAM);
};

constexpr std::size_t most = 8 * 1024;

TEST_P(client_chain, of_more_than_eight_kibioctets_is_refused) {
    ask_for_certificates(server);
    monitor events(zmq, server, everything);
    const std::string endpoint = server.bind(wild_card());
    const auto large = open_peer(endpoint);
    add_junk(*large, most + 1024);
    EXPECT_FALSE(is_admitted(*large));
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words, "no TLS 1.3 with this peer: excessive message size");
    const auto less = open_peer(endpoint);
    add_junk(*less, most - 256);
    EXPECT_TRUE(is_admitted(*less));
}

TEST_P(client_chain, has_eight_certificates_between_at_most) {
    ask_for_certificates(server);
    monitor events(zmq, server, everything);
    const std::string endpoint = server.bind(wild_card());
    std::deque<identity> between;
    for (int i = 0; i < 9; ++i)
        between.emplace_back(statement{.name = "between " + std::to_string(i), .is_authority = true},
                             i == 0 ? &good().authority : &between.back());
    std::vector<std::unique_ptr<tls_peer>> peers;
    for (const std::size_t count : {8, 9}) {
        const identity client({.name = "a client", .alternatives = "", .usage = "clientAuth"},
                              &between[count - 1]);
        peers.push_back(open_peer(endpoint, client));
        for (std::size_t i = count; i-- > 0;)
            SSL_add1_chain_cert(peers.back()->tls(), between[i].certificate());
        EXPECT_EQ(is_admitted(*peers.back()), count == 8) << count;
    }
    EXPECT_EQ(reason_for(events, EKEYREJECTED, endpoint).substr(0, 26), "certificate chain too long");
}

TEST_P(client_chain, of_junk_costs_the_serving_thread_a_dozen_handshakes_at_most) {
    constexpr int peers = 16;
    ask_for_certificates(server);
    const std::string endpoint = server.bind(wild_card());
    const identity stranger({.name = "junk", .is_authority = true});
    const identity client({.name = "a client", .alternatives = "", .usage = "clientAuth"}, &stranger);
    const auto cost_of = [&](const identity &whom, std::size_t octets) {
        const std::int64_t before = time_of_others();
        for (int i = 0; i < peers; ++i) {
            const auto peer = open_peer(endpoint, whom);
            add_junk(*peer, octets);
            (void)is_admitted(*peer);
        }
        return (time_of_others() - before) / peers;
    };
    (void)cost_of(good_client(), 0);
    const std::int64_t usual = cost_of(good_client(), 0);
    for (const std::size_t octets : {most - 256, 3 * most}) {
        EXPECT_LE(cost_of(client, octets), 12 * usual) << "refused, of " << octets;
        EXPECT_LE(cost_of(good_client(), octets), 12 * usual) << "with a good one, of " << octets;
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Limits how much more one costs that has shown so many octets than one that has shown its own
// certificate only.
template <class Open>
void expect_little_more(const std::string &address, std::size_t octets, std::size_t limit, Open &&open) {
    const auto cost_of = [&](std::size_t shown) {
        flooded_server flood;
        flood.server.set(ZMQ_TLS_CERT, good().cert);
        flood.server.set(ZMQ_TLS_KEY, good().key);
        flood.server.set(ZMQ_TLS_CA, good().ca);
        flood.server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
        static const std::string cert = file_with("client.pem", good_client().certificate_pem());
        static const std::string key = file_with("client.key", good_client().key_pem());
        flood.honest.set(ZMQ_TLS_CERT, cert);
        flood.honest.set(ZMQ_TLS_KEY, key);
        flood.honest.set(ZMQ_TLS_CA, good().ca);
        std::vector<std::unique_ptr<tls_peer>> peers;
        return flood.cost_of_each(address, [&] { peers.push_back(open(flood.endpoint, shown)); });
    };
    const std::size_t usual = cost_of(0), found = cost_of(octets);
    EXPECT_LE(found, usual + limit) << usual;
}

TEST_P(client_chain, of_junk_is_not_kept_for_whom_is_let_in) {
    expect_little_more(wild_card(), most - 256, 16 * 1024,
                       [](const std::string &endpoint, std::size_t shown) {
                           auto peer = open_peer(endpoint);
                           add_junk(*peer, shown);
                           EXPECT_TRUE(is_admitted(*peer));
                           return peer;
                       });
}

TEST_P(client_chain, of_junk_is_not_kept_for_whom_stops_behind_it) {
    expect_little_more(
        wild_card(), most - 256, 32 * 1024, [](const std::string &endpoint, std::size_t shown) {
            auto peer = open_peer(endpoint);
            add_junk(*peer, shown);
            BIO *const said = BIO_new(BIO_s_mem()), *const heard = BIO_new(BIO_s_mem());
            SSL_set_bio(peer->tls(), heard, said);
            const auto take_said = [&] {
                char *octets = nullptr;
                const long size = BIO_get_mem_data(said, &octets);
                std::string all(octets, static_cast<std::size_t>(size));
                (void)BIO_reset(said);
                return all;
            };
            EXPECT_FALSE(peer->shake_hands());
            EXPECT_TRUE(peer->octets().send(take_said()));
            while (!peer->shake_hands()) {
                const std::string answer = peer->octets().receive(1);
                if (answer.empty() || BIO_write(heard, answer.data(), 1) != 1)
                    break;
            }
            // Behind its certificates come two records: that it has their key, and that it is
            // through.
            const std::string all = take_said();
            std::vector<std::size_t> ends{0};
            while (ends.back() + 5 <= all.size())
                ends.push_back(ends.back() + 5 + static_cast<std::uint8_t>(all[ends.back() + 3]) * 256u +
                               static_cast<std::uint8_t>(all[ends.back() + 4]));
            EXPECT_TRUE(peer->octets().send(all.substr(0, ends[ends.size() - 3])));
            return peer;
        });
}
#endif

INSTANTIATE_TEST_SUITE_P(over, client_chain, ::testing::ValuesIn(where_built({"tls", "wss"})),
                         transport_name);

}  // namespace
