// Stands between the two ends of a pipe; see pipe_watch.hpp. The names are those that the
// compiler gives: tests/CMakeLists.txt has the linker wrap them.
#include "pipe_watch.hpp"

#include <algorithm>
#include <cstdlib>

#include "session/outbound.hpp"
#include "socket/mailbox.hpp"
#include "world.hpp"

namespace zlink::sim {

template <class What>
void pipe_watch::for_each_lease(What &&what) noexcept {
    for (const watched_pipe &each : pipes_)
        if (const pipe_end_ptr pipe = each.connections.lock())
            what(*pipe);
}

void pipe_watch::note_made(const pipe_end_ptr &connections) noexcept {
    const plenty_of_memory for_the_simulator;
    std::erase_if(pipes_, [](const watched_pipe &each) { return each.connections.expired(); });
    pipes_.push_back({connections, &connections->other()});
    if (world_.has_planted(planted::kept_turn))
        world_.at(world_.now() + milliseconds(world_.faults.between(1, 500)),
                  [this, weak = std::weak_ptr(connections)] {
                      const pipe_end_ptr pipe = weak.lock();
                      if (!pipe || !world_.faults.coin())
                          return;
                      if (writing turn = pipe->take_turn())
                          kept_.push_back({pipe, std::move(turn)});
                  });
}

void pipe_watch::note_peer(const pipe_end &end, const peer_info &peer) noexcept {
    const char *descriptor = peer.find("__fd");
    if (!descriptor)
        return;
    for (watched_pipe &each : pipes_)
        if (const pipe_end_ptr pipe = each.connections.lock(); pipe.get() == &end)
            each.descriptor = std::atoi(descriptor);
}

std::uint32_t pipe_watch::uses_of(int descriptor) const noexcept {
    for (const watched_pipe &each : pipes_)
        if (const pipe_end_ptr pipe = each.connections.lock(); pipe && each.descriptor == descriptor)
            return pipe->lease().uses();
    return 0;
}

void pipe_watch::note_sleep() noexcept {
    if (world_.has_planted(planted::lease_given_twice))
        for_each_lease([&](pipe_end &pipe) {
            if (pipe.lease().is_wanted() && world_.faults.chance(100'000))
                pipe.lease().grant();
        });
}

void pipe_watch::note_signal() noexcept {
    if (world_.has_planted(planted::ignored_recall))
        for (watched_pipe &each : pipes_) {
            const pipe_end_ptr pipe = each.connections.lock();
            if (!pipe || !pipe->lease().is_recalled())
                continue;
            each.is_read_on = true;
            pipe->lease().refuse();
            // The loop looks, and takes its stream back.
            const_cast<pipe_end &>(pipe->other()).wake_other_end();
            return;
        }
}

void pipe_watch::note_write() noexcept {
    for (watched_pipe &each : pipes_) {
        const pipe_end_ptr pipe = each.connections.lock();
        each.is_refused = pipe && each.sockets->awaits_turn();
        seen_.refused_turns += each.is_refused;
    }
}

void pipe_watch::note_end_of_use(const pipe_end &end) noexcept {
    for (watched_pipe &each : pipes_)
        if (each.sockets == &end)
            each.is_read_on = false;
}

bool pipe_watch::is_read_on() const noexcept {
    return std::any_of(pipes_.begin(), pipes_.end(), [](const watched_pipe &each) {
        return each.is_read_on && !each.connections.expired();
    });
}

bool pipe_watch::note_wake(const pipe_end &end) noexcept {
    for (watched_pipe &each : pipes_) {
        if (each.sockets == &end && std::exchange(each.is_refused, false) &&
            world_.has_planted(planted::unsent_wake))
            return false;
        if (const pipe_end_ptr pipe = each.connections.lock(); pipe.get() == &end)
            seen_.recalls += pipe->lease().is_recalled();
    }
    return true;
}

void pipe_watch::note_close(const pipe_end &end) noexcept {
    for (const watched_pipe &each : pipes_)
        if (const pipe_end_ptr pipe = each.connections.lock();
            pipe && each.sockets == &end && !end.is_closed())
            seen_.closed_leased += pipe->lease().is_out();
}

}  // namespace zlink::sim

namespace {

using zlink::sim::world;

}  // namespace

namespace zlink {

pipe_ends real_make_pipe(const std::shared_ptr<chunk_pool> &, const pipe_options &) asm(
    "__real__ZN5zlink9make_pipeERKSt10shared_ptrINS_10chunk_poolEERKNS_12pipe_optionsE");
pipe_ends watched_make_pipe(const std::shared_ptr<chunk_pool> &, const pipe_options &) asm(
    "__wrap__ZN5zlink9make_pipeERKSt10shared_ptrINS_10chunk_poolEERKNS_12pipe_optionsE");
pipe_ends watched_make_pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options) {
    pipe_ends made = real_make_pipe(pool, options);
    if (world *here = world::running(); here && options.second == end_kind::connection)
        here->pipes.note_made(made.second);
    return made;
}

void real_wake(pipe_end *) noexcept asm("__real__ZN5zlink8pipe_end14wake_other_endEv");
void watched_wake(pipe_end *end) noexcept asm("__wrap__ZN5zlink8pipe_end14wake_other_endEv");
void watched_wake(pipe_end *end) noexcept {
    world *here = world::running();
    if (!here || here->pipes.note_wake(*end))
        real_wake(end);
}

void real_set_info(pipe_end *, peer_info *) noexcept
    asm("__real__ZN5zlink8pipe_end8set_infoEPNS_9peer_infoE");
void watched_set_info(pipe_end *, peer_info *) noexcept
    asm("__wrap__ZN5zlink8pipe_end8set_infoEPNS_9peer_infoE");
void watched_set_info(pipe_end *end, peer_info *info) noexcept {
    if (world *here = world::running(); here && info)
        here->pipes.note_peer(*end, *info);
    real_set_info(end, info);
}

void real_close(pipe_end *, int) noexcept asm("__real__ZN5zlink8pipe_end5closeEi");
void watched_close(pipe_end *end, int linger_ms) noexcept asm("__wrap__ZN5zlink8pipe_end5closeEi");
void watched_close(pipe_end *end, int linger_ms) noexcept {
    if (world *here = world::running())
        here->pipes.note_close(*end);
    real_close(end, linger_ms);
}

void real_end_use(pipe_end *, bool) noexcept asm("__real__ZN5zlink8pipe_end7end_useEb");
void watched_end_use(pipe_end *end, bool keep) noexcept asm("__wrap__ZN5zlink8pipe_end7end_useEb");
void watched_end_use(pipe_end *end, bool keep) noexcept {
    if (world *here = world::running())
        here->pipes.note_end_of_use(*end);
    real_end_use(end, keep);
}

bool real_withdraw(mailbox *, const pipe_end &) noexcept
    asm("__real__ZN5zlink7mailbox8withdrawERKNS_8pipe_endE");
bool watched_withdraw(mailbox *, const pipe_end &) noexcept
    asm("__wrap__ZN5zlink7mailbox8withdrawERKNS_8pipe_endE");
bool watched_withdraw(mailbox *inbox, const pipe_end &pipe) noexcept {
    const bool is_of_network = pipe.other_kind() == end_kind::connection;
    const std::uint64_t untaken = is_of_network ? pipe.incoming().under_way().messages : 0;
    const bool is_withdrawn = real_withdraw(inbox, pipe);
    if (world *here = world::running(); here && is_withdrawn)
        here->pipes.note_withdrawn(untaken);
    return is_withdrawn;
}

bool real_close(outbound *) noexcept asm("__real__ZN5zlink8outbound5closeEv");
bool watched_close(outbound *half) noexcept asm("__wrap__ZN5zlink8outbound5closeEv");
bool watched_close(outbound *half) noexcept {
    const bool is_done = real_close(half);
    if (world *here = world::running(); here && !is_done)
        here->pipes.note_refused_claim();
    return is_done;
}

}  // namespace zlink
