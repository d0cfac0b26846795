// The halves of a local socket whose octets go through a shared ring, and peers that take no part
// in it, over socket pairs.
#include "transport/ring_io.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <poll.h>
#include <random>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "core/tuning.hpp"
#include "support/descriptors.hpp"
#include "support/eventually.hpp"
#include "transport/socket_calls.hpp"

namespace zlink {
namespace {

constexpr std::size_t ring_size = 1024 * 1024;
constexpr std::size_t octets_worth_a_ring = 1024 * 1024;  // octets in large writes

struct local_pair {
    local_pair() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        writer = owned_descriptor(ends[0]);
        reader = owned_descriptor(ends[1]);
    }
    owned_descriptor writer, reader;
};

/// Octet `at` of the stream that every test sends.
std::uint8_t octet_of(std::uint64_t at) { return static_cast<std::uint8_t>(at * 31 + at / 251); }

/// Much is sent and compared: it is copied out of one period of the stream.
std::vector<std::uint8_t> octets_from(std::uint64_t at, std::size_t count) {
    static const auto period = [] {
        std::array<std::uint8_t, std::size_t{251} * 256> octets;
        for (std::size_t i = 0; i < octets.size(); ++i)
            octets[i] = octet_of(i);
        return octets;
    }();
    std::vector<std::uint8_t> result(count);
    for (std::size_t have = 0; have < count;) {
        const std::size_t from = (at + have) % period.size();
        const std::size_t piece = std::min(count - have, period.size() - from);
        std::memcpy(result.data() + have, period.data() + from, piece);
        have += piece;
    }
    return result;
}

/// Ranges of odd sizes over `memory`.
std::vector<iovec> cut(std::vector<std::uint8_t> &memory, std::mt19937 &dice) {
    std::vector<iovec> ranges;
    for (std::size_t at = 0; at < memory.size();) {
        const std::size_t size =
            std::min<std::size_t>(memory.size() - at, 1 + dice() % (memory.size() / 3 + 1));
        ranges.push_back({memory.data() + at, size});
        at += size;
    }
    return ranges;
}

struct conversation : local_pair {
    explicit conversation(std::size_t ring = ring_size, bool may_accept = true)
        : output(ring), input(may_accept) {}
    io_result write(std::size_t count) {
        std::vector<std::uint8_t> memory = octets_from(sent, count);
        const io_result result = output.write(writer.get(), cut(memory, dice));
        sent += result.octets;
        return result;
    }
    /// Reads once; what comes must be what was sent.
    io_result read(std::size_t count) {
        std::vector<std::uint8_t> memory(count);
        const io_result result = input.read(reader.get(), cut(memory, dice));
        memory.resize(result.octets);
        EXPECT_EQ(memory, octets_from(received, result.octets)) << "from octet " << received;
        received += result.octets;
        return result;
    }
    void read_all() {
        while (read(100'000).octets > 0) {
        }
        EXPECT_EQ(received, sent);
    }
    /// Sends until the ring is in use.
    void get_into_a_stream() {
        while (sent < octets_worth_a_ring + 200'000) {
            ASSERT_EQ(write(100'000).octets, 100'000u);
            read_all();
        }
    }
    int octets_in_socket() {
        int count = 0;
        EXPECT_EQ(::ioctl(reader.get(), FIONREAD, &count), 0);
        return count;
    }

    std::mt19937 dice{7};
    ring_output output;
    ring_input input;
    std::uint64_t sent = 0, received = 0;
};

bool is_ready(int descriptor, short events) {
    pollfd item{descriptor, events, 0};
    return ::poll(&item, 1, 0) == 1 && (item.revents & events);
}

/// Makes as many as this process may have, and why there is no further one.
std::vector<std::unique_ptr<shared_ring>> make_rings(error &last) {
    std::vector<std::unique_ptr<shared_ring>> rings;
    last = error::none;
    while (!failed(last) && rings.size() < 1'000) {
        owned_descriptor file;
        rings.push_back(std::make_unique<shared_ring>());
        last = rings.back()->make(least_octets_shared, file);
    }
    return rings;
}

TEST(ring_io, carries_a_stream_whole_and_in_order) {
    conversation c;
    for (int i = 0; i < 3'000; ++i) {
        (void)c.write(1 + c.dice() % (c.dice() % 8 ? 3'000 : 300'000));
        if (c.dice() % 2)
            (void)c.read(1 + c.dice() % 70'000);
    }
    EXPECT_GT(c.sent, 20 * octets_worth_a_ring);
    c.read_all();
}

TEST(ring_io, leaves_the_socket_to_bells) {
    conversation c;
    c.get_into_a_stream();
    ASSERT_EQ(c.write(100'000).octets, 100'000u);
    EXPECT_EQ(c.octets_in_socket(), 1);
    // Whoever does not wait needs no second one.
    ASSERT_EQ(c.write(100'000).octets, 100'000u);
    EXPECT_EQ(c.octets_in_socket(), 1);
    c.read_all();
    EXPECT_EQ(c.octets_in_socket(), 0);
}

// A reader that wakes takes out of the socket all it finds, and what is added meanwhile.
TEST(ring_io, bears_a_reader_that_takes_bells_as_fast_as_they_come) {
    conversation c;
    c.get_into_a_stream();
    while (c.write(ring_size).octets > 0) {
    }
    std::atomic<long> taken{0};
    std::jthread bell_taker([&](const std::stop_token &stop) {
        std::vector<char> bells(100'000);
        while (!stop.stop_requested()) {
            if (const ssize_t n = ::recv(c.reader.get(), bells.data(), bells.size(), 0); n > 0)
                taken += n;
        }
    });
    while (taken < 300'000) {
        const io_result result = c.write(100);
        ASSERT_EQ(result.octets, 0u);
        ASSERT_EQ(result.status, error::again) << "after " << taken << " bells";
    }
    bell_taker.request_stop();
    bell_taker.join();
    c.read_all();
}

TEST(ring_io, ends_a_read_that_gets_little_at_a_time_and_knows_that_there_is_more) {
    conversation c;
    c.get_into_a_stream();
    ASSERT_EQ(c.write(200).octets, 200u);
    std::vector<std::uint8_t> memory(200);
    std::vector<iovec> octets;
    for (std::uint8_t &each : memory)
        octets.push_back({&each, 1});
    EXPECT_EQ(c.input.read(c.reader.get(), octets).octets, 64u);
    EXPECT_TRUE(c.input.may_hold_octets());
    c.received += 64;
    c.read_all();
    EXPECT_FALSE(c.input.may_hold_octets());
}

TEST(ring_io, tries_again_when_the_process_had_too_many_rings) {
    conversation c;
    {
        error last = error::none;
        const auto others = make_rings(last);
        c.get_into_a_stream();
        ASSERT_EQ(c.write(100'000).octets, 100'000u);
        EXPECT_EQ(c.octets_in_socket(), 100'000) << "no ring is left";
        c.read_all();
    }
    while (c.sent < 3 * octets_worth_a_ring) {
        ASSERT_EQ(c.write(100'000).octets, 100'000u);
        c.read_all();
    }
    ASSERT_EQ(c.write(100'000).octets, 100'000u);
    EXPECT_EQ(c.octets_in_socket(), 1);
}

TEST(ring_io, shares_memory_that_is_told_of) {
    const std::size_t before = shared_ring::mapped_octets();
    {
        conversation c;
        c.get_into_a_stream();
        while (c.sent < 3 * octets_worth_a_ring) {
            ASSERT_EQ(c.write(100'000).octets, 100'000u);
            c.read_all();
        }
        EXPECT_GT(shared_ring::mapped_octets(), before + 100'000) << "on each side";
    }
    EXPECT_EQ(shared_ring::mapped_octets(), before);
}

TEST(ring_io, needs_no_ring_where_little_is_sent) {
    conversation c;
    for (int i = 0; i < 5'000; ++i) {
        ASSERT_EQ(c.write(1'000).octets, 1'000u);
        ASSERT_EQ(c.octets_in_socket(), 1'000);
        c.read_all();
    }
}

TEST(ring_io, makes_no_ring_when_told_so) {
    conversation c(0);
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(c.write(100'000).octets, 100'000u);
        ASSERT_EQ(c.octets_in_socket(), 100'000);
        c.read_all();
    }
}

TEST(ring_io, shows_a_full_ring_as_a_full_socket) {
    conversation c;
    c.get_into_a_stream();
    while (c.write(300'000).octets > 0) {
    }
    EXPECT_EQ(c.sent - c.received, ring_size);
    EXPECT_FALSE(is_ready(c.writer.get(), POLLOUT));
    EXPECT_TRUE(is_ready(c.reader.get(), POLLIN));
    // A little room is not worth a wake-up.
    ASSERT_EQ(c.read(ring_size / 4).octets, ring_size / 4);
    EXPECT_FALSE(is_ready(c.writer.get(), POLLOUT));
    ASSERT_EQ(c.read(ring_size / 4).octets, ring_size / 4);
    EXPECT_TRUE(is_ready(c.writer.get(), POLLOUT));
    EXPECT_EQ(c.write(ring_size).octets, ring_size / 2);
    c.read_all();
    EXPECT_TRUE(is_ready(c.writer.get(), POLLOUT));
}

TEST(ring_io, holds_what_the_socket_does_not_show) {
    conversation c;
    c.get_into_a_stream();
    EXPECT_FALSE(c.input.may_hold_octets());
    ASSERT_EQ(c.write(20'000).octets, 20'000u);
    ASSERT_EQ(c.read(5'000).octets, 5'000u);
    EXPECT_FALSE(is_ready(c.reader.get(), POLLIN));
    EXPECT_TRUE(c.input.may_hold_octets());
    // A short read means that there is no more, and that a bell tells of what comes.
    ASSERT_EQ(c.read(20'000).octets, 15'000u);
    EXPECT_FALSE(c.input.may_hold_octets());
    EXPECT_FALSE(is_ready(c.reader.get(), POLLIN));
    ASSERT_EQ(c.write(1).octets, 1u);
    EXPECT_TRUE(is_ready(c.reader.get(), POLLIN));
    ASSERT_EQ(c.read(1).octets, 1u);
    EXPECT_EQ(c.read(1).status, error::again);
}

TEST(ring_io, ends_behind_the_last_octet) {
    conversation c;
    c.get_into_a_stream();
    while (c.write(300'000).octets > 0) {
    }
    c.writer = owned_descriptor();
    c.read_all();
    EXPECT_TRUE(is_ready(c.reader.get(), POLLIN));
    EXPECT_EQ(c.read(1).status, error::connection_reset);
}

TEST(ring_io, tells_a_writer_whose_peer_is_gone) {
    conversation c;
    c.get_into_a_stream();
    c.reader = owned_descriptor();
    EXPECT_EQ(c.write(1).status, from_errno(EPIPE));
}

TEST(ring_io, goes_on_plainly_with_peers_that_ask_for_no_descriptor) {
    conversation c;
    std::vector<std::uint8_t> memory(200'000);
    while (c.sent < 20 * octets_worth_a_ring) {
        ASSERT_EQ(c.write(100'000).octets, 100'000u);
        while (c.received < c.sent) {
            const ssize_t count = ::recv(c.reader.get(), memory.data(), memory.size(), 0);
            ASSERT_GT(count, 0);
            ASSERT_TRUE(std::equal(memory.begin(), memory.begin() + count,
                                   octets_from(c.received, static_cast<std::size_t>(count)).begin()));
            c.received += static_cast<std::uint64_t>(count);
        }
    }
}

TEST(ring_io, tells_a_writer_whose_peer_went_between_reads) {
    conversation c;
    c.get_into_a_stream();
    ASSERT_EQ(c.write(20'000).octets, 20'000u);
    ASSERT_EQ(c.read(5'000).octets, 5'000u);  // and it waits for nothing
    ASSERT_EQ(c.write(20'000).octets, 20'000u);
    c.reader = owned_descriptor();
    EXPECT_EQ(c.write(1).status, from_errno(EPIPE));
}

TEST(ring_io, takes_no_ring_that_it_may_not_accept) {
    conversation c(ring_size, false);
    while (c.sent < 4 * octets_worth_a_ring) {
        ASSERT_EQ(c.write(100'000).octets, 100'000u);
        ASSERT_EQ(c.octets_in_socket(), 100'000);
        c.read_all();
    }
}

/// Writes and reads in threads of their own, which sleep where a stream's owner would.
void pass_through(std::uint64_t octets, std::size_t ring, std::uint32_t seed) {
    conversation c(ring);
    std::thread writer([&] {
        std::mt19937 dice(seed);
        while (c.sent < octets) {
            const std::size_t count = 1 + dice() % (dice() % 4 ? 500 : 3 * ring);
            std::vector<std::uint8_t> memory = octets_from(c.sent, count);
            const io_result result = c.output.write(c.writer.get(), cut(memory, dice));
            c.sent += result.octets;
            if (result.octets < count) {
                pollfd item{c.writer.get(), POLLOUT, 0};
                ASSERT_EQ(::poll(&item, 1, 20'000), 1) << "the writer is not told of room, at " << c.sent;
            }
        }
        ::shutdown(c.writer.get(), SHUT_WR);
    });
    std::mt19937 dice(seed + 1);
    for (;;) {
        const std::size_t count = 1 + dice() % (dice() % 4 ? 2'000 : 2 * ring);
        const io_result result = c.read(count);
        if (result.status == error::connection_reset)
            break;
        if (result.octets < count && !c.input.may_hold_octets()) {
            pollfd item{c.reader.get(), POLLIN, 0};
            ASSERT_EQ(::poll(&item, 1, 20'000), 1) << "the reader is not told of octets, at " << c.received;
        }
    }
    writer.join();
    EXPECT_EQ(c.received, c.sent);
}

TEST(ring_io, wakes_whoever_sleeps) {
    for (std::uint32_t seed = 0; seed < 4; ++seed)
        pass_through(20 * octets_worth_a_ring, least_octets_shared, 10 * seed);
    pass_through(40 * octets_worth_a_ring, ring_size, 77);
}

// ---- peers that mean harm ----

int open_descriptors() {
    int count = 0;
    for (int i = 0; i < 1024; ++i)
        count += ::fcntl(i, F_GETFD) != -1;
    return count;
}

// Sends descriptors and octets of its own to an input.
struct hostile_peer : local_pair {
    io_result read(std::size_t count = 100'000) {
        got.resize(count);
        const iovec range{got.data(), count};
        const io_result result = input.read(reader.get(), {&range, 1});
        got.resize(result.octets);
        return result;
    }
    void send(std::string_view octets, int descriptor) {
        const iovec range{const_cast<char *>(octets.data()), octets.size()};
        ASSERT_EQ(socket_calls::write_with_descriptor(writer.get(), {&range, 1}, descriptor).octets,
                  octets.size());
    }
    /// Has its ring accepted, and begins with it.
    void begin() {
        owned_descriptor file;
        ASSERT_EQ(ring.make(ring_size, file), error::none);
        send("x", file.get());
        ASSERT_EQ(read().octets, 1u);
        ASSERT_TRUE(ring.is_accepted());
        ring.begin_at(1);
        auto *memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        ASSERT_NE(memory, MAP_FAILED);
        header = static_cast<std::uint64_t *>(memory);
    }
    ~hostile_peer() {
        if (header)
            ::munmap(header, 4096);
    }
    std::uint64_t *header = nullptr;
    shared_ring ring;
    ring_input input{true};
    std::vector<std::uint8_t> got;
};

// The positions stand here, as a peer that means harm would know.
constexpr std::size_t written_at = 3 * 64 / 8, taken_at = 4 * 64 / 8;

TEST(ring_input, refuses_more_than_the_ring_can_hold) {
    for (const std::uint64_t written : {std::uint64_t{ring_size + 1}, UINT64_MAX, UINT64_MAX / 2}) {
        hostile_peer peer;
        peer.begin();
        peer.header[written_at] = written;
        EXPECT_EQ(peer.read().status, error::protocol) << written;
    }
}

TEST(ring_input, refuses_a_position_that_goes_back) {
    hostile_peer peer;
    peer.begin();
    peer.header[written_at] = 100;
    ASSERT_EQ(peer.read().octets, 100u);
    peer.header[written_at] = 99;
    EXPECT_EQ(peer.read().status, error::protocol);
}

TEST(ring_input, refuses_a_beginning_that_has_passed) {
    hostile_peer peer;
    peer.begin();
    peer.ring.begin_at(0);
    EXPECT_EQ(peer.read().status, error::protocol);
}

TEST(ring_input, takes_octets_that_nobody_wrote) {
    hostile_peer peer;
    peer.begin();
    peer.header[written_at] = ring_size;
    EXPECT_EQ(peer.read(3 * ring_size).octets, ring_size);
    EXPECT_EQ(peer.read().status, error::again);
}

TEST(ring_input, is_not_held_up_by_bells_without_octets) {
    hostile_peer peer;
    peer.begin();
    for (int i = 0; i < 3; ++i) {
        const std::vector<char> bells(2'000);
        ASSERT_EQ(::send(peer.writer.get(), bells.data(), bells.size(), 0), 2'000);
        for (int reads = 0; is_ready(peer.reader.get(), POLLIN); ++reads) {
            ASSERT_LT(reads, 10);
            EXPECT_EQ(peer.read().status, error::again);
        }
    }
    peer.header[written_at] = 10;
    EXPECT_EQ(peer.read().octets, 10u);
}

struct bad_file {
    const char *name;
    std::size_t size;
    int seals;
    bool has_magic;
    bool is_sparse = false;
};

TEST(ring_input, does_not_accept_what_is_no_ring) {
    constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    for (const bad_file &bad :
         {bad_file{"could be cut", ring_size + 4096, F_SEAL_GROW | F_SEAL_SEAL, true},
          bad_file{"seals may be added", ring_size + 4096, F_SEAL_SHRINK | F_SEAL_GROW, true},
          bad_file{"is empty", 0, all, false}, bad_file{"is a page", 4096, all, true},
          bad_file{"is no power of two", ring_size + 8192, all, true},
          bad_file{"is too large", 2 * most_octets_shared + 4096, all, true},
          bad_file{"says nothing", ring_size + 4096, all, false},
          bad_file{"has no memory yet", ring_size + 4096, all, true, true}}) {
        const owned_descriptor file(::memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(bad.size)), 0);
        if (bad.size > 0 && !bad.is_sparse) {
            ASSERT_EQ(::fallocate(file.get(), 0, 0, static_cast<off_t>(bad.size)), 0);
        }
        if (bad.has_magic) {
            hostile_peer model;
            owned_descriptor good;
            ASSERT_EQ(model.ring.make(ring_size, good), error::none);
            char magic[8];
            ASSERT_EQ(::pread(good.get(), magic, 8, 0), 8);
            ASSERT_EQ(::pwrite(file.get(), magic, 8, 0), 8);
        }
        ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, bad.seals), 0);
        shared_ring ring;
        EXPECT_TRUE(failed(ring.accept(file))) << bad.name;
        EXPECT_FALSE(ring) << bad.name;
    }
    const zlink_test::pipe_pair pipes;
    shared_ring ring;
    EXPECT_TRUE(failed(ring.accept(owned_descriptor(::dup(pipes.reader())))));
}

TEST(ring_input, goes_on_plainly_and_keeps_no_descriptor_of_what_is_no_ring) {
    const int before = open_descriptors();
    {
        hostile_peer peer;
        const zlink_test::pipe_pair pipes;
        for (int i = 0; i < 3; ++i) {
            peer.send("abc", pipes.reader());
            ASSERT_EQ(peer.read().octets, 3u);
            EXPECT_EQ(std::string(peer.got.begin(), peer.got.end()), "abc");
        }
        EXPECT_TRUE(zlink_test::eventually([&] { return open_descriptors() == before + 4; }));
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(ring_output, does_not_believe_what_the_other_side_says_it_took) {
    conversation c;
    owned_descriptor taken;
    // Takes the ring as a zlink does, and then claims to have taken more than was written.
    std::vector<std::uint8_t> memory(200'000);
    while (!taken) {
        ASSERT_EQ(c.write(100'000).octets, 100'000u);
        const iovec range{memory.data(), memory.size()};
        while (c.received < c.sent)
            c.received += socket_calls::read_with_descriptor(c.reader.get(), {&range, 1}, taken).octets;
    }
    shared_ring ring;
    ASSERT_EQ(ring.accept(taken), error::none);
    auto *header = static_cast<std::uint64_t *>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, taken.get(), 0));
    header[taken_at] = UINT64_MAX / 2;
    EXPECT_EQ(c.write(300'000).status, error::again);
    header[taken_at] = 0;
    EXPECT_GT(c.write(300'000).octets, 0u);
    ::munmap(header, 4096);
}

TEST(shared_ring, is_made_by_a_process_so_often_and_no_more) {
    error last = error::none;
    auto rings = make_rings(last);
    EXPECT_EQ(last, error::too_many_files);
    rings.clear();
    owned_descriptor file;
    EXPECT_EQ(shared_ring().make(least_octets_shared, file), error::none);
}

TEST(shared_ring, is_not_made_beyond_the_size_that_files_may_have) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{4096, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    owned_descriptor file;
    EXPECT_EQ(shared_ring().make(least_octets_shared, file), from_errno(EFBIG));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

}  // namespace
}  // namespace zlink
