// Stands between patterns and what sends to several peers; see fan_watch.hpp. The names are those
// that the compiler gives: tests/CMakeLists.txt has the linker wrap them.
#include "fan_watch.hpp"

#include <numeric>
#include <utility>

#include "pipe/fan_out.hpp"
#include "world.hpp"

namespace zlink::sim {

void fan_watch::note_made(const fan_out &which) noexcept {
    const plenty_of_memory for_the_simulator;
    fan &there = fans_[&which];
    half_wanted_ += there.is_in_message ? there.wanted : 0;
    there = {};
}

void fan_watch::note_frame(const fan_out &which, std::size_t matching, bool more) noexcept {
    fan &there = fans_[&which];
    if (!std::exchange(there.is_in_message, more)) {
        there.wanted = matching;
        to_nobody_ += there.peers == 0;
    }
    if (more)
        return;
    ++messages_;
    wanted_ += there.wanted;
}

std::uint64_t fan_watch::half_wanted() const noexcept {
    return std::accumulate(fans_.begin(), fans_.end(), half_wanted_, [](std::uint64_t sum, const auto &each) {
        return sum + (each.second.is_in_message ? each.second.wanted : 0);
    });
}

}  // namespace zlink::sim

namespace zlink {

namespace {
using sim::world;
}

void real_make(fan_out *, std::shared_ptr<chunk_pool>, counters *, loss_events *) noexcept
    asm("__real__ZN5zlink7fan_outC1ESt10shared_ptrINS_10chunk_poolEEPNS_8countersEPNS_11loss_eventsE");
void watched_make(fan_out *, std::shared_ptr<chunk_pool>, counters *, loss_events *) noexcept
    asm("__wrap__ZN5zlink7fan_outC1ESt10shared_ptrINS_10chunk_poolEEPNS_8countersEPNS_11loss_eventsE");
void watched_make(fan_out *made, std::shared_ptr<chunk_pool> pool, counters *counts,
                  loss_events *owner) noexcept {
    real_make(made, std::move(pool), counts, owner);
    if (world *here = world::running())
        here->fans.note_made(*made);
}

void real_attach(fan_out *, pipe_end &) asm("__real__ZN5zlink7fan_out6attachERNS_8pipe_endE");
void watched_attach(fan_out *, pipe_end &) asm("__wrap__ZN5zlink7fan_out6attachERNS_8pipe_endE");
void watched_attach(fan_out *fan, pipe_end &pipe) {
    real_attach(fan, pipe);
    if (world *here = world::running())
        here->fans.note_peer(*fan, 1);
}

void real_detach(fan_out *, pipe_end &) noexcept asm("__real__ZN5zlink7fan_out6detachERNS_8pipe_endE");
void watched_detach(fan_out *, pipe_end &) noexcept asm("__wrap__ZN5zlink7fan_out6detachERNS_8pipe_endE");
void watched_detach(fan_out *fan, pipe_end &pipe) noexcept {
    const bool was_there = fan->has(pipe);
    real_detach(fan, pipe);
    if (world *here = world::running(); here && was_there)
        here->fans.note_peer(*fan, -1);
}

error real_write(fan_out *, byte_span, bool, block *, bool) noexcept
    asm("__real__ZN5zlink7fan_out5writeESt4spanIKhLm18446744073709551615EEbPNS_5blockEb");
error watched_write(fan_out *, byte_span, bool, block *, bool) noexcept
    asm("__wrap__ZN5zlink7fan_out5writeESt4spanIKhLm18446744073709551615EEbPNS_5blockEb");
error watched_write(fan_out *fan, byte_span body, bool more, block *owner, bool by_reference) noexcept {
    const std::size_t matching = fan->matching();
    const error e = real_write(fan, body, more, owner, by_reference);
    if (world *here = world::running(); here && !failed(e))
        here->fans.note_frame(*fan, matching, more);
    return e;
}

}  // namespace zlink
