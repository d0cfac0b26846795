// Threads that write and read connections for themselves, in every rhythm, while peers come and go,
// signals arrive and contexts end: nothing is lost, doubled, cut or reordered, and nobody sleeps on
// while there is something to do.
//
// Method:   the content of a message follows from its stream and its number, so whoever receives
//           knows every octet of it. Where a message must come, a wait has a limit that only a lost
//           wake-up reaches.
// Chance:   the seeds are fixed; the schedule of the threads is not. ZLINK_STRESS_ROUNDS multiplies
//           the work.
#include <zmq.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

#ifdef ZLINK_WITH_TLS
#include "certificates.hpp"
#endif
#include "effort.hpp"
#include "scratch_endpoint.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using zlink_test::scratch_endpoint;

constexpr int patience_ms = 60000;

int rounds_of(int whole) {
    const char *text = std::getenv("ZLINK_STRESS_ROUNDS");
    return zlink_test::effort(whole, (whole + 1) / 2) * (text ? std::max(1, std::atoi(text)) : 1);
}

/// Calls again what a signal interrupted.
template <class Call>
auto persist(Call call) {
    auto result = call();
    while (result == -1 && zmq_errno() == EINTR)
        result = call();
    return result;
}

/// Passes a while, as an application does that is busy elsewhere.
void be_elsewhere(int ms) { (void)zmq_poll(nullptr, 0, ms); }

class chance {
public:
    explicit chance(std::uint64_t seed) : generator_(seed) {}
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(generator_() % limit); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }

private:
    std::mt19937_64 generator_;
};

/// Between two looks of somebody who never waits. A processor must be left to those who are looked
/// for.
void look_again_soon(chance &random) {
    if (random.one_in(32))
        be_elsewhere(1);
    else
        std::this_thread::yield();
}

// ---- messages ----

const std::string &noise() {
    static const std::string text = [] {
        std::string out(1 << 20, '\0');
        std::mt19937 generator(4711);
        for (char &c : out)
            c = static_cast<char>(generator());
        return out;
    }();
    return text;
}

/// One message as it must be. A message of one octet cannot say whose it is.
struct message {
    std::uint32_t stream;
    std::uint32_t number;
    std::vector<std::string> parts;
};

struct header {
    std::uint32_t stream;
    std::uint32_t number;
};

message make(std::uint32_t stream, std::uint32_t number, bool may_be_tiny) {
    std::uint64_t seed = (std::uint64_t{stream} << 32 | number) + 1;
    const auto next = [&seed] {  // splitmix64
        std::uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    };
    const auto piece = [&](std::size_t size) {
        return noise().substr(next() % (noise().size() - size), size);
    };
    const auto size = [&]() -> std::size_t {
        switch (next() % 32) {
        case 0:
            return 70000 + next() % 230000;
        case 1:
        case 2:
            return 8000 + next() % 2000;
        case 3:
        case 4:
        case 5:
            return 200 + next() % 1000;
        default:
            return 1 + next() % 64;
        }
    };
    message out{stream, number, {}};
    if (may_be_tiny && next() % 4 == 0) {
        out.parts.push_back(piece(1));
        return out;
    }
    const header start{stream, number};
    out.parts.push_back(std::string(reinterpret_cast<const char *>(&start), sizeof start) + piece(size()));
    if (next() % 4 == 0) {
        for (std::uint64_t more = 1 + next() % 3; more > 0; --more)
            out.parts.push_back(piece(next() % 8 ? size() : 0));
    }
    return out;
}

/// 0, or the errno. A message whose first part is taken is taken whole.
int send(void *socket, const message &what, int flags) {
    for (std::size_t i = 0; i < what.parts.size(); ++i) {
        const std::string &part = what.parts[i];
        const int more = i + 1 < what.parts.size() ? ZMQ_SNDMORE : 0;
        if (persist([&] { return zmq_send(socket, part.data(), part.size(), flags | more); }) == -1) {
            EXPECT_TRUE(i == 0 || zmq_errno() == ETERM) << zmq_strerror(zmq_errno());
            return zmq_errno();
        }
    }
    return 0;
}

/// 0, or the errno. A message comes whole.
int receive(void *socket, std::vector<std::string> &parts, int flags) {
    parts.clear();
    for (bool more = true; more;) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (persist([&] { return zmq_msg_recv(&part, socket, flags); }) == -1) {
            const int error = zmq_errno();
            EXPECT_TRUE(parts.empty() || error == ETERM) << zmq_strerror(error);
            zmq_msg_close(&part);
            return error;
        }
        parts.emplace_back(static_cast<const char *>(zmq_msg_data(&part)), zmq_msg_size(&part));
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
    }
    return 0;
}

