// Tests what a peer can make a process keep: for each kind of unkindness a number of connections,
// what each of them has sent, and what is held for it.
//
// Counts what the heap has given out and what the system holds for the process: the larger of the
// two, less what was there before. When all peers have gone, and the socket with them, everything
// is given back.
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <vector>

#include "eventually.hpp"
#include "raw_peer.hpp"

using namespace zlink::test;

namespace {

/// The library has this for a connection, with the heap and the system around it.
constexpr long connection_cost = 24 * 1024;
/// A claim may cost this.
constexpr long claim_cost = 32 * 1024;
/// One that has sent much keeps this to go on with, and its part of what the process keeps idle for
/// all.
constexpr long busy_cost = 256 * 1024;

std::string times(int count, const std::string &what) {
    std::string all;
    all.reserve(what.size() * static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        all += what;
    return all;
}

std::string each_of(int count, const std::function<std::string(int)> &what) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += what(i);
    return all;
}

std::string subscription(std::string_view topic) { return message(std::string(1, '\1').append(topic)); }
std::string cancellation(std::string_view topic) { return message(std::string(1, '\0').append(topic)); }

// ---- what peers do ----

struct kind {
    std::string name;
    int type;                    // of the socket
    std::string_view peer_type;  // empty: `octets` begin with the greeting
    std::string octets;
    int peers = 200;
    /// Octets beyond those of a connection, and how many for each that was sent.
    long most_beside = 0;
    long most_each = 0;
    std::vector<std::pair<int, int>> options = {};
    /// The application takes in what subscribers have sent, and reads nothing.
    bool is_published = false;
    /// Not all of it is read.
    bool is_held_back = false;
};

void PrintTo(const kind &what, std::ostream *out) { *out << what.name; }

std::vector<kind> kinds_of_handshakes() {
    const std::string metadata =
        command("READY", property("Socket-Type", "PUSH") + property("X-Much", std::string(65'000, 'm')));
    std::string short_ones = property("Socket-Type", "PUSH");
    for (int i = 0; short_ones.size() < 65'000; ++i)
        short_ones += property("X" + std::to_string(i), "v");
    return {
        {"nothing at all", ZMQ_PULL, "", ""},
        {"half a greeting", ZMQ_PULL, "", greeting().substr(0, 30)},
        {"a greeting", ZMQ_PULL, "", greeting()},
        {"half a READY", ZMQ_PULL, "", greeting() + ready("PUSH").substr(0, 15)},
        {"READY but its last octet", ZMQ_PULL, "", greeting() + metadata.substr(0, metadata.size() - 1), 200,
         0, 2},
        {"READY with much metadata", ZMQ_PULL, "", greeting() + metadata, 200, 0, 2},
        {"READY with very many properties", ZMQ_PULL, "", greeting() + command("READY", short_ones), 200, 0,
         2},
        {"an idle connection", ZMQ_PULL, "PUSH", ""},
    };
}

std::vector<kind> kinds_of_frames() {
    const std::string ten = "0123456789";
    const std::uint64_t gib = 1u << 30;
    return {
        {"10 octets of 256 KiB", ZMQ_PULL, "PUSH", long_header(0, 256u << 10) + ten, 200, claim_cost},
        {"10 octets of 1 MiB", ZMQ_PULL, "PUSH", long_header(0, 1u << 20) + ten, 200, claim_cost},
        {"10 octets of 1 GiB", ZMQ_PULL, "PUSH", long_header(0, gib) + ten, 200, claim_cost},
        {"8191 octets of a frame", ZMQ_PULL, "PUSH", long_header(0, 8200) + std::string(8182, 'x'), 200, 0,
         2},
        {"8191 octets of a command", ZMQ_PULL, "PUSH", long_header(4, 60'000) + std::string(8182, 'x'), 200,
         0, 2},
        {"a subscription but its last octet", ZMQ_XPUB, "SUB",
         long_header(0, 30'001) + std::string(30'000, '\1'), 200, 0, 2},
        {"messages that wait at the mark",
         ZMQ_PULL,
         "PUSH",
         times(1000, message(std::string(100, 'm'))),
         100,
         0,
         2,
         {{ZMQ_RCVHWM, 100}},
         false,
         true},
        {"messages of an octet without a mark",
         ZMQ_PULL,
         "PUSH",
         times(30'000, message("m")),
         20,
         0,
         2,
         {{ZMQ_RCVHWM, 0}}},
        {"parts without end", ZMQ_PULL, "PUSH", times(100'000, message("", true)), 20, 0, 2},
        {"messages that a PUSH cannot take", ZMQ_PUSH, "PULL", times(1000, message(std::string(1000, 'm'))),
         20},
    };
}

std::vector<kind> kinds_of_upstream() {
    const std::string toggles = times(30'000, subscription("topic") + cancellation("topic"));
    return {
        {"messages that a PUB cannot take", ZMQ_PUB, "SUB", times(1000, message(std::string(1000, 'm'))), 20},
        {"a message of 100,000 parts",
         ZMQ_XPUB,
         "SUB",
         times(99'999, message("", true)) + message(""),
         20,
         0,
         3,
         {{ZMQ_RCVHWM, 0}},
         true},
        {"messages of an octet",
         ZMQ_XPUB,
         "SUB",
         times(30'000, message("m")),
         20,
         0,
         4,
         {{ZMQ_RCVHWM, 0}},
         true},
        {"one topic again and again",
         ZMQ_XPUB,
         "SUB",
         times(60'000, subscription("topic")),
         20,
         busy_cost,
         0,
         {},
         true},
        {"one topic again and again (verbose)",
         ZMQ_XPUB,
         "SUB",
         times(60'000, subscription("topic")),
         20,
         busy_cost,
         0,
         {{ZMQ_XPUB_VERBOSE, 1}},
         true},
        {"one topic again and again (manual)",
         ZMQ_XPUB,
         "SUB",
         times(60'000, subscription("topic")),
         20,
         busy_cost,
         0,
         {{ZMQ_XPUB_MANUAL, 1}},
         true},
        {"a topic and its end", ZMQ_XPUB, "SUB", toggles, 20, busy_cost, 0, {}, true},
        {"a topic and its end (verbose)",
         ZMQ_XPUB,
         "SUB",
         toggles,
         20,
         busy_cost,
         0,
         {{ZMQ_XPUB_VERBOSE, 1}},
         true},
        {"a topic and its end (verboser)",
         ZMQ_XPUB,
         "SUB",
         toggles,
         20,
         busy_cost,
         0,
         {{ZMQ_XPUB_VERBOSER, 1}},
         true},
        {"a topic and its end (manual)",
         ZMQ_XPUB,
         "SUB",
         toggles,
         20,
         busy_cost,
         0,
         {{ZMQ_XPUB_MANUAL, 1}},
         true},
        {"ends of what never began (verboser)",
         ZMQ_XPUB,
         "SUB",
         each_of(30'000, [](int i) { return cancellation(std::to_string(i)); }),
         20,
         busy_cost,
         0,
         {{ZMQ_XPUB_VERBOSER, 1}},
         true},
        {"one topic in a message (verbose)",
         ZMQ_XPUB,
         "SUB",
         times(60'000, frame(1, "\1topic")) + message("\1topic"),
         20,
         busy_cost,
         1,
         {{ZMQ_XPUB_VERBOSE, 1}},
         true},
        {"topics",
         ZMQ_PUB,
         "SUB",
         each_of(5'000, [](int i) { return subscription("topic " + std::to_string(i)); }),
         20,
         busy_cost,
         8,
         {},
         true},
        {"topics that nobody reads of",
         ZMQ_XPUB,
         "SUB",
         each_of(5'000, [](int i) { return subscription("topic " + std::to_string(i)); }),
         20,
         busy_cost,
         8,
         {},
         true},
    };
}

std::vector<kind> all_kinds() {
    std::vector<kind> all = kinds_of_handshakes();
    for (const auto &more : {kinds_of_frames(), kinds_of_upstream()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

// ---- what is counted ----

struct held {
    long heap = 0;
    long resident = 0;

    static held now() {
        held result;
        ::malloc_trim(0);
        const struct mallinfo2 heap = ::mallinfo2();
        result.heap = static_cast<long>(heap.uordblks + heap.hblkhd);
        std::FILE *file = std::fopen("/proc/self/statm", "r");
        long ignored = 0;
        if (!file || std::fscanf(file, "%ld %ld", &ignored, &result.resident) != 2)
            ADD_FAILURE() << "the system does not say what it holds";
        if (file)
            std::fclose(file);
        result.resident *= ::sysconf(_SC_PAGESIZE);
        return result;
    }
    long beyond(const held &before) const { return std::max(heap - before.heap, resident - before.resident); }
};

class host {
public:
    explicit host(const kind &what) : what_(what), socket_(context_, what.type) {
        for (const auto &[option, value] : what.options)
            EXPECT_EQ(socket_.set(option, value), 0);
        endpoint_ = socket_.bind("ipc://*");
    }

    /// The application does something, and takes in what has come.
    void look() {
        int events = 0;
        std::size_t size = sizeof events;
        zmq_getsockopt(socket_, ZMQ_EVENTS, &events, &size);
    }
    /// Has a peer send without waiting for the host, which may read only when it is called.
    void send(raw_peer &peer, std::string_view octets) {
        while (!octets.empty()) {
            const ssize_t n =
                ::send(peer.descriptor(), octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno != EAGAIN)
                return;
            octets.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
            pollfd writable{peer.descriptor(), POLLOUT, 0};
            if (n < 0 && what_.is_published)
                look();
            if (n < 0)
                ::poll(&writable, 1, 1);
        }
    }
    void add_peer() {
        peers_.emplace_back(endpoint_);
        ASSERT_TRUE(peers_.back().is_open());
        if (!what_.peer_type.empty()) {
            ASSERT_TRUE(peers_.back().shake_hands(what_.peer_type));
        }
        send(peers_.back(), what_.octets);
    }
    void reserve() { peers_.reserve(static_cast<std::size_t>(what_.peers)); }
    void drop_peers() { peers_.clear(); }

    /// Everything that was sent has been read, and acted on.
    void settle() {
        for (raw_peer &peer : peers_) {
            int left = 0;
            EXPECT_TRUE(what_.is_held_back || zlink_test::eventually([&] {
                            if (what_.is_published)
                                look();
                            return ::ioctl(peer.descriptor(), SIOCOUTQ, &left) == 0 && left == 0;
                        }))
                << left << " octets are not read";
        }
        // Behind it the I/O thread greets another one, and the application another topic.
        const bool publishes = what_.type == ZMQ_PUB || what_.type == ZMQ_XPUB;
        const char *const fitting = publishes ? "SUB" : what_.type == ZMQ_PULL ? "PUSH" : "PULL";
        raw_peer last(endpoint_);
        ASSERT_TRUE(last.shake_hands(fitting));
        const bool is_manual = !what_.options.empty() && what_.options[0].first == ZMQ_XPUB_MANUAL;
        for (std::size_t i = 0; what_.is_published && i < peers_.size(); ++i) {
            if (is_manual)  // nothing is sent for which the application does not ask
                look();
            else
                ASSERT_NO_FATAL_FAILURE(expect_topic(peers_[i]));
        }
    }

private:
    /// A peer gets what it subscribed to last, whatever it did before, and reads the application or
    /// not.
    void expect_topic(raw_peer &peer) {
        send(peer, subscription("last"));
        ASSERT_TRUE(zlink_test::eventually([&] {
            zmq_send(socket_, "last", 4, ZMQ_DONTWAIT);
            pollfd readable{peer.descriptor(), POLLIN, 0};
            return ::poll(&readable, 1, 0) == 1;
        }));
        for (char buffer[4096]; ::recv(peer.descriptor(), buffer, sizeof buffer, MSG_DONTWAIT) > 0;) {
        }
    }

    const kind &what_;
    zmq_context context_;
    zmq_socket_of socket_;
    std::string endpoint_;
    std::vector<raw_peer> peers_;
};

class peer_that_sends : public testing::TestWithParam<kind> {};

TEST_P(peer_that_sends, makes_the_process_keep_a_bounded_amount) {
    const kind &what = GetParam();
    const auto sent = static_cast<long>(what.octets.size());
    const held at_first = held::now();
    {
        host host(what);
        host.reserve();
        const held before = held::now();
        for (int i = 0; i < what.peers; ++i)
            ASSERT_NO_FATAL_FAILURE(host.add_peer());
        ASSERT_NO_FATAL_FAILURE(host.settle());
        const long kept = held::now().beyond(before) / what.peers;
        const long bound = connection_cost + what.most_beside + what.most_each * sent;
        std::printf("%-40s %4d peers, each sent %8ld octets, and is kept %8ld of at most %8ld%s\n",
                    what.name.c_str(), what.peers, sent, kept, bound, kept <= bound ? "" : "   TOO MANY");
        EXPECT_LE(kept, bound);
        host.drop_peers();
    }
    const long left = held::now().heap - at_first.heap;
    EXPECT_LE(left, 256 * 1024) << "is not given back";
}

INSTANTIATE_TEST_SUITE_P(guard, peer_that_sends, testing::ValuesIn(all_kinds()), [](const auto &info) {
    std::string name;
    for (const char octet : info.param.name)
        if (std::isalnum(static_cast<unsigned char>(octet)))
            name += octet;
        else if (!name.empty() && name.back() != '_')
            name += '_';
    return name;
});

}  // namespace
