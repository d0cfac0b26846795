// Holds what tests of transports share: a loop that the test drives, a listener with those it has
// accepted, dialers with what came of them, and streams whose callbacks are counted.
//
// Checks:   callbacks come from the loop only, never from inside a call of the owner; no descriptor
//           is left at the end.
#pragma once

#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "driven_loop.hpp"
#include "transport/transport.hpp"

namespace zlink::test {

inline std::set<int> open_descriptors() {
    std::set<int> found;
    DIR *folder = ::opendir("/proc/self/fd");
    while (const dirent *each = ::readdir(folder))
        if (each->d_name[0] != '.' && std::atoi(each->d_name) != ::dirfd(folder))
            found.insert(std::atoi(each->d_name));
    ::closedir(folder);
    return found;
}

/// While it lives the process gets no further descriptor.
class scarce_descriptors {
public:
    scarce_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &kept_);
        rlimit low = kept_;
        low.rlim_cur = 3;
        ::setrlimit(RLIMIT_NOFILE, &low);
    }
    ~scarce_descriptors() { ::setrlimit(RLIMIT_NOFILE, &kept_); }
    scarce_descriptors(const scarce_descriptors &) = delete;
    scarce_descriptors &operator=(const scarce_descriptors &) = delete;

private:
    rlimit kept_;
};

/// Counts what the stream says.
struct watcher final : stream_events {
    explicit watcher(const driven_loop &where) : drive(where) {}
    void on_stream_readable() noexcept override { note(readable, then_readable); }
    void on_stream_writable() noexcept override { note(writable, then_writable); }
    void note(int &count, const std::function<void()> &then) {
        EXPECT_TRUE(drive.is_running()) << "from inside a call of the owner";
        EXPECT_FALSE(std::exchange(is_inside, true)) << "from inside a call of the owner";
        ++count;
        if (then)
            then();  // may destroy this object's stream, not this object
        is_inside = false;
    }
    const driven_loop &drive;
    std::function<void()> then_readable, then_writable;
    bool is_inside = false;
    int readable = 0, writable = 0;
};

/// Holds what came of an accept or a dial.
struct outcome {
    std::unique_ptr<stream> bytes;
    error failure = error::none;
};

/// A stream with its watcher.
struct stream_end {
    explicit stream_end(driven_loop &where, std::unique_ptr<stream> what)
        : drive(where), heard(std::make_unique<watcher>(where)), bytes(std::move(what)) {
        if (bytes)
            bytes->set_events(heard.get());
    }
    stream *operator->() const { return bytes.get(); }

    io_result write(std::string_view octets) {
        const iovec range{const_cast<char *>(octets.data()), octets.size()};
        return bytes->try_write({&range, 1});
    }
    /// Returns what one read of at most so many octets brings.
    std::string read(std::size_t most) {
        std::string octets(most, '\0');
        const iovec range{octets.data(), octets.size()};
        last = bytes->try_read({&range, 1});
        octets.resize(last.octets);
        return octets;
    }
    void wait_until_readable() {
        const int before = heard->readable;
        bytes->wait_readable();
        drive.until([&] { return heard->readable > before; });
    }
    void wait_until_writable() {
        const int before = heard->writable;
        bytes->wait_writable();
        drive.until([&] { return heard->writable > before; });
    }
    /// Exactly so many octets; fewer when the stream ends.
    std::string receive(std::size_t count) {
        std::string octets;
        while (octets.size() < count && !::testing::Test::HasFailure()) {
            octets += read(count - octets.size());
            if (last.status == error::again)
                wait_until_readable();
            else if (failed(last.status))
                break;
        }
        return octets;
    }
    void send(std::string_view octets) {
        while (!octets.empty() && !::testing::Test::HasFailure()) {
            const io_result sent = write(octets);
            octets.remove_prefix(sent.octets);
            if (sent.status == error::again)
                wait_until_writable();
            else
                ASSERT_EQ(sent.status, error::none);
        }
    }
    /// Writes until there is no room.
    std::size_t fill() {
        const std::string block(256 * 1024, 'f');
        std::size_t sum = 0;
        io_result sent;
        while ((sent = write(block)).status == error::none)
            sum += sent.octets;
        EXPECT_EQ(sent.status, error::again);
        EXPECT_EQ(sent.octets, 0u);
        return sum;
    }
    void expect_end() {
        EXPECT_EQ(receive(1), "");
        EXPECT_EQ(last.status, error::connection_reset);
    }

