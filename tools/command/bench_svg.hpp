// Draws what `zlink bench` has measured, as a picture for a browser.

#pragma once

#include "bench_report.hpp"

#include <string>
#include <vector>

namespace command {

/// Bars of rates, and of round trips a line from the middle to the longest on a scale of powers of
/// ten. It has the colours of the reader's scheme, light or dark.
std::string bench_svg(const std::vector<bench_case> &cases, const std::string &footer);

}  // namespace command
