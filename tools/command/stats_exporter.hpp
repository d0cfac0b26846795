// zlink stats --listen: the numbers of another process over HTTP, by the rules of ZLINK_METRICS.

#pragma once

#include "failure.hpp"

#include <string>

namespace command {

/// Answers /metrics, /metrics.json, /healthz and where it is asked for /peers, until a signal ends
/// it. `target`: as numbers_source has it. `where`: tcp://HOST:PORT and what may follow, also
/// without the scheme or the host. Throws `failure` where it cannot listen.
status export_numbers(const std::string &target, const std::string &where);

}  // namespace command
