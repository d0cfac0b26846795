// The contexts of one endpoint, one after the other: a new one when the files that it is made of
// have changed.
//
// Files:    looked at when there is a new connection, once a second at most. When new ones cannot
//           be used the old context stays, and the reason is left once (core/reason.hpp).
// Threads:  any.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "reactor/loop.hpp"
#include "transport/tls_context.hpp"

namespace zlink {

class tls_contexts {
public:
    /// `options` of a client outlive this; those of a server are copied. Throws std::bad_alloc.
    static error make(tls_context::role as, const settings &options, std::string peer_name,
                      std::shared_ptr<tls_contexts> &out);

    /// The context that a new connection has to use. While one thread reads the files, others get
    /// the old one.
    std::shared_ptr<const tls_context> current(time_point now) noexcept;
    const settings &options() const noexcept { return options_; }

private:
    tls_contexts(tls_context::role as, const settings &options, std::string peer_name)
        : role_(as),
          own_options_(as == tls_context::role::server ? std::make_unique<settings>(options) : nullptr),
          options_(own_options_ ? *own_options_ : options), peer_name_(std::move(peer_name)) {}
    void look(time_point now) noexcept;
    error read();

    const tls_context::role role_;
    const std::unique_ptr<const settings> own_options_;
    const settings &options_;
    const std::string peer_name_;
    std::mutex looking_;  // held by who looks at the files; guards the two below it
    tls_files files_;
    time_point next_look_{};
    std::mutex mutex_;  // guards context_
    std::shared_ptr<const tls_context> context_;
};

}  // namespace zlink
