// The table of patterns, and how a pair of sockets of each is opened and proved to be connected.
#include "bench.hpp"

#include <zmq.h>

#include <cstdio>
#include <cstdlib>

namespace bench {

namespace {

// name, sender, receiver, one_way, sender_addresses, receiver_sees_id, polls
constexpr pattern patterns[] = {
    {"PAIR", ZMQ_PAIR, ZMQ_PAIR, false, false, false, false},
    {"PUBSUB", ZMQ_PUB, ZMQ_SUB, true, false, false, false},
    {"PUSH_PULL", ZMQ_PUSH, ZMQ_PULL, true, false, false, false},
    {"DEALER_DEALER", ZMQ_DEALER, ZMQ_DEALER, false, false, false, false},
    {"DEALER_ROUTER", ZMQ_DEALER, ZMQ_ROUTER, false, false, true, false},
    {"ROUTER_ROUTER", ZMQ_ROUTER, ZMQ_ROUTER, false, true, true, false},
    {"ROUTER_ROUTER_POLL", ZMQ_ROUTER, ZMQ_ROUTER, false, true, true, true},
};

constexpr int mark_size = 8;
constexpr long resend_after_ms = 1;

bool is_encrypted(const std::string &transport) { return transport == "tls" || transport == "wss"; }

#ifdef ZMQ_TLS_CERT
void set_path(void *socket, int option, const char *variable) {
    const char *path = std::getenv(variable);
    require(path != nullptr, variable);
    set_bytes(socket, option, path, std::strlen(path));
}

void set_certificates(void *bound, void *connecting) {
    set_path(bound, ZMQ_TLS_CERT, "BENCH_TLS_CERT");
    set_path(bound, ZMQ_TLS_KEY, "BENCH_TLS_KEY");
    set_path(connecting, ZMQ_TLS_CA, "BENCH_TLS_CA");
    set_bytes(connecting, ZMQ_TLS_HOSTNAME, "localhost", std::strlen("localhost"));
}
#else
void set_certificates(void *, void *) { fail("this zmq.h has no TLS options"); }
#endif

// The keys that zmq_curve(7) shows.
void set_keys(void *server, void *client) {
    const auto set_key = [](void *socket, int option, const char *key) {
        set_bytes(socket, option, key, std::strlen(key));
    };
    const char *const server_key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
    set_int(server, ZMQ_CURVE_SERVER, 1);
    set_key(server, ZMQ_CURVE_SECRETKEY, "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6");
    set_key(client, ZMQ_CURVE_SERVERKEY, server_key);
    set_key(client, ZMQ_CURVE_PUBLICKEY, "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID");
    set_key(client, ZMQ_CURVE_SECRETKEY, "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs");
}

void send_mark(const pattern &kind, void *socket, std::uint64_t mark) {
    if (kind.sender_addresses)
        require(zmq_send(socket, receiver_id, receiver_id_size, ZMQ_SNDMORE) != -1, "send of a routing id");
    require(zmq_send(socket, &mark, sizeof mark, 0) == mark_size, "send of a mark");
}

std::uint64_t receive_mark(const pattern &kind, void *socket) {
    char id[sizeof sender_id];
    if (kind.receiver_sees_id)
        require(zmq_recv(socket, id, sizeof id, 0) == static_cast<int>(sender_id_size),
                "receive of a routing id");
    std::uint64_t mark = 0;
    require(zmq_recv(socket, &mark, sizeof mark, 0) == mark_size, "receive of a mark");
    return mark;
}

// A publisher drops what it sends before the subscription has arrived, so it repeats its first
// mark.
void prove_connected(const pattern &kind, const link &pair) {
    send_mark(kind, pair.sender, hello_mark);
    if (kind.sender_type == ZMQ_PUB)
        while (!has_input(pair.receiver, resend_after_ms))
            send_mark(kind, pair.sender, hello_mark);
    send_mark(kind, pair.sender, go_mark);
    while (receive_mark(kind, pair.receiver) != go_mark) {
    }
}

void *make_handle(const settings &wanted) {
    void *const handle = zmq_ctx_new();
    require(handle != nullptr, "zmq_ctx_new");
    require(zmq_ctx_set(handle, ZMQ_IO_THREADS, wanted.io_threads) == 0, "ZMQ_IO_THREADS");
    return handle;
}

}  // namespace

const pattern &find_pattern(const std::string &name) {
    for (const pattern &each : patterns)
        if (name == each.name)
            return each;
    std::fprintf(stderr, "no such pattern: %s\n", name.c_str());
    std::exit(2);
}

context::context(const settings &wanted)
    : wanted_(wanted), senders_(make_handle(wanted)),
      receivers_(wanted.contexts == 2 ? make_handle(wanted) : senders_) {}

context::~context() {
    zmq_ctx_term(senders_);
    if (receivers_ != senders_)
        zmq_ctx_term(receivers_);
}

void *context::make_socket(void *handle, int type) {
    void *socket = zmq_socket(handle, type);
    require(socket != nullptr, "zmq_socket");
    set_int(socket, ZMQ_LINGER, 0);
    if (wanted_.high_water_mark >= 0) {
        set_int(socket, ZMQ_SNDHWM, wanted_.high_water_mark);
        set_int(socket, ZMQ_RCVHWM, wanted_.high_water_mark);
    }
    if (type == ZMQ_PUB)
        set_int(socket, ZMQ_XPUB_NODROP, 1);
    if (type == ZMQ_SUB)
        set_bytes(socket, ZMQ_SUBSCRIBE, "", 0);
    if (type == ZMQ_ROUTER)
        set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    return socket;
}

link context::open_link(const pattern &kind) {
    link pair{make_socket(senders_, kind.sender_type), make_socket(receivers_, kind.receiver_type)};
    if (kind.receiver_sees_id) {
        set_bytes(pair.receiver, ZMQ_ROUTING_ID, receiver_id, receiver_id_size);
        set_bytes(pair.sender, ZMQ_ROUTING_ID, sender_id, sender_id_size);
    }
    if (kind.sender_addresses)
        set_bytes(pair.sender, ZMQ_CONNECT_ROUTING_ID, receiver_id, receiver_id_size);

    const bool sender_binds =
        wanted_.binds == end_that::is_usual ? kind.sender_type == ZMQ_PUB : wanted_.binds == end_that::sends;
    // A sender that addresses names its peer as it connects.
    require(!(sender_binds && kind.sender_addresses), "--sender=binds of a ROUTER");
    void *bound = sender_binds ? pair.sender : pair.receiver;
    void *connecting = sender_binds ? pair.receiver : pair.sender;
    if (is_encrypted(wanted_.transport))
        set_certificates(bound, connecting);
    if (wanted_.seals)
        set_keys(pair.receiver, pair.sender);
    const std::string endpoint = bind_and_name(bound, wildcard(wanted_.transport, links_++));
    require(zmq_connect(connecting, endpoint.c_str()) == 0, "zmq_connect");
    if (wanted_.debug)
        std::fprintf(stderr, "%s over %s\n", kind.name, endpoint.c_str());
    prove_connected(kind, pair);
    return pair;
}

void context::close(link &pair) {
    zmq_close(pair.sender);
    zmq_close(pair.receiver);
    pair = {};
}

}  // namespace bench
