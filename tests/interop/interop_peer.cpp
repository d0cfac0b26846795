// One side of a conversation between two processes that may run on different libraries.
//
//   interop_peer A-B a|b bind|connect ENDPOINT [NULL|PLAIN|CURVE client|server [MESSAGES]]
//                                                     for example: interop_peer DEALER-REP a
//                                                     connect tcp://...
//
// Side a sends every message of the plan; side b checks each. Where the types allow an answer, b
// sends one that a checks. The plan is the same on both sides: each size with one to eight parts,
// all bytes made from the number of the message and of the part. What is wanted beyond that are
// small messages. The server of PLAIN has a handler in its process.
//
// Speaks:   LIBRARY file, ENDPOINT name (binder only), READY (subscriber that hears its publisher),
//           DONE. A publisher repeats a greeting until it reads a line (GO) on its standard input.
#include <zmq.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <link.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t sizes[] = {0, 1, 254, 255, 256, 8191, 8192, 65536, 1 << 20};
constexpr std::uint32_t most_parts = 8;
constexpr int deadline_ms = 30'000;
constexpr long retry_ms = 5;
constexpr char greeting[] = "greeting";

// For PLAIN, and the keys that zmq_curve(7) shows.
constexpr char user[] = "alice";
constexpr char password[] = "secret";
struct keys {
    const char *public_key, *secret_key;
};
constexpr keys client_keys{"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
                           "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"};
constexpr keys server_keys{"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
                           "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"};

using part = std::string;
using message = std::vector<part>;

struct socket_kind {
    const char *name;
    int type;
};

constexpr socket_kind kinds[] = {
    {"PAIR", ZMQ_PAIR}, {"PUB", ZMQ_PUB},       {"SUB", ZMQ_SUB},       {"XPUB", ZMQ_XPUB},
    {"XSUB", ZMQ_XSUB}, {"PUSH", ZMQ_PUSH},     {"PULL", ZMQ_PULL},     {"REQ", ZMQ_REQ},
    {"REP", ZMQ_REP},   {"DEALER", ZMQ_DEALER}, {"ROUTER", ZMQ_ROUTER},
};

[[noreturn]] void fail(const std::string &what) {
    std::printf("FAILED %s: %s\n", what.c_str(), zmq_strerror(zmq_errno()));
    std::fflush(stdout);
    ::_exit(1);
}

void require(bool good, const char *what) {
    if (!good)
        fail(what);
}

void say(const std::string &line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

int type_named(const std::string &name) {
    for (const socket_kind &kind : kinds)
        if (name == kind.name)
            return kind.type;
    fail("no socket type " + name);
}

bool may_answer(int type) { return type != ZMQ_PUB && type != ZMQ_XPUB && type != ZMQ_PUSH; }

bool may_subscribe(int type) { return type == ZMQ_SUB || type == ZMQ_XSUB; }

// Cheap bytes that differ between messages, parts and positions.
part made_part(std::size_t size, std::uint32_t number, std::uint32_t index) {
    part body(size, '\0');
    std::uint64_t word = number * 2654435761u + index * 40503u + 1;
    for (std::size_t at = 0; at < size; at += sizeof word) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        std::memcpy(body.data() + at, &word, std::min(sizeof word, size - at));
    }
    return body;
}

// Answers carry numbers from another range, so that an echo of the question is not taken for one.
constexpr std::uint32_t answers_from = 1'000'000;

constexpr std::uint32_t plan_length = std::size(sizes) * most_parts;

// Message number n of the plan: the size changes slowest.
message planned(std::uint32_t n, std::uint32_t numbers_from) {
    message next;
    if (n >= plan_length)
        return {made_part(n % 300, numbers_from + n, 0)};
    for (std::uint32_t index = 0; index <= n % most_parts; ++index)
        next.push_back(made_part(sizes[n / most_parts], numbers_from + n, index));
    return next;
}

// Sends one message; the frames that belong to the envelope come first.
void send_message(void *socket, const message &envelope, const message &body) {
    message all = envelope;
    all.insert(all.end(), body.begin(), body.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const int more = i + 1 < all.size() ? ZMQ_SNDMORE : 0;
        int sent;
        // Only the first part can find that the peer is not there yet.
        while ((sent = zmq_send(socket, all[i].data(), all[i].size(), more)) == -1 &&
               zmq_errno() == EHOSTUNREACH && i == 0)
            zmq_poll(nullptr, 0, retry_ms);
        require(sent == static_cast<int>(all[i].size()), "send");
    }
}

message receive_message(void *socket) {
    message all;
    int more = 1;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        require(zmq_msg_recv(&frame, socket, 0) != -1, "receive");
        all.emplace_back(static_cast<const char *>(zmq_msg_data(&frame)), zmq_msg_size(&frame));
        more = zmq_msg_more(&frame);
        std::size_t size = sizeof more;
        int option = -1;
        require(zmq_getsockopt(socket, ZMQ_RCVMORE, &option, &size) == 0 && option == more, "ZMQ_RCVMORE");
        zmq_msg_close(&frame);
    }
    return all;
}