/// Whose message it is; not for those of one octet.
header header_of(const std::vector<std::string> &parts) {
    header out{};
    EXPECT_GE(parts.at(0).size(), sizeof out);
    if (parts[0].size() >= sizeof out)
        std::memcpy(&out, parts[0].data(), sizeof out);
    return out;
}

bool is_whole(const std::vector<std::string> &parts) {
    const header start = header_of(parts);
    return parts == make(start.stream, start.number, false).parts;
}

// ---- sockets ----

struct setup {
    const char *transport = "tcp";
    int hwm = 1000;
    int io_threads = 1;
    int buffer = -1;  // of the system
    int heartbeat_ms = 0;
    std::uint32_t callers = 2;  // of each thread
};

#ifdef ZLINK_WITH_TLS
constexpr const char *encrypted = "tls";
void set_certificates(void *socket) {
    const zlink_test::good_files &files = zlink_test::good();
    for (const auto &[option, path] :
         {std::pair{ZMQ_TLS_CERT, files.cert}, {ZMQ_TLS_KEY, files.key}, {ZMQ_TLS_CA, files.ca}})
        EXPECT_EQ(zmq_setsockopt(socket, option, path.data(), path.size()), 0);
}
#else
constexpr const char *encrypted = "tcp";  // once more
void set_certificates(void *) {}
#endif

void *open(void *context, int type, const setup &how) {
    void *s = zmq_socket(context, type);
    EXPECT_NE(s, nullptr) << zmq_strerror(zmq_errno());
    const auto set = [&](int option, int value) { zmq_setsockopt(s, option, &value, sizeof value); };
    set(ZMQ_SNDHWM, how.hwm);
    set(ZMQ_RCVHWM, how.hwm);
    set(ZMQ_SNDBUF, how.buffer);
    set(ZMQ_RCVBUF, how.buffer);
    set(ZMQ_HEARTBEAT_IVL, how.heartbeat_ms);
    set(ZMQ_LINGER, 0);
    set(ZMQ_RECONNECT_IVL, 1);
    if (type == ZMQ_ROUTER)
        set(ZMQ_ROUTER_MANDATORY, 1);
    if (how.transport == std::string("tls"))
        set_certificates(s);
    return s;
}

void set(void *socket, int option, int value) {
    EXPECT_EQ(zmq_setsockopt(socket, option, &value, sizeof value), 0) << zmq_strerror(zmq_errno());
}

std::string bind_to(void *socket, const std::string &where) {
    EXPECT_EQ(persist([&] { return zmq_bind(socket, where.c_str()); }), 0) << zmq_strerror(zmq_errno());
    char text[256];
    std::size_t size = sizeof text;
    EXPECT_EQ(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text, &size), 0);
    return text;
}

void connect_to(void *socket, const std::string &where) {
    EXPECT_EQ(zmq_connect(socket, where.c_str()), 0) << zmq_strerror(zmq_errno());
}

int events_of(void *socket) {
    int events = 0;
    std::size_t size = sizeof events;
    EXPECT_EQ(persist([&] { return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size); }), 0);
    return events;
}

void *make_context(int io_threads) {
    void *context = zmq_ctx_new();
    EXPECT_EQ(zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads), 0);
    return context;
}

// ---- an echo ----

/// Sends every message back to where it came from, waiting now in this way and now in that, until
/// its context ends.
class echo {
public:
    echo(void *socket, std::uint64_t seed) : socket_(socket), random_(seed) {}
    ~echo() { EXPECT_EQ(zmq_close(socket_), 0); }
    void run() {
        for (;;) {
            const int e = serve(wait());
            if (e == ETERM)
                return;
            EXPECT_TRUE(e == 0 || e == EAGAIN) << zmq_strerror(e);
        }
    }

private:
    /// The flags to receive with.
    int wait() {
        switch (random_.below(400)) {
        case 0:
            be_elsewhere(3);
            break;
        case 1:
            rhythm_ = random_.below(4);
            break;
        }
        zmq_pollitem_t items[] = {{socket_, 0, ZMQ_POLLIN, 0}, {socket_, 0, ZMQ_POLLIN, 0}};
        switch (rhythm_) {
        case 0:
            return 0;
        case 1:
            (void)zmq_poll(items, 1, -1);
            return ZMQ_DONTWAIT;
        case 2:
            (void)zmq_poll(items, 2, -1);
            return ZMQ_DONTWAIT;
        default:
            look_again_soon(random_);
            return ZMQ_DONTWAIT;
        }
    }
    /// Echoes one message.
    int serve(int flags) {
        bool is_first = true;
        bool drops = false;
        for (bool more = true; more; is_first = false) {
            zmq_msg_t part;
            zmq_msg_init(&part);
            if (persist([&] { return zmq_msg_recv(&part, socket_, is_first ? flags : 0); }) == -1)
                return zmq_errno();
            more = zmq_msg_more(&part);
            if (!drops &&
                persist([&] { return zmq_msg_send(&part, socket_, more ? ZMQ_SNDMORE : 0); }) == -1) {
                if (zmq_errno() != EHOSTUNREACH || !is_first) {
                    const int error = zmq_errno();
                    zmq_msg_close(&part);
                    return error;
                }
                drops = true;  // the peer is gone
            }
            zmq_msg_close(&part);
        }
        return 0;
    }

