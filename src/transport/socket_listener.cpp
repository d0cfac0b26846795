// accept(2), and the pauses behind its failures; see socket_listener.hpp. Map: which failures are
// about one peer; the pause that ends with a descriptor; listening; accepting; pausing.
#include "transport/socket_listener.hpp"

#include <atomic>
#include <new>
#include <string>
#include <sys/socket.h>
#include <utility>

#include "core/descriptor_watch.hpp"
#include "core/reason.hpp"

namespace zlink {

namespace {

constexpr std::chrono::milliseconds pause_after_failure{100};

// Failures of the connection that was to be accepted, not of the listener: accept(2), "Error
// handling".
bool is_about_one_peer(int number) noexcept {
    switch (number) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
        return true;
    default:
        return false;
    }
}

}  // namespace

error read_tcp_bind(std::string_view address, tcp_local_address &out) {
    std::string why;
    const error e = parse_tcp_bind(address, out, &why);
    if (failed(e))
        reason::leave(std::move(why));
    return e;
}

error adopt_bound_socket(int descriptor, owned_descriptor &out) {
    const error e = adopt_socket(descriptor, out);
    if (failed(e))
        reason::leave("ZMQ_USE_FD: " + std::to_string(descriptor) + ": " + describe(to_errno(e)));
    return e;
}

/// Has a pause of the listener end when the library closes a descriptor, on whatever thread.
class socket_listener::rest final : public descriptor_watch, private loop_task {
public:
    explicit rest(socket_listener &owner) noexcept : io_(owner.loop_), owner_(&owner) {}

    /// False when it waits already, or has heard of one that is not looked at yet.
    bool watch() noexcept { return !is_posted_.load(std::memory_order_relaxed) && begin(); }
    /// The listener goes: what is posted is left to itself.
    void abandon() noexcept {
        end();
        owner_ = nullptr;
        if (!is_posted_.load(std::memory_order_relaxed))
            delete this;
    }

private:
    ~rest() override = default;
    void on_closed() noexcept override {
        is_posted_.store(true, std::memory_order_relaxed);
        io_.post(*this);
    }
    void run() noexcept override {
        is_posted_.store(false, std::memory_order_relaxed);
        if (owner_)
            owner_->go_on();
        else
            delete this;
    }

    loop &io_;
    socket_listener *owner_;  // null once that has gone; for the loop's thread
    std::atomic<bool> is_posted_{false};
};

socket_listener::~socket_listener() {
    if (is_gone_)
        *is_gone_ = true;
    if (rest_)
        rest_->abandon();
}

void socket_listener::start(accept_handler handler) noexcept {
    handler_ = std::move(handler);
    pause_ = loop_.make_timer([this] { try_again(); });
    listen_on();
}

void socket_listener::go_on() noexcept {
    if (!pause_ || !pause_->is_pending())
        return;
    pause_->cancel();
    try_again();
}

void socket_listener::try_again() noexcept {
    if (rest_)
        rest_->end();
    ready_ ? on_readable() : listen_on();
}

void socket_listener::listen_on() noexcept {
    if (failed(readiness::make(loop_, socket_.get(), *this, ready_))) {
        pause();
        return;
    }
    socket_.release();
    ready_.wait_readable();
}

void socket_listener::on_readable() noexcept {
    for (int i = 0; i < most_connections_per_round; ++i)
        if (!accept_one())
            return;
    ready_.wait_readable();
}

// Returns whether to go on at once.
bool socket_listener::accept_one() noexcept {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    auto *address = reinterpret_cast<sockaddr *>(&peer);
    owned_descriptor socket(::accept4(ready_.descriptor(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
        const int number = errno;
        if (number == EAGAIN || number == EWOULDBLOCK) {
            ready_.wait_readable();
            return false;
        }
        if (is_about_one_peer(number) || loop_.sheddables.makes_way_after(number))
            return true;
        if (is_want_of_descriptors(number) && watch_descriptors())
            return true;  // one may have been closed before
        if (report(nullptr, from_errno(number)))
            pause();
        return false;
    }
    stream_maker accepted;
    error failure = error::none;
    try {
        // Functions can be copied, descriptors cannot.
        accepted = [admit = admit_, socket = std::make_shared<owned_descriptor>(std::move(socket)), peer,
                    length](loop &io, std::unique_ptr<stream> &out) {
            return (*admit)(io, std::move(*socket), reinterpret_cast<const sockaddr *>(&peer), length, out);
        };
    } catch (const std::bad_alloc &) {
        failure = error::no_memory;
    }
    return report(std::move(accepted), failure);
}

// Returns whether this object is still there.
bool socket_listener::report(stream_maker accepted, error failure) noexcept {
    bool is_gone = false;
    is_gone_ = &is_gone;
    accept_handler call = std::move(handler_);  // lives through its own call
    call(std::move(accepted), failure);
    if (is_gone)
        return false;
    is_gone_ = nullptr;
    handler_ = std::move(call);
    return true;
}

/// False when that is done already, or cannot be done.
bool socket_listener::watch_descriptors() noexcept {
    if (!rest_)
        rest_ = new (std::nothrow) rest(*this);
    return rest_ && rest_->watch();
}

// Without a timer the listener rests until the next connection arrives.
void socket_listener::pause() noexcept {
    if (pause_)
        pause_->expires_at(loop_.now() + pause_after_failure);
    else if (ready_)
        ready_.wait_readable();
}

}  // namespace zlink
