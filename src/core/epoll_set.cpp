// Many descriptors that one thread waits for; see epoll_set.hpp.
//
// The set is brought up to date by what differs from the last wait. A descriptor that is no longer
// listed leaves it when it is found ready. A descriptor that was closed is gone from it, unless its
// file lives on under another number (a child of fork has it): then events come in the name of what
// nobody can take out any more, and the set is begun anew.
// Map:      the wait; telling the items what was found; beginning anew; listing what differs.
#include "core/epoll_set.hpp"

#include <cerrno>
#include <new>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/platform.hpp"

namespace zlink::platform {

namespace {

constexpr int most_events = 256;
constexpr int waits_after_refusal = 1000;  // before the system is asked again

/// The name by which an event tells whom it is about: the descriptor, and enough of its opening to
/// tell it from the last.
std::uint64_t name(int descriptor, std::uint64_t opening) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(descriptor)) << 32 |
           static_cast<std::uint32_t>(opening);
}
int descriptor_of(std::uint64_t named) noexcept { return static_cast<int>(named >> 32); }

int look(int epoll, std::span<epoll_event> found) noexcept {
    const cancellation_shield shield;
    return ::epoll_wait(epoll, found.data(), static_cast<int>(found.size()), 0);
}

}  // namespace

error epoll_set::wait(std::span<wait_item> items, int timeout_ms, int &ready) {
    ready = 0;
    if (refusals_left_ > 0) {
        --refusals_left_;
        return error::no_memory;
    }
    do {
        error e = open();
        if (!failed(e))
            e = list(items);
        if (failed(e)) {
            close();
            refusals_left_ = waits_after_refusal;
            return e;
        }
        epoll_event found[most_events];
        int count = look(epoll_, found);
        if (count == 0 && timeout_ms != 0) {
            if (e = sleep(timeout_ms); failed(e))
                return e;
            count = look(epoll_, found);
        }
        if (count < 0) {
            e = from_errno(errno);
            forget();  // somebody has closed it
            return e;
        }
        if (count == 0)
            return error::none;
        for (int i = 0; i < count && epoll_ >= 0; ++i)
            ready += tell(items, found[i].data.u64, static_cast<short>(found[i].events));
        // When only what is not listed was ready, the caller works out what is left of the time.
    } while (ready == 0 && timeout_ms <= 0);
    return error::none;
}

/// In poll(2): epoll_wait(2) also ends where the process was stopped and went on, or was looked at
/// by a debugger, as if a signal had been handled.
error epoll_set::sleep(int timeout_ms) const {
    pollfd all{epoll_, POLLIN, 0};
    return poll_as_caller(&all, 1, timeout_ms) < 0 ? from_errno(errno) : error::none;
}

/// Fills in the item that an event is about. False where it is about none, which is taken out, or
/// the set closed.
bool epoll_set::tell(std::span<wait_item> items, std::uint64_t named, short events) noexcept {
    const int descriptor = descriptor_of(named);
    entry &known = entries_[static_cast<std::size_t>(descriptor)];
    if (named != name(descriptor, known.opening)) {
        close();
        return false;
    }
    if (known.item < items.size() && items[known.item].opening == known.opening) {
        items[known.item].revents = events;
        return true;
    }
    // Its lease has ended, so the I/O thread may close it at this moment, and the number be another
    // file's, which is not in the set: then there is nothing to take out. ThreadSanitizer, which
    // would call that a race, does not look into syscall(2).
    known.opening = 0;
    if (::syscall(SYS_epoll_ctl, epoll_, EPOLL_CTL_DEL, descriptor, nullptr) < 0)
        close();
    return false;
}

void epoll_set::close() noexcept {
    const cancellation_shield shield;
    // In a child of fork the number may be somebody else's by now.
    if (epoll_ >= 0 && generation_ == fork_generation())
        ::close(epoll_);
    forget();
}

void epoll_set::forget() noexcept {
    epoll_ = -1;
    entries_.clear();
}

/// A child of fork must leave its parent's set alone.
error epoll_set::open() noexcept {
    if (generation_ != fork_generation())
        forget();
    if (epoll_ >= 0)
        return error::none;
    generation_ = fork_generation();
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    return epoll_ >= 0 ? error::none : from_errno(errno);
}

error epoll_set::list(std::span<wait_item> items) noexcept {
    for (std::size_t i = 0; i < items.size(); ++i) {
        wait_item &item = items[i];
        item.revents = 0;
        if (item.descriptor < 0)
            continue;
        const auto at = static_cast<std::size_t>(item.descriptor);
        if (at >= entries_.size()) {
            try {
                entries_.resize(at + 1);
            } catch (const std::bad_alloc &) {
                return error::no_memory;
            }
        }
        entry &known = entries_[at];
        if (known.opening != item.opening || known.events != item.events) {
            if (const error e = add(item, known); failed(e))
                return e;
        }
        known.item = static_cast<std::uint32_t>(i);
    }
    return error::none;
}

/// Puts an item in, or has one that is in watched for other events.
error epoll_set::add(const wait_item &item, entry &known) noexcept {
    epoll_event wanted{};
    wanted.events = static_cast<std::uint32_t>(static_cast<unsigned short>(item.events));
    wanted.data.u64 = name(item.descriptor, item.opening);
    const int first = known.opening == item.opening ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (::epoll_ctl(epoll_, first, item.descriptor, &wanted) < 0 &&
        (errno != EEXIST || ::epoll_ctl(epoll_, EPOLL_CTL_MOD, item.descriptor, &wanted) < 0))
        return from_errno(errno);
    known.opening = item.opening;
    known.events = item.events;
    return error::none;
}

}  // namespace zlink::platform
