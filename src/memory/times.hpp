// The types of points in time and of how long something takes.
#pragma once

#include <chrono>

namespace zlink {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

}  // namespace zlink