    void *socket_;
    chance random_;
    std::uint32_t rhythm_ = 0;
};

/// One socket of somebody who talks to an echo.
class caller {
public:
    caller(void *socket, std::uint32_t stream) : socket_(socket), stream_(stream) {}

    void *socket() const { return socket_; }
    std::uint32_t outstanding() const { return sent_ - received_; }
    /// False when there is no room.
    bool send(int flags) {
        const int e = ::send(socket_, make(stream_, sent_, true), flags);
        EXPECT_TRUE(e == 0 || (e == EAGAIN && flags)) << zmq_strerror(e);
        sent_ += e == 0;
        return e == 0;
    }
    /// False when there is none.
    bool receive(int flags) {
        std::vector<std::string> parts;
        const int e = ::receive(socket_, parts, flags);
        EXPECT_TRUE(e == 0 || (e == EAGAIN && flags)) << zmq_strerror(e);
        if (e != 0) {
            is_well_ = is_well_ && e == EAGAIN && flags;
            return false;
        }
        const bool is_right = parts == make(stream_, received_, true).parts;
        EXPECT_TRUE(is_right) << "stream " << stream_ << ", message " << received_;
        is_well_ = is_well_ && is_right;
        ++received_;
        return true;
    }
    bool is_well() const { return is_well_; }

    /// From now on waits with the descriptor.
    void ask_for_descriptor() {
        std::size_t size = sizeof descriptor_;
        EXPECT_EQ(zmq_getsockopt(socket_, ZMQ_FD, &descriptor_, &size), 0);
    }
    bool has_descriptor() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }

private:
    void *socket_;
    std::uint32_t stream_;
    std::uint32_t sent_ = 0;
    std::uint32_t received_ = 0;
    int descriptor_ = -1;
    bool is_well_ = true;
};

