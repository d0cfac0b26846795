// zmq_ctx_*, and their deprecated names.
#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "metrics/exporter.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

namespace {

error set_int(context &ctx, int option, int value) { return ctx.set_option(option, &value, sizeof value); }

/// Keeps hold of the context while it waits.
int terminate(void *ctx) {
    if (handles.forget(ctx, handle_kind::inherited_context))
        return 0;
    const std::shared_ptr<context> found = context_of(ctx);
    if (!found)
        return fail(error::fault);
    if (const error e = found->terminate(); failed(e))
        return fail(e);
    // Other calls may keep the context a while longer, but nobody is told anything any more.
    if (const error e = found->set_log(nullptr, nullptr, log_level::none); failed(e))
        return fail(e);
    metrics::forget(*found);
    (void)handles.take(ctx, handle_kind::context);
    return 0;
}

}  // namespace

void *zmq_ctx_new(void) {
    return guarded([]() -> void * {
        std::shared_ptr<context> made = context::make();
        if (!made)
            return fail<void *>(error::no_memory);
        context *object = made.get();
        void *handle = handles.add(handle_kind::context, object, std::move(made));
        if (!handle)
            return fail<void *>(error::too_many_files);
        metrics::watch(*object);
        return handle;
    });
}

int zmq_ctx_term(void *ctx) {
    return ending_here([&] { return terminate(ctx); });
}

int zmq_ctx_shutdown(void *ctx) {
    const std::shared_ptr<context> found = context_of(ctx);
    if (!found)
        return fail(error::fault);
    found->shutdown();
    return 0;
}

int zmq_ctx_set(void *ctx, int option, int optval) {
    return guarded([&] {
        const std::shared_ptr<context> found = context_of(ctx);
        return answer(found ? set_int(*found, option, optval) : error::fault);
    });
}

int zmq_ctx_get(void *ctx, int option) {
    return guarded([&] {
        const std::shared_ptr<context> found = context_of(ctx);
        if (!found)
            return fail(error::fault);
        int value = 0;
        std::size_t size = sizeof value;
        const error e = found->get_option(option, &value, &size);
        return failed(e) ? fail(e) : value;
    });
}

int zlink_set_log(void *context, zlink_log_fn *log, void *arg, int level) {
    return guarded([&] {
        const std::shared_ptr<zlink::context> found = context_of(context);
        if (!found)
            return fail(error::fault);
        if (log && (level < ZLINK_LOG_ERROR || level > ZLINK_LOG_DEBUG))
            return fail(error::invalid);
        return answer(found->set_log(log, arg, static_cast<log_level>(level)));
    });
}

void *zmq_init(int io_threads) {
    if (io_threads < 0)
        return fail<void *>(error::invalid);
    void *ctx = zmq_ctx_new();
    if (ctx && zmq_ctx_set(ctx, ZMQ_IO_THREADS, io_threads) != 0) {
        const error e = from_errno(errno);
        (void)zmq_ctx_term(ctx);
        return fail<void *>(e);
    }
    return ctx;
}

int zmq_term(void *ctx) { return zmq_ctx_term(ctx); }

int zmq_ctx_destroy(void *ctx) { return zmq_ctx_term(ctx); }
