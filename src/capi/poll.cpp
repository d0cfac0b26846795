// zmq_poll and the pollers.
//
// Map:      zmq_poll, with its short cut for a message at hand; the pollers.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "socket/poll_set.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

// ---- zmq_poll -----------------------------------------------------------------------------------

namespace {

/// Room for items: on the stack while they are few. Throws bad_alloc.
class item_room {
public:
    explicit item_room(std::size_t count) {
        if (count > few_.size())
            many_.resize(count);
        items_ = {count > few_.size() ? many_.data() : few_.data(), count};
    }
    std::span<watched> items() const noexcept { return items_; }

private:
    std::array<watched, ZMQ_POLLITEMS_DFLT> few_;
    std::vector<watched> many_;
    std::span<watched> items_;
};

int poll_items(std::span<zmq_pollitem_t> asked, long timeout_ms) {
    const item_room room(asked.size());
    const std::span<watched> items = room.items();
    for (std::size_t i = 0; i < asked.size(); ++i) {
        socket *which = nullptr;
        if (asked[i].socket && !(which = socket_of(asked[i].socket)))
            return fail(error::not_socket);
        items[i] = {which, asked[i].fd, asked[i].events, 0};
    }
    std::size_t count = 0;
    if (const error e = wait_for_any(items, timeout_ms, count); failed(e))
        return fail(e);
    for (std::size_t i = 0; i < asked.size(); ++i)
        asked[i].revents = items[i].ready;
    return static_cast<int>(count);
}

/// The socket to look at, if that is all zmq_poll is asked for.
[[gnu::always_inline]] inline socket *only_receiver(const zmq_pollitem_t *items, int nitems) noexcept {
    return nitems == 1 && items && items->events == ZMQ_POLLIN ? socket_of(items->socket) : nullptr;
}

int one_has_input(zmq_pollitem_t &item) noexcept {
    item.revents = ZMQ_POLLIN;
    return 1;
}

/// The work of zmq_poll when no small message is at hand. It is a function apart, so that zmq_poll
/// needs few registers.
[[gnu::noinline]] int poll_at_length(zmq_pollitem_t *items, int nitems, long timeout) {
    if (nitems < 0)
        return fail(error::invalid);
    if (!items && nitems > 0)
        return fail(error::fault);
    if (socket *const which = only_receiver(items, nitems); which && which->has_direct_input())
        return one_has_input(*items);
    return guarded([&] { return poll_items({items, static_cast<std::size_t>(nitems)}, timeout); });
}

}  // namespace

int zmq_poll(zmq_pollitem_t *items, int nitems, long timeout) {
    const socket *const which = only_receiver(items, nitems);
    if (__builtin_expect(which && which->has_input_at_once(), 1))
        return one_has_input(*items);
    return poll_at_length(items, nitems, timeout);
}

// ---- Pollers ------------------------------------------------------------------------------------

namespace {

constexpr short all_events = ZMQ_POLLIN | ZMQ_POLLOUT | ZMQ_POLLERR | ZMQ_POLLPRI;

class poller {
public:
    struct entry {
        void *handle = nullptr;  // of a socket; null for a descriptor
        int descriptor = -1;
        short events = 0;
        void *user_data = nullptr;
    };

    std::size_t size() const noexcept { return entries_.size(); }

    /// Throws bad_alloc.
    error add(const entry &what) {
        if (find(what.handle, what.descriptor) != entries_.end())
            return error::invalid;
        items_.reserve(entries_.size() + 1);
        entries_.push_back(what);
        return error::none;
    }
    error modify(void *handle, int descriptor, short events) noexcept {
        const auto at = find(handle, descriptor);
        if (at == entries_.end())
            return error::invalid;
        at->events = events;
        return error::none;
    }
    error remove(void *handle, int descriptor) noexcept {
        const auto at = find(handle, descriptor);
        if (at == entries_.end())
            return error::invalid;
        entries_.erase(at);
        return error::none;
    }
    bool has(void *handle) noexcept { return find(handle, -1) != entries_.end(); }

    /// Waits, and writes as many events as there are and fit. `again` when the time is up.
    error wait(std::span<zmq_poller_event_t> found, long timeout_ms, std::size_t &count) {
        const bool is_for_nothing =
            std::all_of(entries_.begin(), entries_.end(), [](const entry &each) { return each.events == 0; });
        if (is_for_nothing && timeout_ms < 0)  // nothing could ever end it
            return error::fault;
        items_.clear();
        for (const entry &each : entries_) {
            socket *which = nullptr;
            if (each.handle && !(which = socket_of(each.handle)))
                return error::not_socket;
            items_.push_back({which, each.descriptor, each.events, 0});
        }
        std::size_t ready = 0;
        if (const error e = wait_for_any(items_, timeout_ms, ready); failed(e))
            return e;
        if (ready == 0)
            return error::again;
        count = 0;
        for (std::size_t i = 0; i < items_.size() && count < found.size(); ++i) {
            if (items_[i].ready)
                found[count++] = {entries_[i].handle, entries_[i].descriptor, entries_[i].user_data,
                                  items_[i].ready};
        }
        return error::none;
    }

private:
    std::vector<entry>::iterator find(void *handle, int descriptor) noexcept {
        return std::find_if(entries_.begin(), entries_.end(), [&](const entry &each) {
            return handle ? each.handle == handle : !each.handle && each.descriptor == descriptor;
        });
    }