    driven_loop &drive;
    std::unique_ptr<watcher> heard;
    std::unique_ptr<stream> bytes;
    io_result last;
};

class transport_bench {
public:
    explicit transport_bench(const char *scheme) : kind(*find_transport(scheme)) {
        char name[] = "/tmp/transport_testXXXXXX";
        EXPECT_TRUE(::mkdtemp(name));
        knobs.temporary_directory = name;
    }
    ~transport_bench() {
        listening.reset();
        dialing.reset();
        accepted.clear();
        dialed.clear();
        drive.reset();
        EXPECT_EQ(::rmdir(knobs.temporary_directory.c_str()), 0) << "a file is left";
        EXPECT_EQ(open_descriptors(), before);
    }

    std::string address_of(const std::string &endpoint) const {
        return endpoint.substr(std::string(kind.scheme()).size() + 3);
    }
    error bind(const std::string &address) {
        return kind.make_listener(address, options, knobs, *drive, listening);
    }
    void start() {
        listening->start([this](const stream_maker &make, error failure) {
            EXPECT_TRUE(drive->is_running()) << "from inside a call of the owner";
            EXPECT_EQ(bool(make), failure == error::none);
            std::unique_ptr<stream> bytes;
            if (make)
                failure = make(*drive, bytes);
            accepted.push_back({std::move(bytes), failure});
        });
    }
    /// Binds, starts, and remembers where.
    void listen(const std::string &address) {
        ASSERT_EQ(bind(address), error::none);
        there = address_of(listening->endpoint());
        start();
    }
    /// Begins to dial; the outcome comes into `dialed`.
    void begin_to_dial(const std::string &address) {
        ASSERT_EQ(kind.make_dialer(address, options, knobs.ipc, *drive, dialing), error::none);
        dialing->report_pending([this] { ++pending_reports; });
        dial_on();
    }
    void dial_on() {
        dialing->dial([this](std::unique_ptr<stream> bytes, error failure) {
            EXPECT_TRUE(drive->is_running()) << "from inside dial()";
            EXPECT_EQ(bool(bytes), failure == error::none);
            dialed.push_back({std::move(bytes), failure});
        });
    }
    outcome next(std::vector<outcome> &of) {
        if (!drive->until([&] { return !of.empty(); }))
            return {nullptr, error::timed_out};
        outcome first = std::move(of.front());
        of.erase(of.begin());
        return first;
    }
    outcome dial(const std::string &address) {
        begin_to_dial(address);
        return next(dialed);
    }
    /// Both ends of a connection to the listener.
    std::pair<stream_end, stream_end> connect() {
        outcome near = dial(there);
        EXPECT_EQ(near.failure, error::none);
        outcome far = next(accepted);
        EXPECT_EQ(far.failure, error::none);
        std::pair ends{stream_end(*drive, std::move(near.bytes)), stream_end(*drive, std::move(far.bytes))};
        if (has_handshake && ends.first.bytes && ends.second.bytes) {
            pass_one(ends.first, ends.second);
            pass_one(ends.second, ends.first);
        }
        return ends;
    }
    /// An octet goes from one end to the other while both do what has to come before it.
    void pass_one(stream_end &from, stream_end &to) {
        for (bool is_sent = false; !::testing::Test::HasFailure(); drive->round()) {
            is_sent = is_sent || from.write("x").octets == 1;
            if (to.read(1) == "x")
                return;
            ASSERT_EQ(to.last.status, error::again);
        }
    }

    const transport &kind;
    bool has_handshake = false;  // of its own
    const std::set<int> before = open_descriptors();
    settings options;
    tuning knobs;
    std::unique_ptr<driven_loop> drive = std::make_unique<driven_loop>();
    std::unique_ptr<listener> listening;
    std::unique_ptr<dialer> dialing;
    std::string there;
    std::vector<outcome> accepted, dialed;
    int pending_reports = 0;
};

}  // namespace zlink::test
