// The twin of platform.hpp for Linux.
//
// Map:      time and chance; waiting; threads and their signals; cancellation; credentials;
//           what the header asks for beside these.
#include "core/descriptor_watch.hpp"
#include "core/platform.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <grp.h>
#include <mutex>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/epoll_set.hpp"
#include "core/loop_descriptor.hpp"
#include "memory/of_thread.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace zlink::platform {

namespace {

// ---- Time and chance ----------------------------------------------------------------------------

class monotonic_clock final : public clock_source {
public:
    constexpr ~monotonic_clock() override {}
    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
};

class system_random final : public random_source {
public:
    std::uint64_t next() noexcept override {
        std::lock_guard lock(mutex_);
        if (used_ == numbers_.size() || generation_ != fork_generation())
            refill();
        return std::exchange(numbers_[used_++], 0);
    }

private:
    void refill() noexcept {
        if (!platform::draw_secret_octets(reinterpret_cast<std::uint8_t *>(numbers_.data()), sizeof numbers_))
            improvise();
        used_ = 0;
        generation_ = fork_generation();
    }

    // A system without getrandom: numbers that differ between processes and runs, though not
    // secret. Keys of ciphers are never made from this source.
    void improvise() noexcept {
        std::uint64_t state = static_cast<std::uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count() ^ (std::int64_t{::getpid()} << 40));
        for (std::uint64_t &number : numbers_) {  // splitmix64
            std::uint64_t z = state += 0x9e3779b97f4a7c15u;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            number = z ^ (z >> 31);
        }
    }

    std::mutex mutex_;
    // 256 octets: what getrandom gives without interruption.
    std::array<std::uint64_t, 32> numbers_{};
    std::size_t used_ = numbers_.size();
    unsigned generation_ = 0;
};

// ---- Waiting ------------------------------------------------------------------------------------

class eventfd_wakeup final : public wakeup {
public:
    explicit eventfd_wakeup(int descriptor) noexcept : descriptor_(descriptor) {}
    ~eventfd_wakeup() override {
        // The last pipe of a socket's that is gone has it, where a thread was about to signal.
        const cancellation_shield shield;
        ::close(descriptor_);
        descriptor_watch::note_closed();
    }

    void signal() noexcept override {
        const cancellation_shield shield;
        const std::uint64_t one = 1;
        // EAGAIN means the counter is full, so the level is up already.
        [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof one);
    }
    bool clear() noexcept override {
        const cancellation_shield shield;
        std::uint64_t count;
        return ::read(descriptor_, &count, sizeof count) == sizeof count;
    }
    int descriptor() const noexcept override { return descriptor_; }

private:
    const int descriptor_;
};

/// Milliseconds for poll(2), rounded up so that it never returns before the deadline.
int poll_timeout(time_point now, time_point deadline) noexcept {
    if (deadline == time_point::max())
        return -1;
    if (deadline <= now)
        return 0;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    return left > INT_MAX ? INT_MAX : static_cast<int>(left);
}

