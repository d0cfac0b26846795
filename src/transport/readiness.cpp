// A descriptor that Boost.Asio watches; see readiness.hpp.
//
// Order:    the registration, which outlives its owner while Asio may call it; making and closing;
//           leasing out and taking back; waits.
#include "transport/readiness.hpp"

#include <chrono>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "core/descriptor_watch.hpp"
#include "reactor/asio_loop.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace zlink {

namespace {

// A descriptor that waited for room once stays registered for it, and a local socket then wakes the
// loop whenever the peer reads. After so long without a new wait it is registered afresh.
constexpr std::chrono::milliseconds quiet_after{10};

}  // namespace

// Kept alive by pending handlers, which Asio runs even after the descriptor is closed. All of it is
// the loop's thread's, the count of who keeps it too.
struct readiness::registration {
    using asio_descriptor =
        boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;
    static constexpr std::size_t wait_size = 96;  // of what Asio 1.81 makes of the handler
    using wait_memory = handler_slot<wait_size>;

    struct wait_handler {
        using allocator_type = slot_allocator<void, wait_size>;
        allocator_type get_allocator() const noexcept {
            return allocator_type(is_write ? self->write_memory : self->read_memory);
        }
        void operator()(const boost::system::error_code &) const noexcept {
            self->loop.begin_handler();
            if (!self->events || (generation != self->generation && !is_lost_read()))
                return;  // closed, or leased out since
            self->pending(is_write) = false;
            if (generation != self->generation) {
                self->wait(false);
                return;
            }
            if (is_write)
                self->events->on_writable();
            else
                self->events->on_readable();
        }
        /// Whether the wait ended as the descriptor was registered afresh.
        bool is_lost_read() const noexcept { return !is_write && std::exchange(self->has_lost_read, false); }
        registration_ref self;
        unsigned generation;
        bool is_write;
    };

    /// Whether the descriptor is registered for room.
    enum class room_watch : std::uint8_t {
        none,
        quiet,
        waited_for  // lately
    };

    registration(asio_loop &io, readiness_events &owner)
        : loop(io), descriptor(io.context().get_executor()), events(&owner) {}

    bool &pending(bool is_write) noexcept { return is_write ? is_write_pending : is_read_pending; }

    void wait(bool is_write) noexcept {
        if (std::exchange(pending(is_write), true))
            return;
        descriptor.async_wait(is_write ? asio_descriptor::wait_write : asio_descriptor::wait_read,
                              wait_handler{registration_ref(this), generation, is_write});
    }

    void wait_writable() noexcept {
        room = room_watch::waited_for;
        wait(true);
        if (!quiet_timer)
            quiet_timer = loop.make_timer([this] { on_quiet(); });
        if (quiet_timer && !quiet_timer->is_pending())
            quiet_timer->expires_at(loop.now() + quiet_after);
    }

    void on_quiet() noexcept {
        if (!descriptor.is_open() || room == room_watch::none)
            return;
        if (std::exchange(room, is_write_pending ? room_watch::waited_for : room_watch::quiet) ==
            room_watch::waited_for)
            quiet_timer->expires_at(loop.now() + quiet_after);
        else
            forget_writable();
    }

    void forget_writable() noexcept {
        boost::system::error_code ec;
        ++generation;
        const int fd = descriptor.release();
        descriptor.assign(fd, ec);
        if (ec)
            ::shutdown(fd, SHUT_RDWR);  // the next read ends the connection
        room = room_watch::none;
        // its handler, which runs next, waits again in the same memory
        has_lost_read = is_read_pending;
    }

    asio_loop &loop;
    asio_descriptor descriptor;
    readiness_events *events;
    unsigned references = 0;
    unsigned generation = 0;
    wait_memory write_memory;
    [[no_unique_address]] wait_memory read_memory;  // its padding holds the flags
    // Facts of two waits. Each is under way or not; one for input is lost when the descriptor is
    // registered afresh, until its handler runs.
    bool is_read_pending = false;
    bool is_write_pending = false;
    bool has_lost_read = false;
    room_watch room = room_watch::none;
    std::unique_ptr<timer> quiet_timer;
};

readiness::registration_ref::registration_ref(registration *to) noexcept : to_(to) {
    if (to_)
        ++to_->references;
}

void readiness::registration_ref::reset() noexcept {
    if (registration *const r = std::exchange(to_, nullptr); r && --r->references == 0)
        delete r;
}

error readiness::make(loop &io, int descriptor, readiness_events &events, readiness &out) noexcept {
    out.close();
    try {
        registration_ref r(new registration(static_cast<asio_loop &>(io), events));
        boost::system::error_code ec;
        r->descriptor.assign(descriptor, ec);
        if (ec)
            return from_errno(ec.value());
        out.registration_ = std::move(r);
        out.descriptor_ = descriptor;
        return error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    } catch (const boost::system::system_error &e) {
        return from_errno(e.code().value());
    }
}

void readiness::close() noexcept {
    if (!registration_)
        return;
    registration_->events = nullptr;
    registration_->quiet_timer.reset();
    boost::system::error_code ec;
    if (registration_->descriptor.is_open())
        registration_->descriptor.close(ec);
    else
        ::close(descriptor_);  // it could not be registered afresh
    registration_.reset();
    descriptor_ = -1;
    descriptor_watch::note_closed();
}

int readiness::release() noexcept {
    registration_->events = nullptr;
    registration_->quiet_timer.reset();
    registration_->descriptor.release();
    registration_.reset();
    return std::exchange(descriptor_, -1);
}

bool readiness::lease_out() noexcept {
    registration &r = *registration_;
    if (!r.descriptor.is_open())
        return false;
    ++r.generation;
    r.descriptor.release();
    r.is_read_pending = r.is_write_pending = r.has_lost_read = false;
    r.room = registration::room_watch::none;
    return true;
}

error readiness::take_back() noexcept {
    try {
        boost::system::error_code ec;
        registration_->descriptor.assign(descriptor_, ec);
        return ec ? from_errno(ec.value()) : error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

void readiness::wait_readable() noexcept { registration_->wait(false); }

void readiness::wait_writable() noexcept { registration_->wait_writable(); }

}  // namespace zlink
