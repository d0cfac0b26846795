// The functions that need neither a context nor a socket: versions, errors, Z85, counters,
// stopwatch, threads.
//
// Map:      versions, errors, capabilities; keys and Z85; atomic counters; stopwatch and sleep;
//           threads.
#include <atomic>
#include <cstring>
#include <thread>

#include "capi/boundary.hpp"
#include "context/context.hpp"
#include "core/built.hpp"
#include "core/curve_keys.hpp"
#include "core/platform.hpp"
#include "core/schemes.hpp"
#include "core/z85.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

// ---- Versions, errors, capabilities -------------------------------------------------------------

namespace {

void put(int *where, int value) noexcept {
    if (where)
        *where = value;
}

struct capability {
    std::string_view name;
    bool is_built;
};

// Beside the schemes. Both spellings of the WebSocket ones: libzmq asks for capitals.
constexpr capability capabilities[] = {
    {"inproc", true}, {"WS", ws_is_built}, {"WSS", wss_is_built}, {"curve", curve_is_built}, {"draft", false},
};

}  // namespace

int zmq_errno(void) { return errno; }

const char *zmq_strerror(int errnum) { return describe(errnum); }

void zmq_version(int *major, int *minor, int *patch) {
    put(major, ZMQ_VERSION_MAJOR);
    put(minor, ZMQ_VERSION_MINOR);
    put(patch, ZMQ_VERSION_PATCH);
}

void zlink_version(int *major, int *minor, int *patch) {
    put(major, ZLINK_VERSION_MAJOR);
    put(minor, ZLINK_VERSION_MINOR);
    put(patch, ZLINK_VERSION_PATCH);
}

int zlink_policy_in_force(void) {
    return guarded([] {
        bool is_there = false;
        const error e = context::has_policy(is_there);
        return failed(e) ? fail(e) : static_cast<int>(is_there);
    });
}

int zmq_has(const char *name) {
    if (!name)
        return 0;
    if (const known_scheme *const transport = find_scheme(name))
        return transport->is_built;
    for (const capability &each : capabilities)
        if (each.name == name)
            return each.is_built;
    return 0;
}

// ---- Keys and Z85 -------------------------------------------------------------------------------

char *zmq_z85_encode(char *dest, const uint8_t *data, size_t size) {
    if (size % 4 != 0)
        return fail<char *>(error::invalid);
    if (!dest || (!data && size > 0))
        return fail<char *>(error::fault);
    (void)z85_encode({data, size}, dest);
    dest[z85_text_size(size)] = '\0';
    return dest;
}

uint8_t *zmq_z85_decode(uint8_t *dest, const char *string) {
    if (!string)
        return fail<uint8_t *>(error::fault);
    const std::string_view text = string;
    if (text.empty() || !z85_decode(text, dest))
        return fail<uint8_t *>(error::invalid);
    return dest ? dest : fail<uint8_t *>(error::fault);
}

namespace {

/// Writes a key and the NUL behind it: 41 characters.
void put_key(byte_span key, char *out) noexcept {
    z85_encode(key, out);
    out[z85_text_size(key.size())] = '\0';
}

}  // namespace

int zmq_curve_keypair(char *z85_public_key, char *z85_secret_key) {
    if (!z85_public_key || !z85_secret_key)
        return fail(error::fault);
    return guarded([&] {
        if constexpr (curve_is_built) {
            curve_key public_key;
            curve_secret_key secret_key;
            if (make_curve_keys(public_key, secret_key)) {
                put_key(public_key, z85_public_key);
                put_key(secret_key, z85_secret_key);
                return 0;
            }
        }
        return fail(error::not_supported);
    });
}

int zmq_curve_public(char *z85_public_key, const char *z85_secret_key) {
    if (!z85_secret_key)
        return fail(error::fault);
    return guarded([&] {
        curve_secret_key secret_key;
        if (std::strlen(z85_secret_key) != z85_text_size(secret_key.size()) ||
            !z85_decode(z85_secret_key, secret_key.data()))
            return fail(error::invalid);
        if (!z85_public_key)
            return fail(error::fault);
        if constexpr (curve_is_built) {
            curve_key public_key;
            if (!derive_curve_public(secret_key, public_key))
                return fail(error::invalid);
            put_key(public_key, z85_public_key);
            return 0;
        }
        return fail(error::not_supported);
    });
}

// ---- Atomic counters ----------------------------------------------------------------------------

namespace {

using counter_value = std::atomic<int>;

counter_value *as_counter(void *counter) noexcept {
    return counter ? static_cast<counter_value *>(counter) : fail<counter_value *>(error::fault);
}

}  // namespace

void *zmq_atomic_counter_new(void) {
    auto *counter = new (std::nothrow) counter_value(0);
    return counter ? counter : fail<void *>(error::no_memory);
}

void zmq_atomic_counter_set(void *counter, int value) {
    if (counter_value *c = as_counter(counter))
        *c = value;
}

int zmq_atomic_counter_inc(void *counter) {
    counter_value *c = as_counter(counter);
    return c ? c->fetch_add(1) : -1;
}

int zmq_atomic_counter_dec(void *counter) {
    counter_value *c = as_counter(counter);
    return c ? c->fetch_sub(1) != 1 : -1;
}

int zmq_atomic_counter_value(void *counter) {
    counter_value *c = as_counter(counter);
    return c ? c->load() : -1;
}

void zmq_atomic_counter_destroy(void **counter_p) {
    if (!counter_p)
        return;
    delete static_cast<counter_value *>(*counter_p);
    *counter_p = nullptr;
}

// ---- Stopwatch and sleep ------------------------------------------------------------------------

void *zmq_stopwatch_start(void) {
    auto *start = new (std::nothrow) time_point(platform::steady_clock().now());
    return start ? start : fail<void *>(error::no_memory);
}

unsigned long zmq_stopwatch_intermediate(void *watch) {
    if (!watch) {
        (void)fail(error::fault);
        return 0;
    }
    const duration passed = platform::steady_clock().now() - *static_cast<time_point *>(watch);
    return static_cast<unsigned long>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
}

unsigned long zmq_stopwatch_stop(void *watch) {
    const unsigned long passed = zmq_stopwatch_intermediate(watch);
    delete static_cast<time_point *>(watch);
    return passed;
}

void zmq_sleep(int seconds) { std::this_thread::sleep_for(std::chrono::seconds(seconds)); }

// ---- Threads ------------------------------------------------------------------------------------

void *zmq_threadstart(zmq_thread_fn *func, void *arg) {
    if (!func)
        return fail<void *>(error::fault);
    return guarded([&]() -> void * {
        // Signals go, as in libzmq, to the application's own threads.
        const platform::signal_shield shield;
        return new std::thread([func, arg] {
            platform::name_this_thread("ZMQapp");
            func(arg);
        });
    });
}

void zmq_threadclose(void *thread) {
    auto *t = static_cast<std::thread *>(thread);
    if (!t)
        return;
    // Closed by the thread itself: there is nobody to wait for.
    if (t->get_id() == std::this_thread::get_id())
        t->detach();
    else
        t->join();
    delete t;
}