/// A thread's callers: sends windows of messages and takes the echoes, in every rhythm.
class conversation {
public:
    conversation(std::vector<caller> callers, std::uint64_t seed)
        : callers_(std::move(callers)), random_(seed) {}
    ~conversation() {
        for (const caller &c : callers_)
            EXPECT_EQ(zmq_close(c.socket()), 0);
    }
    bool is_well() const {
        return is_well_ &&
               std::all_of(callers_.begin(), callers_.end(), [](const caller &c) { return c.is_well(); });
    }
    /// Flips now and then between lock-step, bursts and pauses.
    void round(bool asks_for_descriptors) {
        if (random_.one_in(40))
            be_elsewhere(static_cast<int>(random_.below(5)));
        if (random_.one_in(20))
            window_ = random_.one_in(3) ? 1 + random_.below(100) : 1;
        caller &c = callers_[random_.below(static_cast<std::uint32_t>(callers_.size()))];
        if (asks_for_descriptors && random_.one_in(100))
            c.ask_for_descriptor();
        for (std::uint32_t left = window_; left > 0 && is_well(); --left) {
            while (is_well() && !c.send(c.outstanding() > 0 ? ZMQ_DONTWAIT : 0))
                take_some();
        }
        if (!random_.one_in(3))  // else the next window goes out first
            finish();
    }
    /// Takes all echoes.
    void finish() {
        while (is_well() && waiting() > 0)
            take_some();
    }

private:
    /// Says how many callers wait for an echo.
    std::ptrdiff_t waiting() const {
        return std::count_if(callers_.begin(), callers_.end(),
                             [](const caller &c) { return c.outstanding() > 0; });
    }
    /// Waits for an echo, which must come; mostly as the last time.
    void take_some() {
        if (random_.one_in(50))
            rhythm_ = random_.below(5);
        switch (rhythm_) {
        case 0:
            // The echo may be held up by what another caller does not take.
            if (waiting() > 1)
                poll(patience_ms, true);
            for (caller &c : callers_)
                if (c.outstanding() > 0 && waiting() == 1)
                    c.receive(0);
            break;
        case 1:
            poll(patience_ms, true);
            break;
        case 2:
            for (caller &c : callers_)
                while (c.outstanding() > 0 && c.receive(ZMQ_DONTWAIT)) {
                }
            look_again_soon(random_);
            break;
        case 3:
            look_at_events();
            break;
        default:
            poll(static_cast<long>(random_.below(4)), false);
        }
    }
    void look_at_events() {
        std::vector<pollfd> raised;
        bool has_taken = false;
        for (caller &c : callers_) {
            if (c.outstanding() == 0)
                continue;
            if (events_of(c.socket()) & ZMQ_POLLIN)
                has_taken |= c.receive(ZMQ_DONTWAIT);
            if (c.has_descriptor())
                raised.push_back({c.descriptor(), POLLIN, 0});
        }
        if (has_taken || raised.empty() || static_cast<std::ptrdiff_t>(raised.size()) < waiting())
            return;
        is_well_ = persist([&] { return ::poll(raised.data(), raised.size(), patience_ms); }) >= 1;
        EXPECT_TRUE(is_well_) << "nobody raised a descriptor";
    }
    void poll(long timeout_ms, bool must_come) {
        std::vector<zmq_pollitem_t> items;
        for (const caller &c : callers_)
            items.push_back({c.socket(), 0, ZMQ_POLLIN, 0});
        const int ready =
            persist([&] { return zmq_poll(items.data(), static_cast<int>(items.size()), timeout_ms); });
        EXPECT_GE(ready, must_come ? 1 : 0) << "an echo does not come";
        is_well_ = is_well_ && ready >= (must_come ? 1 : 0);
        for (std::size_t i = 0; i < items.size(); ++i)
            if (items[i].revents) {
                EXPECT_TRUE(callers_[i].receive(ZMQ_DONTWAIT));
            }
    }

    std::vector<caller> callers_;
    chance random_;
    std::uint32_t window_ = 1;
    std::uint32_t rhythm_ = 0;
    bool is_well_ = true;
};

