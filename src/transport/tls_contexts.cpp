// Looking at the files, and what becomes of those that cannot be used; see tls_contexts.hpp.
#include "transport/tls_contexts.hpp"

namespace zlink {

namespace {
constexpr std::chrono::seconds between_looks{1};
}

error tls_contexts::make(tls_context::role as, const settings &options, std::string peer_name,
                         std::shared_ptr<tls_contexts> &out) {
    std::shared_ptr<tls_contexts> made(new tls_contexts(as, options, std::move(peer_name)));
    if (const error e = made->read(); failed(e))
        return e;
    out = std::move(made);
    return error::none;
}

/// Files that cannot be used are not read again until they have changed; where memory or
/// descriptors were short, they are.
error tls_contexts::read() {
    tls_files fresh(options_.tls_kept);
    std::shared_ptr<const tls_context> made;
    const error e = tls_context::make(role_, options_, peer_name_, fresh, made);
    if (!failed(e) || e == error::invalid)
        files_ = std::move(fresh);
    if (!failed(e)) {
        const std::lock_guard guard(mutex_);
        context_.swap(made);
    }
    return e;
}

std::shared_ptr<const tls_context> tls_contexts::current(time_point now) noexcept {
    if (const std::unique_lock at_files(looking_, std::try_to_lock); at_files)
        look(now);
    const std::lock_guard guard(mutex_);
    return context_;
}

void tls_contexts::look(time_point now) noexcept {
    if (now < next_look_)
        return;
    next_look_ = now + between_looks;
    try {
        if (files_.have_changed())
            (void)read();
    } catch (const std::bad_alloc &) {
        // Next time.
    }
}

}  // namespace zlink
