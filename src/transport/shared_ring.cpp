// The file and the memory of a ring, and the octets in it; see shared_ring.hpp.
//
// Order:    limits, and the file; the header that both sides see; making and accepting; where the
//           ring begins in the stream; the writer's side; the reader's side.
#include "transport/shared_ring.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/tuning.hpp"

namespace zlink {

namespace {
constexpr int most_rings = 128;  // of a process, made and accepted
constexpr std::size_t header_size = 4096;
constexpr std::size_t line_size = 64;
/// The size is fixed for good: what the other side cut off would be a signal here, at the next
/// access.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::uint64_t magic = 0x31676e69526b6e6c;  // "lnkRing1"
struct rings_of_process {
    std::atomic<int> count{0};
    std::atomic<std::size_t> octets{0};
};
constinit rings_of_process rings;

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

bool is_possible(std::size_t capacity) noexcept {
    return std::has_single_bit(capacity) && capacity >= least_octets_shared && capacity <= most_octets_shared;
}

/// A file beyond the limit of the process would be answered by a signal that ends it.
bool may_make_file(std::size_t size) noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

int make_file() noexcept {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int file = ::memfd_create("zlink-ring", flags | MFD_NOEXEC_SEAL);
    // Before Linux 6.3.
    return file < 0 && errno == EINVAL ? ::memfd_create("zlink-ring", flags) : file;
}
}  // namespace

// In the first page. Each line is written by one side, but for the two wishes, which the other side
// takes down.
struct shared_ring::header {
    std::uint64_t kind;
    alignas(line_size) std::atomic<std::uint64_t> begins_at;
    alignas(line_size) std::atomic<std::uint32_t> is_accepted;
    alignas(line_size) std::atomic<std::uint64_t> written;
    alignas(line_size) std::atomic<std::uint64_t> taken;
    alignas(line_size) std::atomic<std::uint32_t> wants_bell;
    alignas(line_size) std::atomic<std::uint32_t> wants_room;
};

shared_ring::~shared_ring() { close(); }

std::size_t shared_ring::mapped_octets() noexcept { return rings.octets.load(std::memory_order_relaxed); }

void shared_ring::close() noexcept {
    if (!shared_)
        return;
    ::munmap(shared_, header_size + capacity_);
    rings.octets.fetch_sub(header_size + capacity_, std::memory_order_relaxed);
    shared_ = nullptr;
    rings.count.fetch_sub(1, std::memory_order_relaxed);
}

/// The ring is counted before it is looked whether there are too many, so that threads which come
/// at once do not exceed the limit together. The pages are there from the beginning.
error shared_ring::map(int file, std::size_t capacity) noexcept {
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(header) <= header_size);
    if (rings.count.fetch_add(1, std::memory_order_relaxed) >= most_rings) {
        rings.count.fetch_sub(1, std::memory_order_relaxed);
        return error::too_many_files;
    }
    void *memory =
        ::mmap(nullptr, header_size + capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (memory == MAP_FAILED) {
        rings.count.fetch_sub(1, std::memory_order_relaxed);
        return from_errno(errno);
    }
    rings.octets.fetch_add(header_size + capacity, std::memory_order_relaxed);
    shared_ = static_cast<header *>(memory);
    data_ = static_cast<std::uint8_t *>(memory) + header_size;
    capacity_ = capacity;
    return error::none;
}

error shared_ring::make(std::size_t capacity, owned_descriptor &to_give) noexcept {
    if (!is_possible(capacity))
        return error::invalid;
    if (!may_make_file(header_size + capacity))
        return from_errno(EFBIG);
    // Only so that no file is made in vain: map() is what holds the limit.
    if (rings.count.load(std::memory_order_relaxed) >= most_rings)
        return error::too_many_files;
    owned_descriptor file(make_file());
    // Memory that is missing only when it is touched would be told by a signal.
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(header_size + capacity)) != 0 ||
        ::fallocate(file.get(), 0, 0, static_cast<off_t>(header_size + capacity)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, seals) != 0)
        return from_errno(errno);
    if (const error e = map(file.get(), capacity); failed(e))
        return e;
    shared_->kind = magic;
    shared_->begins_at.store(not_yet, std::memory_order_relaxed);
    shared_->wants_bell.store(1, std::memory_order_relaxed);
    to_give = std::move(file);
    return error::none;
}

