// How the ends of a benchmark protect what they say: with keys that are made for it where both are
// in this process, and with those of the command line where they are on two hosts.

#pragma once

#include "arguments.hpp"
#include "bench_library.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace command {

class bench_security {
public:
    virtual ~bench_security() = default;
    /// Such as "CURVE"; empty where there is none.
    virtual std::string name() const = 0;
    /// Sets the options of a socket, before bind and connect. Throws `failure`.
    virtual void apply(const bench_library &library, void *socket, bool binds) const = 0;
    /// Whether somebody has to judge the peers of those that bind.
    virtual bool needs_judge() const { return false; }
};
using bench_security_ptr = std::shared_ptr<const bench_security>;

bench_security_ptr made_curve();
bench_security_ptr made_plain();
/// Writes certificates into a folder of its own, which goes with it. Throws `failure`.
bench_security_ptr made_tls();
/// As the flags say, with this library.
bench_security_ptr given_security(const security_flags &flags);

/// Lets in whoever is asked about, at inproc://zeromq.zap.01 of a context, until it goes.
class bench_judge {
public:
    bench_judge(const bench_library &library, void *context);
    ~bench_judge();
    bench_judge(const bench_judge &) = delete;
    bench_judge &operator=(const bench_judge &) = delete;

private:
    void run();

    const bench_library &library_;
    void *socket_;
    std::atomic<bool> is_to_stop_ = false;
    std::thread thread_;
};

}  // namespace command
