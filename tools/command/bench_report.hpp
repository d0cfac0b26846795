// Shows what `zlink bench` has measured, as a picture, CSV or JSON.

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
/// The figure that is compared: a rate of messages, or half of the round trips.
double figure_of(const bench_case &of, const bench_figures &figures);
bool has_runs(const bench_figures &figures);
bool is_of_one_table(const bench_case &a, const bench_case &b);

std::string heading(const bench_case &of, bool has_unicode);
std::string name_of_security(const bench_case &of);
/// Three digits, and k, M or G.
std::string three_digits(double value);
std::string short_size(size_t octets);
std::string short_time(double microseconds, bool has_unicode);

/// Bars and numbers; what has no run yet is left out.
std::string bench_picture(const std::vector<bench_case> &cases, bool has_unicode);
std::string bench_csv(const std::vector<bench_case> &cases);
std::string bench_json(const std::vector<bench_case> &cases);

}  // namespace command