/// The number of processors that the calling thread may run on; 1 when the system does not say.
int processors_allowed() noexcept {
    cpu_set_t allowed;
    return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

class poll_waiter final : public waiter {
public:
    poll_waiter(const clock_source &clock, bool spins) noexcept
        : clock_(clock), may_spin_(spins && processors_allowed() > 1) {}

    error make_wakeup(std::unique_ptr<wakeup> &out) noexcept override {
        const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (descriptor < 0)
            return from_errno(errno);
        out.reset(new (std::nothrow) eventfd_wakeup(descriptor));
        if (out)
            return error::none;
        ::close(descriptor);
        return error::no_memory;
    }

    error make_loop_descriptor(const wakeup &level, std::unique_ptr<loop_descriptor> &out) noexcept override {
        std::unique_ptr<loop_descriptor> made(new (std::nothrow) loop_descriptor);
        const error e = made ? made->open(level) : error::no_memory;
        if (!failed(e))
            out = std::move(made);
        return e;
    }

    sending_thread &this_thread() noexcept override {
        thread_local sending_thread mine;
        return mine;
    }
    bool may_spin() const noexcept override { return may_spin_; }

    error wait(std::span<wait_item> items, time_point deadline) noexcept override {
        const cancellation_shield shield;
        return wait_as_caller(items, deadline);
    }

    error wait_as_caller(std::span<wait_item> items, time_point deadline) override {
        pollfd few[most_descriptors_to_poll];
        if (items.size() > most_descriptors_to_poll)
            return wait_for_many(items, deadline);
        return poll(items, few, deadline);
    }

private:
    static constexpr std::size_t most_descriptors_to_poll = 32;

    error wait_for_many(std::span<wait_item> items, time_point deadline) {
        const auto may_change = [](const wait_item &item) { return item.opening == 0; };
        epoll_set *kept =
            std::none_of(items.begin(), items.end(), may_change) ? of_thread<epoll_set>::get() : nullptr;
        if (kept) {
            const error e = wait_until(
                deadline, [&](int timeout, int &ready) { return kept->wait(items, timeout, ready); });
            if (!failed(e) || e == error::timed_out || e == error::interrupted)
                return e;
        }
        const std::unique_ptr<pollfd[]> many(new (std::nothrow) pollfd[items.size()]);
        return many ? poll(items, many.get(), deadline) : error::no_memory;
    }

    error poll(std::span<wait_item> items, pollfd *set, time_point deadline) {
        for (std::size_t i = 0; i < items.size(); ++i)
            set[i] = {items[i].descriptor, items[i].events, 0};
        const error result = wait_until(deadline, [&](int timeout, int &ready) {
            ready = poll_as_caller(set, items.size(), timeout);
            return ready < 0 ? from_errno(errno) : error::none;  // EINTR is error::interrupted
        });
        for (std::size_t i = 0; i < items.size(); ++i)
            items[i].revents = set[i].revents;
        return result;
    }

    /// `look(milliseconds, ready)` counts the items that are ready.
    template <class Look>
    error wait_until(time_point deadline, Look &&look) {
        for (;;) {
            const bool endless = deadline == time_point::max();
            const int timeout = endless ? -1 : poll_timeout(clock_.now(), deadline);
            int ready = 0;
            const error e = look(timeout, ready);
            if (failed(e) || ready > 0)
                return e;
            // A very distant deadline takes several rounds.
            if (timeout == 0 || clock_.now() >= deadline)
                return error::timed_out;
        }
    }

    const clock_source &clock_;
    const bool may_spin_;
};

error apply_priority(const thread_scheduling &how) noexcept {
    int policy = 0;
    sched_param parameters{};
    if (int e = ::pthread_getschedparam(::pthread_self(), &policy, &parameters))
        return from_errno(e);
    if (how.policy >= 0)
        policy = how.policy;

    const bool has_priorities = policy == SCHED_FIFO || policy == SCHED_RR;
    if (has_priorities && how.priority >= 0)
        parameters.sched_priority = how.priority;
    else if (!has_priorities)
        parameters.sched_priority = 0;
    if (int e = ::pthread_setschedparam(::pthread_self(), policy, &parameters))
        return from_errno(e);

    // The other policies know nice levels only; on Linux they belong to the thread.
    if (!has_priorities && how.priority > 0 &&
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), -how.priority) < 0)
        return from_errno(errno);
    return error::none;
}

}  // namespace

void name_this_thread(const char *name) noexcept {
    char cut[16] = {};
    std::strncpy(cut, name, sizeof cut - 1);
    ::pthread_setname_np(::pthread_self(), cut);
}

error schedule_this_thread(const thread_scheduling &how) noexcept {
    error first = error::none;
    if (how.policy >= 0 || how.priority >= 0)
        first = apply_priority(how);
    if (!how.affinity.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (int cpu : how.affinity)
            if (cpu >= 0 && cpu < CPU_SETSIZE)
                CPU_SET(static_cast<unsigned>(cpu), &set);
        if (int e = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set); e && !failed(first))
            first = from_errno(e);
    }
    return first;
}

signal_shield::signal_shield() noexcept {
    static_assert(sizeof(sigset_t) <= sizeof kept_);
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, reinterpret_cast<sigset_t *>(kept_));
}

signal_shield::~signal_shield() {
    ::pthread_sigmask(SIG_SETMASK, reinterpret_cast<sigset_t *>(kept_), nullptr);
}

cancellation_shield::cancellation_shield() noexcept {
    (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept_);
}

cancellation_shield::~cancellation_shield() { (void)::pthread_setcancelstate(kept_, nullptr); }