// Takes the envelope off a message: as many frames as the socket type puts or expects before the
// body.
message split_envelope(message &all, std::size_t frames) {
    require(all.size() > frames, "a message longer than its envelope");
    message envelope(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(frames));
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(frames));
    return envelope;
}

void check(const message &found, const message &expected, std::size_t number) {
    if (found.size() != expected.size())
        fail("message " + std::to_string(number) + " has " + std::to_string(found.size()) + " parts, not " +
             std::to_string(expected.size()));
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] != expected[i])
            fail("message " + std::to_string(number) + " part " + std::to_string(i) + " of " +
                 std::to_string(found[i].size()) + " bytes differs");
}

// Answers each question of ZAP until the context ends: 200 to the one user, else 400.
void judge_peers(void *handler) {
    for (;;) {
        message question;
        int more = 1;
        while (more) {
            char frame[256];
            const int size = zmq_recv(handler, frame, sizeof frame, 0);
            if (size == -1) {
                require(zmq_errno() == ETERM, "receive of a question");
                zmq_close(handler);
                return;
            }
            question.emplace_back(frame, static_cast<std::size_t>(size));
            std::size_t option_size = sizeof more;
            require(zmq_getsockopt(handler, ZMQ_RCVMORE, &more, &option_size) == 0, "ZMQ_RCVMORE");
        }
        require(question.size() == 8 && question[5] == "PLAIN", "a question about PLAIN");
        const bool is_good = question[6] == user && question[7] == password;
        send_message(handler, {}, {"1.0", question[1], is_good ? "200" : "400", "", is_good ? user : "", ""});
    }
}

struct security {
    std::string mechanism = "NULL";
    bool is_server = false;
};

class side {
public:
    side(const std::string &own, const std::string &other, const char *routing_id, const char *peer_id,
         const security &how, std::uint32_t messages)
        : type_(type_named(own)), peer_type_(type_named(other)), peer_id_(peer_id), messages_(messages),
          context_(zmq_ctx_new()), socket_(zmq_socket(context_, type_)) {
        require(socket_ != nullptr, "zmq_socket");
        set_int(ZMQ_SNDTIMEO, deadline_ms);
        set_int(ZMQ_RCVTIMEO, deadline_ms);
        // A subscriber has nothing to finish, but its last unsubscription could wait for a
        // publisher that has gone.
        set_int(ZMQ_LINGER, may_subscribe(type_) ? 0 : deadline_ms);
        if (type_ == ZMQ_ROUTER || type_ == ZMQ_DEALER || type_ == ZMQ_REQ)
            set_bytes(ZMQ_ROUTING_ID, routing_id);
        if (type_ == ZMQ_ROUTER)
            set_int(ZMQ_ROUTER_MANDATORY, 1);
        if (type_ == ZMQ_PUB || type_ == ZMQ_XPUB)
            set_int(ZMQ_XPUB_NODROP, 1);
        if (type_ == ZMQ_SUB)
            require(zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, "", 0) == 0, "ZMQ_SUBSCRIBE");
        secure(how);
    }

    void attach(const std::string &how, const std::string &endpoint) {
        if (how == "bind") {
            require(zmq_bind(socket_, endpoint.c_str()) == 0, "zmq_bind");
            char name[256];
            std::size_t size = sizeof name;
            require(zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, name, &size) == 0, "ZMQ_LAST_ENDPOINT");
            say(std::string("ENDPOINT ") + name);
        } else {
            require(zmq_connect(socket_, endpoint.c_str()) == 0, "zmq_connect");
        }
        if (type_ == ZMQ_XSUB)
            require(zmq_send(socket_, "\1", 1, 0) == 1, "send of a subscription");
    }

    void send_all() {
        wait_for_subscriber();
        const bool lock_step = type_ == ZMQ_REQ;
        for (std::uint32_t n = 0; n < messages_; ++n) {
            send_message(socket_, sending_envelope(), planned(n, 0));
            if (lock_step)
                receive_answer(n);
        }
        if (!lock_step && may_answer(type_))
            for (std::uint32_t n = 0; n < messages_; ++n)
                receive_answer(n);
        say("DONE");
    }

    void answer_all() {
        for (std::uint32_t n = 0; n < messages_; ++n) {
            message found = receive_body();
            const message envelope = split_envelope(found, received_envelope());
            check(found, planned(n, 0), n);
            if (may_answer(peer_type_))
                send_message(socket_, envelope, planned(n, answers_from));
        }
        say("DONE");
    }

    // With the linger time set, termination waits until everything is sent.
    void close() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
        if (handler_.joinable())
            handler_.join();
    }

