// Protects what the ends of a benchmark say: with keys that are made for it where both are
// in this process, and with those of the command line where they are on two hosts.

#pragma once

#include "arguments.hpp"
#include "bench_library.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace command {

class bench_security {
public:
    virtual ~bench_security() = default;
    /// Such as "CURVE"; empty where there is none.
    virtual std::string name() const = 0;
    /// Sets the options of a socket, before bind and connect. Throws `failure`.
    virtual void apply(const bench_library &library, void *socket, bool binds) const = 0;
    /// Whoever lets in the peers of those that bind; null where nobody is asked.
    virtual std::unique_ptr<class bench_judge> make_judge(const bench_library &library, void *context) const;
};
using bench_security_ptr = std::shared_ptr<const bench_security>;

bench_security_ptr made_curve();
bench_security_ptr made_plain();
/// Writes certificates into a folder of its own, which goes with it. Throws `failure`.
bench_security_ptr made_tls();
/// The security that the flags ask for, with this library.
bench_security_ptr given_security(const security_flags &flags);

/// Answers at inproc://zeromq.zap.01 of a context, until it goes.
class bench_judge {
public:
    struct login {
        std::string name, password;
    };

    /// It lets in the peers of PLAIN that show these, and all where there are none to show; others
    /// have been judged by their keys.
    bench_judge(const bench_library &library, void *context, std::optional<login> shown);
    ~bench_judge();
    bench_judge(const bench_judge &) = delete;
    bench_judge &operator=(const bench_judge &) = delete;

private:
    void run();
    bool lets_in(const std::vector<std::string> &request) const;

    const bench_library &library_;
    const std::optional<login> shown_;
    void *socket_;
    std::atomic<bool> is_to_stop_ = false;
    std::thread thread_;
};

}  // namespace command
