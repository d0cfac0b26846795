// zmq_msg_*, all but sending and receiving.
//
// Limits:  a pointer is checked for NULL and for the mark of a prepared message; other garbage
//          cannot be told.
#include <charconv>
#include <cstring>
#include <new>

#include "capi/boundary.hpp"
#include "core/message.hpp"
#include "zmq.h"

namespace {

using namespace zlink;
using namespace zlink::capi;

static_assert(sizeof(zmq_msg_t) == sizeof(message) && alignof(zmq_msg_t) >= alignof(message));

message *storage_of(zmq_msg_t *msg) noexcept { return std::launder(reinterpret_cast<message *>(msg)); }
const message *storage_of(const zmq_msg_t *msg) noexcept {
    return std::launder(reinterpret_cast<const message *>(msg));
}

/// The message behind a pointer, null when there is none that is prepared.
template <typename Pointer>
auto prepared(Pointer *msg) noexcept -> decltype(storage_of(msg)) {
    return msg && storage_of(msg)->is_valid() ? storage_of(msg) : nullptr;
}

const char *find_property(const message &m, const char *name) noexcept {
    const peer_info *info = m.info();
    if (!info)
        return nullptr;
    if (const char *value = info->find(name))
        return value;
    // RFC 23 says Identity where the API says Routing-Id.
    if (std::strcmp(name, "Routing-Id") == 0)
        return info->find("Identity");
    if (std::strcmp(name, "Identity") == 0)
        return info->find("Routing-Id");
    return nullptr;
}

int source_descriptor(const message &m) noexcept {
    int descriptor = -1;
    if (const char *text = find_property(m, "__fd"))
        (void)std::from_chars(text, text + std::strlen(text), descriptor);
    return descriptor;
}

}  // namespace

int zmq_msg_init(zmq_msg_t *msg) {
    if (!msg)
        return fail(error::fault);
    storage_of(msg)->init();
    return 0;
}

int zmq_msg_init_size(zmq_msg_t *msg, size_t size) {
    return answer(msg ? storage_of(msg)->init_size(size) : error::fault);
}

int zmq_msg_init_data(zmq_msg_t *msg, void *data, size_t size, zmq_free_fn *ffn, void *hint) {
    if (!msg || (!data && size > 0))
        return fail(error::fault);
    return answer(storage_of(msg)->init_external(data, size, ffn, hint));
}

int zmq_msg_close(zmq_msg_t *msg) { return answer(msg ? storage_of(msg)->close() : error::fault); }

int zmq_msg_move(zmq_msg_t *dest, zmq_msg_t *src) {
    if (!dest || !src)
        return fail(error::fault);
    return answer(storage_of(dest)->move_from(*storage_of(src)));
}

int zmq_msg_copy(zmq_msg_t *dest, zmq_msg_t *src) {
    if (!dest || !src)
        return fail(error::fault);
    return answer(storage_of(dest)->copy_from(*storage_of(src)));
}

void *zmq_msg_data(zmq_msg_t *msg) {
    message *m = prepared(msg);
    return m ? m->data() : fail<void *>(error::fault);
}

size_t zmq_msg_size(const zmq_msg_t *msg) {
    const message *m = prepared(msg);
    if (m)
        return m->size();
    (void)fail(error::fault);
    return 0;
}

int zmq_msg_more(const zmq_msg_t *msg) {
    if (!prepared(msg))
        (void)fail(error::fault);
    // Programs close a part and then ask whether more follow, as libzmq lets them: the mark
    // outlives the body.
    return msg && storage_of(msg)->has_more();
}

int zmq_msg_get(const zmq_msg_t *msg, int property) {
    if (property != ZMQ_MORE && property != ZMQ_SRCFD && property != ZMQ_SHARED)
        return fail(error::invalid);
    if (property == ZMQ_MORE && msg)
        return zmq_msg_more(msg);
    const message *m = prepared(msg);
    if (!m)
        return fail(error::fault);
    if (property == ZMQ_SHARED)
        return m->is_shared();
    const int descriptor = source_descriptor(*m);
    return descriptor >= 0 ? descriptor : fail(error::invalid);
}

int zmq_msg_set(zmq_msg_t *, int, int) { return fail(error::invalid); }

const char *zmq_msg_gets(const zmq_msg_t *msg, const char *property) {
    const message *m = prepared(msg);
    if (!m)
        return fail<const char *>(error::fault);
    const char *value = property ? find_property(*m, property) : nullptr;
    return value ? value : fail<const char *>(error::invalid);
}
