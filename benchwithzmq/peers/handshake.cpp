// HANDSHAKE, HANDSHAKE_CURVE: connections a second, from zmq_connect to the first answer; without
// security and with CURVE.
//
// Method:   a ROUTER in a second process gives back what comes. In this process that many DEALERs
//           at a time connect, send a message and receive it again, and are closed. Both processes
//           are on one processor, so that the rate tells what both sides compute together.
//           --raw: the multiplications of X25519 alone that a handshake of CURVE needs (RFC 26), by
//           libsodium: for each side one with the base point, and three others.
// It lies if: the processor has other work.
#include "peers/peers.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <sched.h>
#include <zmq.h>

namespace bench {

namespace {

constexpr long longest_silence_ms = 10'000;
constexpr char end[] = "end";
// The pairs that zmq_curve(7) shows.
constexpr char client_public[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
constexpr char client_secret[] = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
constexpr char server_public[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
constexpr char server_secret[] = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";

void stay_on_one_processor() {
    cpu_set_t allowed;
    require(::sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
    int first = 0;
    while (!CPU_ISSET(first, &allowed))
        ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    require(::sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

bool seals(const peer_settings &wanted) { return wanted.cell == "HANDSHAKE_CURVE"; }

void set_key(void *socket, int option, const char *key) { set_bytes(socket, option, key, std::strlen(key)); }

// Until a message of another size comes.
void answer(const peer_settings &wanted, int channel) {
    context zmq(wanted);
    void *const router = zmq.open(ZMQ_ROUTER);
    set_int(router, ZMQ_ROUTER_MANDATORY, 0);  // a client may have gone
    if (seals(wanted)) {
        set_int(router, ZMQ_CURVE_SERVER, 1);
        set_key(router, ZMQ_CURVE_SECRETKEY, server_secret);
    }
    write_text(channel, bind_for_many(router, wanted));
    std::vector<char> body(wanted.size);
    for (std::array<char, 256> id{};;) {
        const int id_size = zmq_recv(router, id.data(), id.size(), 0);
        require(id_size > 0, "receive of a routing id");
        if (zmq_recv(router, body.data(), body.size(), 0) != static_cast<int>(body.size()))
            return;
        require(zmq_send(router, id.data(), static_cast<std::size_t>(id_size), ZMQ_SNDMORE) >= 0 &&
                    zmq_send(router, body.data(), body.size(), 0) >= 0,
                "answer");
    }
}

class clients {
public:
    clients(const peer_settings &wanted, std::string endpoint)
        : wanted_(wanted), endpoint_(std::move(endpoint)), zmq_(zmq_ctx_new()), message_(wanted.size),
          answer_(wanted.size) {
        require(zmq_ != nullptr, "zmq_ctx_new");
    }
    clients(const clients &) = delete;
    clients &operator=(const clients &) = delete;
    ~clients() { zmq_ctx_term(zmq_); }

    void come_and_go(std::uint64_t count) {
        std::vector<void *> present(wanted_.count);
        for (std::uint64_t done = 0; done < count; done += present.size()) {
            for (std::size_t i = 0; i < present.size(); ++i) {
                present[i] = connect();
                require(zmq_send(present[i], message_.make(done + i), wanted_.size, 0) >= 0, "send");
            }
            for (std::size_t i = 0; i < present.size(); ++i) {
                require(has_input(present[i], longest_silence_ms), "an answer");
                require(zmq_recv(present[i], answer_.data(), wanted_.size, 0) ==
                                static_cast<int>(wanted_.size) &&
                            answer_.is_message(done + i),
                        "the same message back");
                zmq_close(present[i]);
            }
        }
    }
    void say_end() {
        void *const last = connect();
        set_int(last, ZMQ_LINGER, -1);
        require(zmq_send(last, end, sizeof end, 0) >= 0, "send");
        zmq_close(last);
    }

private:
    void *connect() {
        void *const socket = zmq_socket(zmq_, ZMQ_DEALER);
        require(socket != nullptr, "zmq_socket");
        set_int(socket, ZMQ_LINGER, 0);
        if (seals(wanted_)) {
            set_key(socket, ZMQ_CURVE_SERVERKEY, server_public);
            set_key(socket, ZMQ_CURVE_PUBLICKEY, client_public);
            set_key(socket, ZMQ_CURVE_SECRETKEY, client_secret);
        }
        require(zmq_connect(socket, endpoint_.c_str()) == 0, "zmq_connect");
        return socket;
    }

    const peer_settings &wanted_;
    const std::string endpoint_;
    void *const zmq_;
    outgoing message_;
    incoming answer_;
};

// Multiplications of one handshake, as often as there are messages.
findings measure_multiplications(const peer_settings &wanted) {
    void *const sodium = ::dlopen("libsodium.so.23", RTLD_NOW);
    require(sodium != nullptr, "libsodium.so.23");
    using of_base = int(unsigned char *, const unsigned char *);
    using of_point = int(unsigned char *, const unsigned char *, const unsigned char *);
    const auto multiply_base = reinterpret_cast<of_base *>(::dlsym(sodium, "crypto_scalarmult_base"));
    const auto multiply = reinterpret_cast<of_point *>(::dlsym(sodium, "crypto_scalarmult"));
    const auto start = reinterpret_cast<int (*)()>(::dlsym(sodium, "sodium_init"));
    require(multiply_base && multiply && start && start() >= 0, "libsodium's functions");
    std::array<unsigned char, 32> scalar{1, 2, 3}, point{};
    const auto begin = steady::now();
    for (std::uint64_t i = 0; i < wanted.messages; ++i) {
        for (int each = 0; each < 2; ++each)
            require(multiply_base(point.data(), scalar.data()) == 0, "crypto_scalarmult_base");
        for (int each = 0; each < 6; ++each)
            require(multiply(scalar.data(), scalar.data(), point.data()) == 0, "crypto_scalarmult");
    }
    return {{"throughput", static_cast<double>(wanted.messages) / seconds_between(begin, steady::now())}};
}

}  // namespace

findings measure_handshakes(peer_settings &wanted) {
    stay_on_one_processor();
    if (wanted.raw)
        return measure_multiplications(wanted);
    const std::uint64_t rounds = std::max<std::uint64_t>(wanted.messages / wanted.count, 1);
    child_process server([&](int channel) { answer(wanted, channel); });
    double seconds = 0;
    {
        clients all(wanted, read_text(server.channel()));
        all.come_and_go(wanted.count);
        const auto begin = steady::now();
        all.come_and_go(rounds * wanted.count);
        seconds = seconds_between(begin, steady::now());
        all.say_end();
    }
    server.wait_for_end();
    return {{"throughput", static_cast<double>(rounds * wanted.count) / seconds}};
}

}  // namespace bench
