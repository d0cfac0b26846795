// One set of epoll(7), which a loop waits for as for any other descriptor. Nobody sleeps in it.
#include "core/loop_descriptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>

#include "core/platform.hpp"
#include "core/waiter.hpp"

namespace zlink {

namespace {

constexpr std::size_t most_streams_told = 32;  // in one call

}  // namespace

error loop_descriptor::open(const wakeup &level) noexcept {
    epoll_ = owned_descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_)
        return from_errno(errno);
    epoll_event up{};
    up.events = EPOLLIN;
    up.data.fd = -1;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, level.descriptor(), &up) == 0 ? error::none
                                                                                  : from_errno(errno);
}

/// A stream that was told of is still in the set, unless it was closed.
bool loop_descriptor::watch(int stream, short events) noexcept {
    epoll_event wanted{};
    wanted.events = static_cast<std::uint32_t>(static_cast<unsigned short>(events)) | EPOLLONESHOT;
    wanted.data.fd = stream;
    const bool is_watched =
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, stream, &wanted) == 0 ||
        (errno == ENOENT && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stream, &wanted) == 0);
    untold_ += is_watched;
    return is_watched;
}

std::size_t loop_descriptor::take_told(std::span<int> out) noexcept {
    if (untold_ == 0)
        return 0;
    std::array<epoll_event, most_streams_told> ready;  // the level may be one of them
    const platform::cancellation_shield shield;
    const int most = static_cast<int>(std::min(out.size(), most_streams_told));
    const int count = ::epoll_wait(epoll_.get(), ready.data(), most, 0);
    std::size_t told = 0;
    for (int i = 0; i < count; ++i)
        if (const int stream = ready[static_cast<std::size_t>(i)].data.fd; stream >= 0)
            out[told++] = stream;
    untold_ -= std::min(told, untold_);
    return told;
}

}  // namespace zlink
