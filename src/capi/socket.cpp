// Sockets: making and closing, options, endpoints, sending and receiving, connection events.
//
// Map:      making, closing, options; endpoints; messages; what is deprecated.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <sys/uio.h>

#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "core/message.hpp"
#include "core/platform.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

namespace {

/// A size as the functions return it.
int clipped(std::size_t size) noexcept { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

message *message_at(zmq_msg_t *msg) noexcept { return std::launder(reinterpret_cast<message *>(msg)); }

byte_span octets(const void *data, std::size_t size) noexcept {
    return {static_cast<const std::uint8_t *>(data), size};
}

/// Runs `body(socket &)`, which gives an error, for the socket behind a pointer.
template <typename Body>
int with_socket(void *s, Body &&body) {
    return guarded([&] {
        socket *self = socket_of(s);
        return answer(self ? body(*self) : error::not_socket);
    });
}

/// try_block() for what a thread that is to be cancelled does to the end.
template <typename Body>
int change_socket(void *s, Body &&body) noexcept {
    const platform::cancellation_shield shield;
    return with_socket(s, body);
}

// The work of zmq_send and zmq_recv beyond small messages that go as they are. It stands in
// functions apart, so that each needs few registers.

[[gnu::noinline]] int send_at_length(socket *self, const void *buf, size_t len, int flags) {
    if (!self)
        return fail(error::not_socket);
    if (!buf && len > 0)
        return fail(error::fault);
    const error e = ending_here([&] { return self->send(octets(buf, len), flags); });
    return failed(e) ? fail(e) : clipped(len);
}

[[gnu::noinline]] int wake_receiver(socket &self, size_t len) noexcept {
    self.wake_receiver();
    return static_cast<int>(len);
}

[[gnu::noinline]] int send_addressed(socket &self, const void *buf, size_t len, int flags) {
    const pipe_end::at_once result = self.send_addressed_at_once(octets(buf, len), flags);
    if (__builtin_expect(result == pipe_end::at_once::done, 1))
        return static_cast<int>(len);
    if (result == pipe_end::at_once::sent_needs_wake)
        return wake_receiver(self, len);
    return send_at_length(&self, buf, len, flags);
}

[[gnu::noinline]] int receive_at_length(socket *self, void *buf, size_t len, int flags) {
    if (!self)
        return fail(error::not_socket);
    if (!buf && len > 0)
        return fail(error::fault);
    std::size_t size = 0;
    const error e = ending_here([&] { return self->receive(buf, len, size, flags); });
    return failed(e) ? fail(e) : clipped(size);
}

[[gnu::always_inline]] inline int copy_out(const short_frame &frame, void *buf) noexcept {
    copy_few(static_cast<std::uint8_t *>(buf), frame.data, frame.size);
    return static_cast<int>(frame.size);
}

[[gnu::noinline]] int receive_addressed(socket &self, void *buf, size_t len, int flags) {
    short_frame frame;
    if (__builtin_expect(self.receive_addressed_at_once(frame, len), 1))
        return copy_out(frame, buf);
    return receive_at_length(&self, buf, len, flags);
}

}  // namespace

// ---- Making, closing, options -------------------------------------------------------------------

void *zmq_socket(void *ctx, int type) {
    const platform::cancellation_shield shield;
    return guarded([&]() -> void * {
        std::shared_ptr<context> owner = context_of(ctx);
        if (!owner)
            return fail<void *>(error::fault);
        std::unique_ptr<socket> made;
        if (const error e = owner->make_socket(type, made); failed(e))
            return fail<void *>(e);
        if (void *handle = handles.add(handle_kind::socket, made.get(), owner)) {
            (void)made.release();
            return handle;
        }
        owner->close_socket(std::move(made));
        return fail<void *>(error::too_many_files);
    });
}

int zmq_close(void *s) {
    const platform::cancellation_shield shield;
    if (handles.forget(s, handle_kind::inherited_socket))
        return 0;
    const handle_slab::taken closing = handles.take(s, handle_kind::socket);
    if (!closing.object)
        return fail(error::not_socket);
    closing.owner->close_socket(std::unique_ptr<socket>(static_cast<socket *>(closing.object)));
    return 0;
}

int zmq_setsockopt(void *s, int option, const void *optval, size_t optvallen) {
    return change_socket(s, [&](socket &self) { return self.set_option(option, optval, optvallen); });
}

int zmq_getsockopt(void *s, int option, void *optval, size_t *optvallen) {
    return with_socket(s, [&](socket &self) { return self.get_option(option, optval, optvallen); });
}

// ---- Endpoints ----------------------------------------------------------------------------------

int zmq_bind(void *s, const char *addr) {
    return change_socket(s, [&](socket &self) { return self.bind(addr); });
}

int zmq_connect(void *s, const char *addr) {
    return change_socket(s, [&](socket &self) { return self.connect(addr); });
}

int zmq_unbind(void *s, const char *addr) {
    return change_socket(s, [&](socket &self) { return self.unbind(addr); });
}

int zmq_disconnect(void *s, const char *addr) {
    return change_socket(s, [&](socket &self) { return self.disconnect(addr); });
}

int zmq_socket_monitor(void *s, const char *addr, int events) {
    return change_socket(s, [&](socket &self) { return self.start_monitor(addr, events); });
}

// ---- Messages -----------------------------------------------------------------------------------

int zmq_send(void *s, const void *buf, size_t len, int flags) {
    socket *self = socket_of(s);
    if (__builtin_expect(!self || !buf, 0))
        return send_at_length(self, buf, len, flags);
    const pipe_end::at_once result = self->send_at_once(octets(buf, len), flags);
    if (__builtin_expect(result == pipe_end::at_once::done, 1))
        return static_cast<int>(len);
    if (result == pipe_end::at_once::sent_needs_wake)
        return wake_receiver(*self, len);
    return self->sends_addressed() ? send_addressed(*self, buf, len, flags)
                                   : send_at_length(self, buf, len, flags);
}

int zmq_send_const(void *s, const void *buf, size_t len, int flags) {
    socket *self = socket_of(s);
    if (!self)
        return fail(error::not_socket);
    if (!buf && len > 0)
        return fail(error::fault);
    const error e = ending_here([&] { return self->send_constant(octets(buf, len), flags); });
    return failed(e) ? fail(e) : clipped(len);
}

int zmq_recv(void *s, void *buf, size_t len, int flags) {
    socket *self = socket_of(s);
    if (__builtin_expect(!self || !buf, 0))
        return receive_at_length(self, buf, len, flags);
    short_frame frame;
    if (__builtin_expect(self->receive_at_once(frame, len), 1))
        return copy_out(frame, buf);
    return self->receives_addressed() ? receive_addressed(*self, buf, len, flags)
                                      : receive_at_length(self, buf, len, flags);
}

int zmq_msg_send(zmq_msg_t *msg, void *s, int flags) {
    socket *self = socket_of(s);
    if (!self)
        return fail(error::not_socket);
    if (!msg || !message_at(msg)->is_valid())
        return fail(error::fault);
    const std::size_t size = message_at(msg)->size();
    const error e = ending_here([&] { return self->send(*message_at(msg), flags); });
    return failed(e) ? fail(e) : clipped(size);
}

int zmq_msg_recv(zmq_msg_t *msg, void *s, int flags) {
    socket *self = socket_of(s);
    if (!self)
        return fail(error::not_socket);
    if (!msg)
        return fail(error::fault);
    const error e = ending_here([&] { return self->receive(*message_at(msg), flags); });
    return failed(e) ? fail(e) : clipped(message_at(msg)->size());
}

// ---- Deprecated ---------------------------------------------------------------------------------

int zmq_sendmsg(void *s, zmq_msg_t *msg, int flags) { return zmq_msg_send(msg, s, flags); }

int zmq_recvmsg(void *s, zmq_msg_t *msg, int flags) { return zmq_msg_recv(msg, s, flags); }

int zmq_sendiov(void *s, struct iovec *iov, size_t count, int flags) {
    if (!socket_of(s))
        return fail(error::not_socket);
    if (!iov || count == 0)
        return fail(error::invalid);
    int sent = -1;
    for (std::size_t i = 0; i < count; ++i) {
        const int its_flags = i + 1 < count ? flags : flags & ~ZMQ_SNDMORE;
        sent = zmq_send(s, iov[i].iov_base, iov[i].iov_len, its_flags);
        if (sent < 0)
            return -1;
    }
    return sent;
}

int zmq_recviov(void *s, struct iovec *iov, size_t *count, int flags) {
    socket *self = socket_of(s);
    if (!self)
        return fail(error::not_socket);
    if (!iov || !count || *count == 0)
        return fail(error::invalid);
    const std::size_t room = *count;
    *count = 0;
    for (bool has_more = true; has_more && *count < room;) {
        message part;
        part.init();
        if (const error e = ending_here([&] { return self->receive(part, flags); }); failed(e))
            return fail(e);
        void *copy = std::malloc(std::max<std::size_t>(part.size(), 1));
        if (copy) {
            std::copy_n(part.data(), part.size(), static_cast<std::uint8_t *>(copy));
            iov[(*count)++] = {copy, part.size()};
        }
        has_more = part.has_more();
        (void)part.close();
        if (!copy)
            return fail(error::no_memory);
    }
    return clipped(*count);
}
