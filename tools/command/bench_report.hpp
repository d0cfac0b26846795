// What `zlink bench` has measured, as a picture, CSV or JSON.

#pragma once

#include "bench_measure.hpp"

#include <string>
#include <vector>

namespace command {

/// The runs of one library.
struct bench_figures {
    std::string library;
    std::vector<double> rates;                    // messages or round trips a second
    std::vector<double> p50, p99, p999, longest;  // microseconds
    void add(const bench_outcome &outcome, bool is_round_trip);
};

struct bench_case {
    bench_plan plan;
    std::string endpoint;
    std::vector<bench_figures> libraries;  // zlink first, then the one it is measured against
};

double median(std::vector<double> values);

/// Bars and numbers; what has no run yet is left out.
std::string bench_picture(const std::vector<bench_case> &cases, bool has_unicode);
std::string bench_csv(const std::vector<bench_case> &cases);
std::string bench_json(const std::vector<bench_case> &cases);

}  // namespace command