namespace {

constinit thread_local const sigset_t *mask_of_sleep = nullptr;

#ifdef PTHREAD_CANCEL_MASKED
/// A call that would end the thread fails instead (ECANCELED), and cancellation stays disabled
/// while the library unwinds.
template <class Call>
int end_in(Call &&call) {
    int kept = 0;
    (void)::pthread_setcancelstate(PTHREAD_CANCEL_MASKED, &kept);
    if (kept == PTHREAD_CANCEL_DISABLE)
        (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    const int result = call();
    const bool is_over = kept == PTHREAD_CANCEL_ENABLE && result < 0 && errno == ECANCELED;
    (void)::pthread_setcancelstate(is_over ? PTHREAD_CANCEL_DISABLE : kept, nullptr);
    if (is_over)
        throw end_of_thread{};
    return result;
}

int shortest_sleep() { return ::poll(nullptr, 0, 0); }
#else
/// AddressSanitizer learns of the frames that an exception leaves, but not of those that the end of
/// a thread does: what runs in their place would be taken to write where it must not.
template <class Call>
int end_in(Call &&call) {
#ifdef __SANITIZE_ADDRESS__
    ::__asan_handle_no_return();
#endif
    return call();
}

int shortest_sleep() {
    ::pthread_testcancel();
    return 0;
}
#endif

}  // namespace

sleeping_mask::sleeping_mask(const ::sigset_t &mask) noexcept { mask_of_sleep = &mask; }
sleeping_mask::~sleeping_mask() { mask_of_sleep = nullptr; }

void end_if_cancelled() { (void)end_in(shortest_sleep); }

int poll_as_caller(::pollfd *items, std::size_t count, int timeout_ms) {
    return end_in([&] {
        if (__builtin_expect(mask_of_sleep == nullptr, 1))
            return ::poll(items, count, timeout_ms);
        const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
        return ::ppoll(items, count, timeout_ms < 0 ? nullptr : &timeout, mask_of_sleep);
    });
}

void end_cancelled_thread() { ::pthread_exit(PTHREAD_CANCELED); }

void block_all_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

bool peer_credentials(int descriptor, credentials &out) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || size != sizeof peer)
        return false;
    out = {peer.pid, peer.uid, peer.gid};
    return true;
}

bool is_in_group(unsigned uid, unsigned primary_gid, unsigned gid) noexcept {
    if (primary_gid == gid)
        return true;
    try {
        passwd user;
        passwd *found = nullptr;
        std::vector<char> text(1024);
        int e;
        while ((e = ::getpwuid_r(uid, &user, text.data(), text.size(), &found)) == ERANGE &&
               text.size() < (1u << 20))
            text.resize(text.size() * 2);
        if (e != 0 || !found)
            return false;
        int count = 64;
        std::vector<gid_t> groups(static_cast<std::size_t>(count));
        if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) {
            groups.resize(static_cast<std::size_t>(count));
            if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0)
                return false;
        }
        for (int i = 0; i < count; ++i)
            if (groups[static_cast<std::size_t>(i)] == gid)
                return true;
    } catch (const std::bad_alloc &) {
    }
    return false;
}

const char *path_of_library() noexcept {
    Dl_info here;
    const bool is_known = ::dladdr(reinterpret_cast<void *>(&path_of_library), &here) != 0;
    return is_known && here.dli_fname ? here.dli_fname : "";
}

void write_error_output(std::string_view octets) noexcept {
    const cancellation_shield shield;
    sigset_t broken_pipe, before, pending;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    (void)::sigpending(&pending);
    (void)::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    if (::write(STDERR_FILENO, octets.data(), octets.size()) < 0 && errno == EPIPE &&
        !::sigismember(&pending, SIGPIPE)) {
        constexpr timespec at_once = {};
        (void)::sigtimedwait(&broken_pipe, nullptr, &at_once);
    }
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

const clock_source &steady_clock() noexcept {
    static constexpr monotonic_clock clock;  // never destroyed: I/O threads may outlive main()
    return clock;
}

long interruptions() noexcept {
    rusage used{};
    (void)::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw;
}

int processor_clock_of_this_thread() noexcept {
    clockid_t clock{};
    return ::pthread_getcpuclockid(::pthread_self(), &clock) == 0 ? clock : -1;
}

duration read_processor_clock(int clock) noexcept {
    timespec time{};
    if (::clock_gettime(clock, &time) != 0)
        return duration(-1);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

processor_use use_of_processors() noexcept {
    const auto used_by = [](clockid_t whom) {
        timespec used{};
        (void)::clock_gettime(whom, &used);
        return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    };
    return {used_by(CLOCK_PROCESS_CPUTIME_ID), used_by(CLOCK_THREAD_CPUTIME_ID), processors_allowed()};
}

bool draw_secret_octets(std::uint8_t *to, std::size_t size) noexcept {
    const cancellation_shield shield;
    for (std::size_t done = 0; done < size;) {
        const ssize_t got = ::getrandom(to + done, size - done, 0);
        if (got > 0)
            done += static_cast<std::size_t>(got);
        else if (errno != EINTR)
            return false;
    }
    return true;
}

std::unique_ptr<random_source> make_random_source() noexcept {
    return std::unique_ptr<random_source>(new (std::nothrow) system_random);
}

std::unique_ptr<waiter> make_waiter(const clock_source &clock, bool spins) noexcept {
    return std::unique_ptr<waiter>(new (std::nothrow) poll_waiter(clock, spins));
}

}  // namespace zlink::platform