/// The file is the other side's word. Its kind and size are asked of the system, and what is in it
/// is never more than a number.
error shared_ring::accept(const owned_descriptor &file) noexcept {
    // Asked first: what is not of this kind of file answers without being asked itself.
    const int sealed = ::fcntl(file.get(), F_GET_SEALS);
    if (sealed < 0 || (sealed & seals) != seals)
        return error::invalid;
    struct stat facts {};
    struct statfs system {};
    if (::fstat(file.get(), &facts) != 0 || ::fstatfs(file.get(), &system) != 0)
        return from_errno(errno);
    // Pages of other files, or that are not there yet, could fail to come.
    if (system.f_type != TMPFS_MAGIC || facts.st_size < static_cast<off_t>(header_size) ||
        !is_possible(static_cast<std::size_t>(facts.st_size) - header_size) ||
        facts.st_blocks * 512 < facts.st_size)
        return error::invalid;
    if (const error e = map(file.get(), static_cast<std::size_t>(facts.st_size) - header_size); failed(e))
        return e;
    if (shared_->kind != magic) {
        close();
        return error::invalid;
    }
    shared_->is_accepted.store(1, std::memory_order_release);
    return error::none;
}

bool shared_ring::is_accepted() const noexcept {
    return shared_->is_accepted.load(std::memory_order_acquire) != 0;
}

void shared_ring::begin_at(std::uint64_t octet) noexcept {
    shared_->begins_at.store(octet, std::memory_order_release);
}

std::uint64_t shared_ring::beginning() const noexcept {
    return shared_->begins_at.load(std::memory_order_acquire);
}

// Each side first says what it did and then looks for the other one's wish, or first wishes and
// then looks at what was done: all in one order (seq_cst), so that one of them sees the other.

/// A position of the other side that lies ahead of ours, or more than a ring behind, makes `used`
/// larger than the ring: there is no room then, and no harm.
std::size_t shared_ring::room() const noexcept {
    const std::uint64_t used = position_ - shared_->taken.load(std::memory_order_seq_cst);
    return used <= capacity_ ? capacity_ - static_cast<std::size_t>(used) : 0;
}

/// One store publishes as much as lies in one range before the end of the memory; the caller comes
/// back for the rest, which goes to the front.
std::size_t shared_ring::put(range_cursor &from, std::size_t octets) noexcept {
    octets = std::min({octets, from.size(), to_end()});
    std::memcpy(at(position_), from.data(), octets);
    from.advance(octets);
    position_ += octets;
    shared_->written.store(position_, std::memory_order_seq_cst);
    return octets;
}

/// Looks before it takes: with each write an exchange would fetch the line from the other side.
bool shared_ring::take_wish_for_bell() noexcept {
    return shared_->wants_bell.load(std::memory_order_seq_cst) != 0 &&
           shared_->wants_bell.exchange(0, std::memory_order_seq_cst) != 0;
}

void shared_ring::ask_for_room() noexcept { shared_->wants_room.store(1, std::memory_order_seq_cst); }

/// It is not compared with the capacity here: the caller ends the stream where it is more.
std::size_t shared_ring::available() const noexcept {
    return static_cast<std::size_t>(shared_->written.load(std::memory_order_seq_cst) - position_);
}

std::size_t shared_ring::take(range_cursor &to, std::size_t octets) noexcept {
    octets = std::min({octets, to.size(), to_end()});
    std::uint8_t *const begin = at(position_);
    std::memcpy(to.data(), begin, octets);
    to.advance(octets);
    for (std::size_t line = (line_size - position_ % line_size) % line_size; line < octets;
         line += line_size) {
        // Written back as it was read, for the sake of the line (see Lines in shared_ring.hpp).
        volatile std::uint8_t &first = begin[line];
        first = first;
    }
    position_ += octets;
    return octets;
}

void shared_ring::give_back() noexcept { shared_->taken.store(position_, std::memory_order_seq_cst); }

/// Waits for half of the ring: the writer would be woken for each few octets, and fill them.
bool shared_ring::take_wish_for_room() noexcept {
    if (shared_->wants_room.load(std::memory_order_seq_cst) == 0 || available() > capacity_ / 2)
        return false;
    shared_->wants_room.store(0, std::memory_order_seq_cst);
    return true;
}

void shared_ring::arm() noexcept { shared_->wants_bell.store(1, std::memory_order_seq_cst); }

/// An exchange, since the other side may take the wish just now. Then its bell is on the way, and
/// has to be taken out of the socket.
bool shared_ring::disarm() noexcept {
    return shared_->wants_bell.exchange(0, std::memory_order_seq_cst) == 0;
}

}  // namespace zlink