/// Interrupts threads until it goes.
class nuisance {
public:
    explicit nuisance(std::vector<pthread_t> victims)
        : thread_([this, victims = std::move(victims)] {
              chance random(1);
              while (!is_over_) {
                  pthread_kill(victims[random.below(static_cast<std::uint32_t>(victims.size()))], SIGUSR1);
                  be_elsewhere(static_cast<int>(random.below(2)));
              }
          }) {}
    ~nuisance() {
        is_over_ = true;
        thread_.join();
    }
    static void install() {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    }

private:
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

/// Two threads with some sockets each call one echo.
void converse(const setup &how, int rounds, bool with_signals, bool with_descriptors, std::uint64_t seed) {
    SCOPED_TRACE(std::string(how.transport) + ", mark " + std::to_string(how.hwm));
    nuisance::install();
    void *far_context = make_context(how.io_threads);
    void *near_context = make_context(how.io_threads);
    void *router = open(far_context, ZMQ_ROUTER, how);
    const std::string where = bind_to(router, scratch_endpoint(how.transport));
    std::thread far([&] { echo(router, seed).run(); });
    std::vector<std::thread> near;
    std::atomic<int> running{0};
    std::atomic<bool> may_go{false};
    for (std::uint32_t i = 0; i < 2; ++i) {
        ++running;
        near.emplace_back([&, i] {
            {
                std::vector<caller> callers;
                for (std::uint32_t stream = 0; stream < how.callers; ++stream) {
                    void *dealer = open(near_context, ZMQ_DEALER, how);
                    set(dealer, ZMQ_RCVTIMEO, patience_ms);
                    set(dealer, ZMQ_SNDTIMEO, patience_ms);
                    connect_to(dealer, where);
                    callers.emplace_back(dealer, how.callers * i + stream);
                }
                conversation talk(std::move(callers), seed + i);
                for (int n = 0; n < rounds_of(rounds) && talk.is_well(); ++n)
                    talk.round(with_descriptors);
                talk.finish();
            }
            --running;
            while (!may_go)  // signals are sent to living threads
                be_elsewhere(1);
        });
    }
    {
        std::vector<pthread_t> victims;
        for (std::thread &t : near)
            victims.push_back(t.native_handle());
        victims.push_back(far.native_handle());
        std::unique_ptr<nuisance> signals;
        if (with_signals)
            signals = std::make_unique<nuisance>(std::move(victims));
        while (running > 0)
            be_elsewhere(1);
    }
    may_go = true;
    for (std::thread &t : near)
        t.join();
    EXPECT_EQ(zmq_ctx_shutdown(far_context), 0);
    far.join();
    EXPECT_EQ(zmq_ctx_term(near_context), 0);
    EXPECT_EQ(zmq_ctx_term(far_context), 0);
}

TEST(turns, keep_every_message_in_every_rhythm) {
    converse({"tcp", 1, 1}, 300, false, false, 1);
    converse({"ipc", 2, 2}, 300, false, false, 2);
    converse({"tcp", 10, 3}, 300, false, false, 3);
    converse({"ipc", 1000, 1}, 300, false, false, 4);
    converse({encrypted, 1, 1}, 300, false, false, 13);
    converse({encrypted, 1000, 2}, 300, false, false, 14);
}

TEST(turns, keep_every_message_when_the_system_takes_little_at_a_time) {
    converse({"tcp", 10, 1, 4096}, 200, false, false, 5);
    converse({"ipc", 1000, 2, 4096}, 200, false, false, 6);
    converse({encrypted, 10, 1, 4096}, 200, false, false, 15);
}

TEST(turns, keep_every_message_of_many_callers) {
    converse({.transport = "tcp", .hwm = 10, .callers = 25}, 1500, false, false, 11);
    converse({.transport = "ipc", .io_threads = 2, .callers = 40}, 1500, true, false, 12);
    converse({.transport = encrypted, .hwm = 10, .callers = 25}, 500, false, false, 16);
}

TEST(turns, keep_every_message_under_signals) {
    converse({"tcp", 2, 1}, 300, true, false, 7);
    converse({"ipc", 100, 1}, 300, true, false, 8);
    converse({encrypted, 10, 1}, 300, true, false, 17);
}

TEST(turns, keep_every_message_when_descriptors_are_asked_for_on_the_way) {
    converse({"tcp", 10, 1}, 300, false, true, 9);
    converse({"ipc", 1, 2}, 300, true, true, 10);
    converse({encrypted, 10, 1}, 300, false, true, 18);
}

// ---- moving to another thread ----

TEST(turns, a_socket_may_move_to_another_thread_while_its_connection_is_lent) {
    void *far_context = make_context(1);
    void *near_context = make_context(1);
    void *router = open(far_context, ZMQ_ROUTER, {});
    const std::string where = bind_to(router, scratch_endpoint("tcp"));
    std::thread far([&] { echo(router, 1).run(); });
    void *dealer = open(near_context, ZMQ_DEALER, {});
    set(dealer, ZMQ_RCVTIMEO, patience_ms);
    connect_to(dealer, where);
    std::mutex mutex;
    caller shared(dealer, 0);
    const auto take_turns = [&](std::uint64_t seed) {
        chance random(seed);
        for (int i = 0; i < 150; ++i) {
            std::lock_guard guard(mutex);
            for (std::uint32_t n = random.below(20); n > 0 && shared.is_well(); --n) {
                shared.send(0);
                shared.receive(0);
            }
        }
    };
    std::thread other([&] { take_turns(2); });
    take_turns(3);
    other.join();
    EXPECT_EQ(zmq_close(dealer), 0);
    EXPECT_EQ(zmq_ctx_shutdown(far_context), 0);
    far.join();
    EXPECT_EQ(zmq_ctx_term(near_context), 0);
    EXPECT_EQ(zmq_ctx_term(far_context), 0);
}

// ---- peers that come and go ----

/// Holds what came of each stream: from the first message on, one after the other.
class ledger {
public:
    void take(const std::vector<std::string> &parts) {
        ASSERT_TRUE(is_whole(parts));
        const header h = header_of(parts);
        EXPECT_EQ(h.number, next_[h.stream]) << "stream " << h.stream;
        next_[h.stream] = h.number + 1;
    }
    std::uint32_t count(std::uint32_t stream) { return next_[stream]; }

private:
    std::map<std::uint32_t, std::uint32_t> next_;
};

/// Sends streams to a PULL, each through a connection of its own, and ends each in another way.
/// Returns how much must arrive.
std::map<std::uint32_t, std::uint32_t> push_streams(void *context, const setup &how, const std::string &where,
                                                    std::uint32_t first, int count) {
    std::map<std::uint32_t, std::uint32_t> promised;
    chance random(first);
    void *push = nullptr;
    for (std::uint32_t stream = first; stream < first + static_cast<std::uint32_t>(count); ++stream) {
        if (!push) {
            push = open(context, ZMQ_PUSH, how);
            set(push, ZMQ_SNDTIMEO, patience_ms);
        }
        connect_to(push, where);
        const std::uint32_t messages = random.below(40);
        for (std::uint32_t i = 0; i < messages; ++i) {
            EXPECT_EQ(send(push, make(stream, i, false), 0), 0);
            if (random.one_in(20))
                be_elsewhere(static_cast<int>(random.below(2)));
        }
        const bool is_patient = !random.one_in(4);
        set(push, ZMQ_LINGER, is_patient ? -1 : 0);
        if (is_patient)
            promised[stream] = messages;
        if (random.one_in(2)) {
            EXPECT_EQ(zmq_disconnect(push, where.c_str()), 0);
        } else {
            EXPECT_EQ(zmq_close(std::exchange(push, nullptr)), 0);
        }
    }
    if (push) {
        EXPECT_EQ(zmq_close(push), 0);
    }
    return promised;
}

void pull_streams(const setup &how) {
    SCOPED_TRACE(std::string(how.transport) + ", mark " + std::to_string(how.hwm));
    void *far_context = make_context(how.io_threads);
    void *near_context = make_context(how.io_threads);
    void *pull = open(near_context, ZMQ_PULL, how);
    set(pull, ZMQ_RCVTIMEO, 0);
    const std::string where = bind_to(pull, scratch_endpoint(how.transport));
    std::array<std::map<std::uint32_t, std::uint32_t>, 2> promised;
    std::atomic<int> running{2};
    std::vector<std::thread> pushers;
    for (std::uint32_t i = 0; i < 2; ++i)
        pushers.emplace_back([&, i] {
            promised[i] = push_streams(far_context, how, where, 1000 * i, rounds_of(40));
            --running;
        });
    ledger came;
    chance random(1);
    std::vector<std::string> parts;
    const auto take = [&] {
        zmq_pollitem_t item{pull, 0, ZMQ_POLLIN, 0};
        if (random.one_in(2))
            (void)zmq_poll(&item, 1, static_cast<long>(random.below(4)));
        else
            set(pull, ZMQ_RCVTIMEO, static_cast<int>(random.below(4)));
        while (receive(pull, parts, random.one_in(2) ? ZMQ_DONTWAIT : 0) == 0)
            came.take(parts);
        if (random.one_in(30))
            be_elsewhere(static_cast<int>(random.below(4)));
    };
    while (running > 0)
        take();
    for (std::thread &t : pushers)
        t.join();
    const auto deadline = clock_type::now() + std::chrono::milliseconds(patience_ms);
    for (const auto &of_thread : promised)
        for (const auto &[stream, messages] : of_thread) {
            while (came.count(stream) < messages && clock_type::now() < deadline)
                take();
            EXPECT_EQ(came.count(stream), messages) << "stream " << stream;
        }
    EXPECT_EQ(zmq_close(pull), 0);
    EXPECT_EQ(zmq_ctx_term(far_context), 0);
    EXPECT_EQ(zmq_ctx_term(near_context), 0);
}

TEST(turns, keep_every_message_of_peers_that_come_and_go) {
    pull_streams({"tcp", 1, 1});
    pull_streams({"ipc", 10, 2});
    pull_streams({"tcp", 1000, 1});
    pull_streams({encrypted, 10, 1});
}

/// Callers that break off in the middle of a conversation, some of which take over the routing id
/// of their predecessor while that still lives. An echo is whole, and what one connection sent
/// comes back in order.
void break_off(const setup &how, std::uint64_t seed) {
    SCOPED_TRACE(std::string(how.transport) + ", mark " + std::to_string(how.hwm));
    void *far_context = make_context(how.io_threads);
    void *near_context = make_context(how.io_threads);
    void *router = open(far_context, ZMQ_ROUTER, how);
    set(router, ZMQ_ROUTER_HANDOVER, 1);
    const std::string where = bind_to(router, scratch_endpoint(how.transport));
    std::thread far([&] { echo(router, seed).run(); });
    const auto call = [&](std::uint32_t first) {
        chance random(seed + first);
        void *before = nullptr;
        for (std::uint32_t stream = first; stream < first + 60; ++stream) {
            void *dealer = open(near_context, ZMQ_DEALER, how);
            if (random.one_in(2)) {
                const std::string name = "caller " + std::to_string(first);
                EXPECT_EQ(zmq_setsockopt(dealer, ZMQ_ROUTING_ID, name.data(), name.size()), 0);
            }
            set(dealer, ZMQ_RCVTIMEO, 5);
            set(dealer, ZMQ_SNDTIMEO, 5);
            connect_to(dealer, where);
            std::map<std::uint32_t, std::uint32_t> next;
            std::vector<std::string> parts;
            std::uint32_t sent = 0;
            for (std::uint32_t n = random.below(60); n > 0; --n) {
                for (std::uint32_t burst = random.one_in(8) ? random.below(20) : 1; burst > 0; --burst)
                    if (send(dealer, make(stream, sent, false), random.one_in(2) ? ZMQ_DONTWAIT : 0) == 0)
                        ++sent;
                while (receive(dealer, parts, random.one_in(2) ? ZMQ_DONTWAIT : 0) == 0) {
                    EXPECT_TRUE(is_whole(parts));
                    const header h = header_of(parts);
                    EXPECT_GE(h.number, next[h.stream]) << "stream " << h.stream;
                    next[h.stream] = h.number + 1;
                    if (h.stream == stream && h.number + 1 == sent)
                        break;
                }
            }
            if (before) {
                EXPECT_EQ(zmq_close(before), 0);
            }
            before = dealer;
        }
        EXPECT_EQ(zmq_close(before), 0);
    };
    std::thread other([&] { call(1000); });
    call(2000);
    other.join();
    EXPECT_EQ(zmq_ctx_shutdown(far_context), 0);
    far.join();
    EXPECT_EQ(zmq_ctx_term(near_context), 0);
    EXPECT_EQ(zmq_ctx_term(far_context), 0);
}

TEST(turns, survive_peers_that_break_off) {
    break_off({"tcp", 2, 1}, 1);
    break_off({"ipc", 100, 2}, 2);
    break_off({encrypted, 10, 1}, 3);
}

// ---- the end of the context ----

TEST(turns, every_blocked_call_ends_with_the_context) {
    chance random(1);
    for (int round = 0; round < rounds_of(60); ++round) {
        const char *const transport = round % 5 == 0 ? encrypted : round % 2 ? "tcp" : "ipc";
        const setup how{transport, round % 3 ? 2 : 1000, 1 + round % 2};
        void *far_context = make_context(how.io_threads);
        void *near_context = make_context(how.io_threads);
        void *router = open(far_context, ZMQ_ROUTER, how);
        const std::string where = bind_to(router, scratch_endpoint(how.transport));
        std::thread far([&] { echo(router, static_cast<std::uint64_t>(round)).run(); });
        std::atomic<std::uint32_t> messages{0};
        std::vector<std::thread> near;
        for (int kind = 0; kind < 3; ++kind)
            near.emplace_back([&, kind] {
                void *dealer = zmq_socket(near_context, ZMQ_DEALER);
                if (!dealer)
                    return;
                set(dealer, ZMQ_LINGER, 0);
                if (how.transport == std::string("tls"))
                    set_certificates(dealer);
                (void)zmq_connect(dealer, where.c_str());
                for (;;) {
                    const bool is_patient = kind < 2 || messages % 64;
                    if (send(dealer, make(0, messages++, true), 0) != 0)
                        break;
                    zmq_pollitem_t item{dealer, 0, ZMQ_POLLIN, 0};
                    std::vector<std::string> parts;
                    // kind 2 sends on until it is blocked now and then
                    if (kind == 1 && persist([&] { return zmq_poll(&item, 1, -1); }) == -1)
                        break;
                    if (is_patient && receive(dealer, parts, 0) != 0)
                        break;
                }
                EXPECT_EQ(zmq_errno(), ETERM);
                EXPECT_EQ(zmq_close(dealer), 0);
            });
        const std::uint32_t enough = random.below(600);
        while (messages < enough)
            be_elsewhere(1);
        // Both sides at once, in either order.
        void *first = round % 4 < 2 ? near_context : far_context;
        void *second = first == near_context ? far_context : near_context;
        EXPECT_EQ(zmq_ctx_shutdown(first), 0);
        EXPECT_EQ(zmq_ctx_shutdown(second), 0);
        for (std::thread &t : near)
            t.join();
        far.join();
        EXPECT_EQ(zmq_ctx_term(near_context), 0);
        EXPECT_EQ(zmq_ctx_term(far_context), 0);
    }
}

// ---- what a socket does not want now ----

TEST(turns, a_wait_ends_in_time_while_a_reply_is_owed_and_requests_pile_up) {
    for (const int hwm : {1, 10}) {
        void *context = make_context(1);
        void *rep = open(context, ZMQ_REP, {});
        void *dealer = open(context, ZMQ_DEALER, {});
        set(rep, ZMQ_RCVHWM, hwm);
        for (void *s : {rep, dealer})
            set(s, ZMQ_RCVTIMEO, patience_ms);
        const std::string where = bind_to(rep, scratch_endpoint("tcp"));
        connect_to(dealer, where);
        constexpr int requests = 500;
        std::thread asker([&] {
            std::vector<std::string> parts;
            for (int i = 0; i < 2 * requests; ++i) {  // first in lock-step, then all at once
                EXPECT_EQ(zmq_send(dealer, "", 0, ZMQ_SNDMORE), 0);
                EXPECT_EQ(zmq_send(dealer, &i, sizeof i, 0), static_cast<int>(sizeof i));
                if (i < requests) {
                    EXPECT_EQ(receive(dealer, parts, 0), 0);
                }
            }
            for (int i = 0; i < requests; ++i)
                EXPECT_EQ(receive(dealer, parts, 0), 0);
        });
        for (int i = 0; i < 2 * requests; ++i) {
            int request = -1;
            EXPECT_EQ(zmq_recv(rep, &request, sizeof request, 0), static_cast<int>(sizeof request));
            EXPECT_EQ(request, i);
            zmq_pollitem_t item{rep, 0, ZMQ_POLLIN, 0};
            if (i % 50 == 0 || (i >= requests && i < requests + 10)) {
                EXPECT_EQ(zmq_poll(&item, 1, 2), 0);
            }
            EXPECT_EQ(zmq_send(rep, "", 0, 0), 0);
        }
        asker.join();
        EXPECT_EQ(zmq_close(rep), 0);
        EXPECT_EQ(zmq_close(dealer), 0);
        EXPECT_EQ(zmq_ctx_term(context), 0);
    }
}

// ---- that it is used at all ----

/// Says how often the I/O threads of this process went to sleep.
long sleeps_of_io_threads() {
    long sum = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::ifstream(task.path() / "comm") >> name;
        if (name.find("ZMQbg/IO") == std::string::npos)
            continue;
        std::ifstream status(task.path() / "status");
        for (std::string word; status >> word;)
            if (word == "voluntary_ctxt_switches:") {
                long count = 0;
                status >> count;
                sum += count;
            }
    }
    return sum;
}

