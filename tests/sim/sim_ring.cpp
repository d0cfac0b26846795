// See sim_ring.hpp. The names of the steps are those that the compiler gives: tests/CMakeLists.txt
// has the linker wrap them.
#include "sim_ring.hpp"

#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "transport/socket_calls.hpp"
#include "world.hpp"

namespace zlink::sim {

namespace {

// This is as transport/shared_ring.cpp has it.
constexpr std::size_t header_size = 4096;
constexpr std::size_t line_size = 64;
constexpr std::size_t begins_at_line = 1;
constexpr std::size_t lines = 7;

void may_switch() noexcept {
    if (world *here = world::running())
        here->may_switch();
}

}  // namespace

void make_local_pair(owned_descriptor (&ends)[2]) {
    int made[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made) != 0)
        std::abort();
    ends[0] = owned_descriptor(made[0]);
    ends[1] = owned_descriptor(made[1]);
}

short local_events(int socket, short events) noexcept {
    pollfd item{socket, events, 0};
    return ::poll(&item, 1, 0) == 1 ? item.revents : short{0};
}

void break_local_pair(const owned_descriptor (&ends)[2]) noexcept {
    for (const owned_descriptor &each : ends)
        end_local(each);
}

void end_local(const owned_descriptor &socket) noexcept { (void)::shutdown(socket.get(), SHUT_WR); }

void close_local(owned_descriptor &socket) noexcept {
    socket_calls::drop_unread(socket.get());
    socket = owned_descriptor();
}

hostile_ring::hostile_ring(int socket, byte_span octets, dice &chance) {
    owned_descriptor to_give;
    if (octets.empty() || failed(ring_.make(sim_ring_size, to_give)))
        return;
    void *memory = ::mmap(nullptr, header_size, PROT_READ | PROT_WRITE, MAP_SHARED, to_give.get(), 0);
    header_ = memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t *>(memory);
    const iovec range{const_cast<std::uint8_t *>(octets.data()), octets.size()};
    octets_ = socket_calls::write_with_descriptor(socket, {&range, 1}, to_give.get()).octets;
    if (chance.coin())
        scribble(socket, chance);
}

hostile_ring::~hostile_ring() {
    if (header_)
        ::munmap(header_, header_size);
}

void hostile_ring::scribble(int socket, dice &chance) noexcept {
    if (!header_)
        return;
    for (std::size_t line = begins_at_line; line < lines; ++line) {
        // Says where the ring begins, and how far it is written: likely, or not.
        const std::uint64_t value = chance.coin() ? chance.between(0, 2 * octets_ + 2) : chance.next();
        std::memcpy(header_ + line * line_size, &value, sizeof value);
    }
    std::uint8_t octet = static_cast<std::uint8_t>(chance.next());
    const iovec range{&octet, 1};
    octets_ += socket_calls::write(socket, {&range, 1}).octets;
}

}  // namespace zlink::sim

