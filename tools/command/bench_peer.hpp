// The two roles of `zlink bench` on two hosts: one side serves, the other tells it each run.

#pragma once

#include "bench_measure.hpp"
#include "failure.hpp"

#include <string>

namespace command {

/// Serves runs at this endpoint until it is interrupted. The messages go by a port of their own.
status serve_bench(const std::string &endpoint, const security_flags &security);

/// One run against a side that serves at this endpoint.
bench_outcome run_with_peer(const bench_plan &plan, const std::string &endpoint,
                            const security_flags &security, const bench_stopped &is_stopped);

}  // namespace command