/// By how much they did in a ping-pong, and how long it took.
struct measured {
    long sleeps = 0;
    long elapsed_ms = 0;
};

measured ping_pong(const setup &how, int round_trips) {
    void *context = make_context(1);
    void *near = open(context, ZMQ_PAIR, how);
    void *far = open(context, ZMQ_PAIR, how);
    connect_to(near, bind_to(far, scratch_endpoint(how.transport)));
    constexpr int warm_up = 200;
    std::thread other([&] {
        char octet;
        for (int i = 0; i < warm_up + round_trips; ++i) {
            EXPECT_EQ(zmq_recv(far, &octet, 1, 0), 1);
            EXPECT_EQ(zmq_send(far, &octet, 1, 0), 1);
        }
    });
    measured result;
    clock_type::time_point begin;
    for (int i = 0; i < warm_up + round_trips; ++i) {
        if (i == warm_up) {
            result.sleeps = -sleeps_of_io_threads();
            begin = clock_type::now();
        }
        char octet = static_cast<char>(i);
        EXPECT_EQ(zmq_send(near, &octet, 1, 0), 1);
        EXPECT_EQ(zmq_recv(near, &octet, 1, 0), 1);
    }
    result.sleeps += sleeps_of_io_threads();
    result.elapsed_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_type::now() - begin).count();
    other.join();
    EXPECT_EQ(zmq_close(near), 0);
    EXPECT_EQ(zmq_close(far), 0);
    EXPECT_EQ(zmq_ctx_term(context), 0);
    return result;
}

TEST(lending, lets_the_io_threads_sleep_through_a_ping_pong) {
    constexpr int round_trips = 5000;
    for (const char *transport : {"tcp", "ipc", encrypted}) {
        const measured lent = ping_pong({.transport = transport}, round_trips);
        // Each of the two leases is looked at every 2 to 8 ms.
        EXPECT_LT(lent.sleeps, round_trips / 5 + lent.elapsed_ms) << transport;
    }
}

TEST(lending, leaves_connections_with_heartbeats_to_the_io_threads) {
    constexpr int round_trips = 1000;
    const measured kept = ping_pong({.heartbeat_ms = 10000}, round_trips);
    EXPECT_GT(kept.sleeps, round_trips / 5 + kept.elapsed_ms) << "or the test above sees nothing";
}

}  // namespace