namespace zlink {

std::size_t real_room(const shared_ring *ring) noexcept asm("__real__ZNK5zlink11shared_ring4roomEv");
std::size_t stepped_room(const shared_ring *ring) noexcept asm("__wrap__ZNK5zlink11shared_ring4roomEv");
std::size_t stepped_room(const shared_ring *ring) noexcept {
    sim::may_switch();
    return real_room(ring);
}

void real_ask_for_room(shared_ring *ring) noexcept asm("__real__ZN5zlink11shared_ring12ask_for_roomEv");
void stepped_ask_for_room(shared_ring *ring) noexcept asm("__wrap__ZN5zlink11shared_ring12ask_for_roomEv");
void stepped_ask_for_room(shared_ring *ring) noexcept {
    sim::may_switch();
    if (sim::world *here = sim::world::running())
        ++here->full_rings;
    real_ask_for_room(ring);
}

std::size_t real_available(const shared_ring *ring) noexcept
    asm("__real__ZNK5zlink11shared_ring9availableEv");
std::size_t stepped_available(const shared_ring *ring) noexcept
    asm("__wrap__ZNK5zlink11shared_ring9availableEv");
std::size_t stepped_available(const shared_ring *ring) noexcept {
    sim::may_switch();
    return real_available(ring);
}

void real_give_back(shared_ring *ring) noexcept asm("__real__ZN5zlink11shared_ring9give_backEv");
void stepped_give_back(shared_ring *ring) noexcept asm("__wrap__ZN5zlink11shared_ring9give_backEv");
void stepped_give_back(shared_ring *ring) noexcept {
    sim::may_switch();
    real_give_back(ring);
}

void real_arm(shared_ring *ring) noexcept asm("__real__ZN5zlink11shared_ring3armEv");
void stepped_arm(shared_ring *ring) noexcept asm("__wrap__ZN5zlink11shared_ring3armEv");
void stepped_arm(shared_ring *ring) noexcept {
    sim::may_switch();
    real_arm(ring);
}

bool real_disarm(shared_ring *ring) noexcept asm("__real__ZN5zlink11shared_ring6disarmEv");
bool stepped_disarm(shared_ring *ring) noexcept asm("__wrap__ZN5zlink11shared_ring6disarmEv");
bool stepped_disarm(shared_ring *ring) noexcept {
    sim::may_switch();
    return real_disarm(ring);
}

void real_begin_at(shared_ring *ring, std::uint64_t octet) noexcept
    asm("__real__ZN5zlink11shared_ring8begin_atEm");
void stepped_begin_at(shared_ring *ring, std::uint64_t octet) noexcept
    asm("__wrap__ZN5zlink11shared_ring8begin_atEm");
void stepped_begin_at(shared_ring *ring, std::uint64_t octet) noexcept {
    sim::may_switch();
    real_begin_at(ring, octet);
}

std::size_t real_put(shared_ring *ring, range_cursor &from, std::size_t octets) noexcept
    asm("__real__ZN5zlink11shared_ring3putERNS_12range_cursorEm");
std::size_t stepped_put(shared_ring *ring, range_cursor &from, std::size_t octets) noexcept
    asm("__wrap__ZN5zlink11shared_ring3putERNS_12range_cursorEm");
std::size_t stepped_put(shared_ring *ring, range_cursor &from, std::size_t octets) noexcept {
    sim::may_switch();
    return real_put(ring, from, octets);
}

std::size_t real_take(shared_ring *ring, range_cursor &to, std::size_t octets) noexcept
    asm("__real__ZN5zlink11shared_ring4takeERNS_12range_cursorEm");
std::size_t stepped_take(shared_ring *ring, range_cursor &to, std::size_t octets) noexcept
    asm("__wrap__ZN5zlink11shared_ring4takeERNS_12range_cursorEm");
std::size_t stepped_take(shared_ring *ring, range_cursor &to, std::size_t octets) noexcept {
    sim::may_switch();
    return real_take(ring, to, octets);
}

bool real_take_wish_for_bell(shared_ring *ring) noexcept
    asm("__real__ZN5zlink11shared_ring18take_wish_for_bellEv");
bool stepped_take_wish_for_bell(shared_ring *ring) noexcept
    asm("__wrap__ZN5zlink11shared_ring18take_wish_for_bellEv");
bool stepped_take_wish_for_bell(shared_ring *ring) noexcept {
    sim::may_switch();
    const bool is_wanted = real_take_wish_for_bell(ring);
    sim::world *here = sim::world::running();
    return is_wanted && !(here && here->strikes(sim::planted::unrung_bell, 300'000));
}

bool real_take_wish_for_room(shared_ring *ring) noexcept
    asm("__real__ZN5zlink11shared_ring18take_wish_for_roomEv");
bool stepped_take_wish_for_room(shared_ring *ring) noexcept
    asm("__wrap__ZN5zlink11shared_ring18take_wish_for_roomEv");
bool stepped_take_wish_for_room(shared_ring *ring) noexcept {
    sim::may_switch();
    return real_take_wish_for_room(ring);
}

/// Descriptors that nobody asked for are closed at once: a run has no thread of its own for that.
void close_at_once(int descriptor) noexcept asm("__wrap__ZN5zlink18passed_descriptors15close_elsewhereEi");
void close_at_once(int descriptor) noexcept { (void)owned_descriptor(descriptor); }

}  // namespace zlink