private:
    void secure(const security &how) {
        if (how.mechanism == "CURVE") {
            if (how.is_server) {
                set_int(ZMQ_CURVE_SERVER, 1);
            } else {
                set_bytes(ZMQ_CURVE_SERVERKEY, server_keys.public_key);
                set_bytes(ZMQ_CURVE_PUBLICKEY, client_keys.public_key);
            }
            set_bytes(ZMQ_CURVE_SECRETKEY, (how.is_server ? server_keys : client_keys).secret_key);
        } else if (how.mechanism == "PLAIN" && how.is_server) {
            set_int(ZMQ_PLAIN_SERVER, 1);
            void *const handler = zmq_socket(context_, ZMQ_REP);
            require(zmq_bind(handler, "inproc://zeromq.zap.01") == 0, "bind of the handler");
            handler_ = std::thread(judge_peers, handler);
        } else if (how.mechanism == "PLAIN") {
            set_bytes(ZMQ_PLAIN_USERNAME, user);
            set_bytes(ZMQ_PLAIN_PASSWORD, password);
        }
    }

    void set_int(int option, int value) {
        require(zmq_setsockopt(socket_, option, &value, sizeof value) == 0, "zmq_setsockopt");
    }
    void set_bytes(int option, const char *value) {
        require(zmq_setsockopt(socket_, option, value, std::strlen(value)) == 0, "zmq_setsockopt");
    }

    // The frames a sender writes before the body: a ROUTER addresses its peer, a DEALER acts as REQ
    // towards a REP.
    message sending_envelope() const {
        if (type_ == ZMQ_ROUTER)
            return {peer_id_};
        if (type_ == ZMQ_DEALER && peer_type_ == ZMQ_REP)
            return {""};
        return {};
    }

    // Says how many frames come before the body of what is received here.
    std::size_t received_envelope() const {
        if (type_ == ZMQ_ROUTER)
            return peer_type_ == ZMQ_REQ ? 2 : 1;
        return type_ == ZMQ_DEALER && peer_type_ == ZMQ_REP ? 1 : 0;
    }

    void receive_answer(std::uint32_t n) {
        message found = receive_message(socket_);
        const message envelope = split_envelope(found, received_envelope());
        if (!envelope.empty())
            require(envelope == sending_envelope(), "the envelope of an answer");
        check(found, planned(n, answers_from), n);
    }

    void wait_for_subscriber() {
        if (type_ == ZMQ_XPUB) {
            const message subscription = receive_message(socket_);
            require(subscription == message{std::string("\1", 1)}, "a subscription to everything");
        }
        if (type_ != ZMQ_PUB)
            return;
        zmq_pollitem_t input{nullptr, STDIN_FILENO, ZMQ_POLLIN, 0};
        do
            require(zmq_send(socket_, greeting, sizeof greeting, 0) != -1, "send of a greeting");
        while (zmq_poll(&input, 1, retry_ms) == 0);
        char line[16];
        require(std::fgets(line, sizeof line, stdin) != nullptr, "a line on standard input");
    }

    // The next message that is not the greeting of a publisher.
    message receive_body() {
        for (;;) {
            message found = receive_message(socket_);
            if (peer_type_ != ZMQ_PUB || found != message{std::string(greeting, sizeof greeting)})
                return found;
            if (!greeted_)
                say("READY");
            greeted_ = true;
        }
    }

    const int type_;
    const int peer_type_;
    const std::string peer_id_;
    const std::uint32_t messages_;
    void *const context_;
    void *const socket_;
    std::thread handler_;
    bool greeted_ = false;
};

void say_library() {
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *) {
            if (std::strstr(info->dlpi_name, "libzmq.so"))
                say(std::string("LIBRARY ") + info->dlpi_name);
            return 0;
        },
        nullptr);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 5 && argc != 7 && argc != 8) {
        std::fputs(
            "usage: interop_peer A-B a|b bind|connect ENDPOINT [NULL|PLAIN|CURVE client|server [MESSAGES]]\n",
            stderr);
        return 2;
    }
    const std::string pair = argv[1];
    const std::size_t dash = pair.find('-');
    require(dash != std::string::npos, "two types with a dash between them");
    const std::string a = pair.substr(0, dash);
    const std::string b = pair.substr(dash + 1);
    const bool is_a = std::string(argv[2]) == "a";
    say_library();
    security how;
    if (argc > 6)
        how = {argv[5], std::string(argv[6]) == "server"};
    const std::uint32_t messages =
        argc > 7 ? static_cast<std::uint32_t>(std::strtoul(argv[7], nullptr, 10)) : plan_length;
    side self(is_a ? a : b, is_a ? b : a, is_a ? "side a" : "side b", is_a ? "side b" : "side a", how,
              messages);
    self.attach(argv[3], argv[4]);
    if (is_a)
        self.send_all();
    else
        self.answer_all();
    self.close();
    return 0;
}
