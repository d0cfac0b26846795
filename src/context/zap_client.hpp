// Puts the questions of sessions to the application's authentication handler, at
// inproc://zeromq.zap.01 (RFC 27/ZAP).
//
// Pipes:    each question has one of its own, as a REQ that connects for it would. A handler is a
//           REP or a ROUTER, which answer whom they were asked by; a DEALER answers in turn, which
//           may be another. Whoever is bound when a question comes is asked; a question whose
//           handler closes stays unanswered.
// Threads:  ask() on any. Each question belongs to the thread that has asked.
#pragma once

#include "context/inproc.hpp"
#include "core/authenticator.hpp"

namespace zlink {

class zap_client final : public authenticator {
public:
    /// `names` outlives it.
    explicit zap_client(inproc_names &names) noexcept : names_(names) {}

    std::unique_ptr<authentication> ask(const authentication_request &what,
                                        std::function<void()> on_answer) override;

private:
    inproc_names &names_;
};

}  // namespace zlink
