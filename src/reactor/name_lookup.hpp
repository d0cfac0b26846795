// Asks the system for the addresses of names, one after the other, on a thread that nobody waits
// for: a name server may take its time, also when the loop has ended meanwhile.
//
// Threads:  the loop's, unless a function says otherwise.
// Owns:     one thread a loop, from the first question on. It ends by itself after the loop, with
//           the answer it waits for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "core/error.hpp"
#include "reactor/loop.hpp"

namespace zlink {

struct resolved_address {
    sockaddr_storage address{};
    socklen_t length = 0;
};

/// One question; its handler is called on the loop's thread, behind the reason (core/reason.hpp) of
/// a failure.
class name_question final : public loop_task {
public:
    using handler = std::function<void(std::vector<resolved_address> found, error failure)>;

    name_question(std::string host, std::string service, bool allow_ipv6, handler done)
        : host_(std::move(host)), service_(std::move(service)), allow_ipv6_(allow_ipv6),
          done_(std::move(done)) {}
    /// The handler is not called any more.
    void cancel() noexcept {
        is_wanted_.store(false, std::memory_order_relaxed);
        done_ = nullptr;
    }

private:
    friend class name_lookup;
    void ask_system() noexcept;
    void run() noexcept override;
    void leave_words() const noexcept;

    const std::string host_;
    const std::string service_;
    const bool allow_ipv6_;
    handler done_;
    std::atomic<bool> is_wanted_{true};
    std::vector<resolved_address> found_;
    error failure_ = error::none;
    const char *words_ = nullptr;                  // the system's, of a failure
    std::shared_ptr<name_question> while_posted_;  // this
};

class name_lookup {
public:
    /// Throws bad_alloc.
    explicit name_lookup(loop &io);
    /// Closes.
    ~name_lookup() { close(); }
    name_lookup(const name_lookup &) = delete;
    name_lookup &operator=(const name_lookup &) = delete;

    /// Throws bad_alloc, or system_error when no thread can be made.
    void ask(std::shared_ptr<name_question> what);
    /// Nothing is posted to the loop any more. Any thread; does not wait for an answer.
    void close() noexcept;

private:
    struct state;
    static void look_up_all(const std::shared_ptr<state> &shared) noexcept;

    const std::shared_ptr<state> state_;
};

}  // namespace zlink