    std::vector<entry> entries_;
    std::vector<watched> items_;  // scratch of wait()
};

/// Runs `body(poller &)`, which gives an error, for the poller behind a pointer.
template <typename Body>
int with_poller(void *handle, Body &&body) {
    return guarded([&] {
        auto *self = static_cast<poller *>(handles.find(handle, handle_kind::poller));
        return answer(self ? body(*self) : error::fault);
    });
}

bool has_bad_events(short events) noexcept { return events & ~all_events; }

}  // namespace

void *zmq_poller_new(void) {
    return guarded([]() -> void * {
        auto made = std::make_unique<poller>();
        void *handle = handles.add(handle_kind::poller, made.get());
        if (!handle)
            return fail<void *>(error::too_many_files);
        (void)made.release();
        return handle;
    });
}

int zmq_poller_destroy(void **poller_p) {
    if (!poller_p)
        return fail(error::fault);
    const handle_slab::taken closing = handles.take(*poller_p, handle_kind::poller);
    if (!closing.object)
        return fail(error::fault);
    delete static_cast<poller *>(closing.object);
    *poller_p = nullptr;
    return 0;
}

int zmq_poller_size(void *poller_) {
    const auto *self = static_cast<poller *>(handles.find(poller_, handle_kind::poller));
    return self ? static_cast<int>(self->size()) : fail(error::fault);
}

int zmq_poller_add(void *poller_, void *socket, void *user_data, short events) {
    return with_poller(poller_, [&](poller &self) {
        if (!socket_of(socket))
            return error::not_socket;
        if (has_bad_events(events))
            return error::invalid;
        return self.add({socket, -1, events, user_data});
    });
}

int zmq_poller_modify(void *poller_, void *socket, short events) {
    return with_poller(poller_, [&](poller &self) {
        if (!socket_of(socket))
            return error::not_socket;
        if (has_bad_events(events))
            return error::invalid;
        return self.modify(socket, -1, events);
    });
}

int zmq_poller_remove(void *poller_, void *socket) {
    return with_poller(poller_, [&](poller &self) {
        // One that was closed meanwhile can still be taken out.
        if (!socket || (!socket_of(socket) && !self.has(socket)))
            return error::not_socket;
        return self.remove(socket, -1);
    });
}

int zmq_poller_add_fd(void *poller_, zmq_fd_t fd, void *user_data, short events) {
    return with_poller(poller_, [&](poller &self) {
        if (fd < 0)
            return error::bad_descriptor;
        if (has_bad_events(events))
            return error::invalid;
        return self.add({nullptr, fd, events, user_data});
    });
}

int zmq_poller_modify_fd(void *poller_, zmq_fd_t fd, short events) {
    return with_poller(poller_, [&](poller &self) {
        if (fd < 0)
            return error::bad_descriptor;
        if (has_bad_events(events))
            return error::invalid;
        return self.modify(nullptr, fd, events);
    });
}

int zmq_poller_remove_fd(void *poller_, zmq_fd_t fd) {
    return with_poller(
        poller_, [&](poller &self) { return fd < 0 ? error::bad_descriptor : self.remove(nullptr, fd); });
}

int zmq_poller_wait(void *poller_, zmq_poller_event_t *event, long timeout) {
    return with_poller(poller_, [&](poller &self) {
        if (!event)
            return error::fault;
        std::size_t count = 0;
        const error e = self.wait({event, 1}, timeout, count);
        if (failed(e))
            *event = {nullptr, -1, nullptr, 0};
        return e;
    });
}

int zmq_poller_wait_all(void *poller_, zmq_poller_event_t *events, int n_events, long timeout) {
    std::size_t count = 0;
    const int result = with_poller(poller_, [&](poller &self) {
        if (n_events < 0)
            return error::invalid;
        if (!events)
            return error::fault;
        return self.wait({events, static_cast<std::size_t>(n_events)}, timeout, count);
    });
    return result == 0 ? static_cast<int>(count) : result;
}

int zmq_poller_fd(void *poller_, zmq_fd_t *fd) {
    return with_poller(poller_, [&](poller &) { return fd ? error::invalid : error::fault; });
}
