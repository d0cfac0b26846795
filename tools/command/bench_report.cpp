#include "bench_report.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace command {

std::string three_digits(double value) {
    const char *unit = "";
    for (const char *next : {"k", "M", "G"}) {
        if (value < 999.5) {
            break;
        }
        value /= 1000;
        unit = next;
    }
    return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

std::string short_size(size_t octets) {
    return octets >= 1048576 && octets % 1048576 == 0 ? fmt::format("{} MiB", octets / 1048576)
           : octets >= 1024 && octets % 1024 == 0     ? fmt::format("{} KiB", octets / 1024)
                                                      : fmt::format("{} B", octets);
}

std::string short_time(double microseconds, bool has_unicode) {
    const bool is_long = microseconds >= 1000;
    return three_digits(is_long ? microseconds / 1000 : microseconds) + (is_long       ? " ms"
                                                                         : has_unicode ? " µs"
                                                                                       : " us");
}

double figure_of(const bench_case &of, const bench_figures &figures) {
    return median(of.plan.is_round_trip ? figures.p50 : figures.rates);
}

bool has_runs(const bench_figures &figures) { return !figures.rates.empty(); }

bool is_of_one_table(const bench_case &a, const bench_case &b) {
    return a.plan.pattern == b.plan.pattern && a.plan.is_round_trip == b.plan.is_round_trip &&
           a.endpoint == b.endpoint;
}

std::string name_of_security(const bench_case &of) {
    return of.plan.security ? of.plan.security->name() : "";
}

std::string heading(const bench_case &of, bool has_unicode) {
    const std::string where = safe_for_terminal(of.endpoint);
    const std::string clients = of.plan.clients == 1 ? "" : fmt::format(", {} clients", of.plan.clients);
    const std::string rate =
        of.plan.rate > 0 ? fmt::format(", {} a second each", three_digits(of.plan.rate)) : "";
    const std::string security = name_of_security(of).empty() ? "" : ", " + name_of_security(of);
    const char *const dash = has_unicode ? "—" : "-";
    return of.plan.is_round_trip
               ? fmt::format("{} and back, {}{}{}{} {} time of a round trip, a shorter bar is better",
                             of.plan.pattern->words, where, security, clients, rate, dash)
               : fmt::format("{}, {}{}{}{} {} messages a second, a longer bar is better",
                             of.plan.pattern->words, where, security, clients, rate, dash);
}

namespace {

constexpr size_t bar_width = 24;

/// Columns of a table are of code points, and fmt counts those.
std::string bar(double share, bool has_unicode) {
    if (!has_unicode) {
        return std::string(std::max<size_t>(1, std::lround(share * bar_width)), '#');
    }
    constexpr std::array<const char *, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const size_t length = std::max<size_t>(1, std::lround(share * bar_width * 8));
    std::string drawn;
    for (size_t i = 0; i < length / 8; ++i) {
        drawn += "█";
    }
    return drawn + eighths[length % 8];
}

std::string ratio_of(const bench_case &of) {
    const double own = figure_of(of, of.libraries[0]), other = figure_of(of, of.libraries[1]);
    if (own <= 0 || other <= 0) {
        return {};
    }
    const std::string &to = of.libraries[1].library;
    return of.plan.is_round_trip ? fmt::format("  zlink takes {:.2f} times as long as {}", own / other, to)
                                 : fmt::format("  zlink passes {:.2f} times as many as {}", own / other, to);
}

std::string line_of(const bench_case &of, const bench_figures &figures, double largest, bool is_first,
                    bool has_unicode) {
    const double figure = figure_of(of, figures);
    std::string text =
        fmt::format("{:>9}  {:14} ", is_first ? short_size(of.plan.size) : "", figures.library);
    if (of.plan.is_round_trip) {
        text += fmt::format("{:>9} {:>9} {:>9} {:>9}  ", short_time(figure, has_unicode),
                            short_time(median(figures.p99), has_unicode),
                            short_time(median(figures.p999), has_unicode),
                            short_time(median(figures.longest), has_unicode));
    } else {
        text += fmt::format("{:>9} {:>9}  ", three_digits(figure) + "/s",
                            three_digits(figure * static_cast<double>(of.plan.size)) + "B/s");
    }
    return text + bar(largest > 0 ? figure / largest : 0, has_unicode) + '\n';
}

/// The longest bar: of the two libraries where there are two, otherwise of the table.
double largest_beside(const bench_case &of, const std::vector<bench_case> &cases) {
    double largest = 0;
    for (const bench_case &each : cases) {
        const bool counts = of.libraries.size() > 1 ? &each == &of : is_of_one_table(of, each);
        for (const bench_figures &figures : each.libraries) {
            largest = counts ? std::max(largest, figure_of(each, figures)) : largest;
        }
    }
    return largest;
}

std::string json_line(const bench_case &of, const bench_figures &figures) {
    std::string text = fmt::format(
        "{{\"pattern\":\"{}\",\"kind\":\"{}\",\"endpoint\":{},\"security\":\"{}\",\"size\":{},\"clients\":{},"
        "\"library\":{},\"runs\":{},\"messages_per_second\":{:.1f},\"octets_per_second\":{:.0f}",
        of.plan.pattern->name, of.plan.is_round_trip ? "round trip" : "one way", json_string(of.endpoint),
        name_of_security(of), of.plan.size, of.plan.clients, json_string(figures.library),
        figures.rates.size(), median(figures.rates),
        median(figures.rates) * static_cast<double>(of.plan.size));
    if (of.plan.is_round_trip) {
        text += fmt::format(",\"p50_us\":{:.2f},\"p99_us\":{:.2f},\"p99.9_us\":{:.2f},\"max_us\":{:.2f}",
                            median(figures.p50), median(figures.p99), median(figures.p999),
                            median(figures.longest));
    }
    if (of.libraries.size() > 1 && has_runs(of.libraries[1])) {
        const double other = figure_of(of, of.libraries[1]);
        text += fmt::format(",\"ratio\":{:.3f}", other > 0 ? figure_of(of, figures) / other : 0);
    }
    return text + "}\n";
}

}  // namespace

void bench_figures::add(const bench_outcome &outcome, bool is_round_trip) {
    rates.push_back(outcome.rate());
    if (is_round_trip) {
        p50.push_back(outcome.times.at(0.5));
        p99.push_back(outcome.times.at(0.99));
        p999.push_back(outcome.times.at(0.999));
        longest.push_back(outcome.times.longest());
    }
}

double median(std::vector<double> values) {
    if (values.empty()) {
        return 0;
    }
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string bench_picture(const std::vector<bench_case> &cases, bool has_unicode) {
    std::string text;
    const bench_case *before = nullptr;
    double largest = 0;
    for (const bench_case &each : cases) {
        if (!has_runs(each.libraries[0])) {
            continue;
        }
        const bool begins = !before || !is_of_one_table(*before, each);
        if (begins || each.libraries.size() > 1) {
            largest = largest_beside(each, cases);
        }
        if (begins) {
            text += (before ? "\n" : "") + heading(each, has_unicode) + '\n';
            text += each.plan.is_round_trip
                        ? fmt::format("{:>9}  {:14} {:>9} {:>9} {:>9} {:>9}\n", "size", "library", "p50",
                                      "p99", "p99.9", "max")
                        : fmt::format("{:>9}  {:14} {:>9} {:>9}\n", "size", "library", "messages", "octets");
            before = &each;
        }
        for (const bench_figures &figures : each.libraries) {
            if (has_runs(figures)) {
                text += line_of(each, figures, largest, &figures == &each.libraries[0], has_unicode);
            }
        }
        if (each.libraries.size() > 1 && has_runs(each.libraries[1])) {
            text += fmt::format("{:>9}{}\n", "", ratio_of(each));
        }
    }
    return text;
}

std::string bench_csv(const std::vector<bench_case> &cases) {
    std::string text = "pattern,kind,endpoint,size,clients,library,runs,messages_per_second,"
                       "p50_us,p99_us,p99.9_us,max_us,security\n";
    for (const bench_case &each : cases) {
        for (const bench_figures &figures : each.libraries) {
            if (has_runs(figures)) {
                text += fmt::format("{},{},\"{}\",{},{},{},{},{:.1f}", each.plan.pattern->name,
                                    each.plan.is_round_trip ? "round trip" : "one way", each.endpoint,
                                    each.plan.size, each.plan.clients, figures.library, figures.rates.size(),
                                    median(figures.rates));
                for (const auto *times : {&figures.p50, &figures.p99, &figures.p999, &figures.longest}) {
                    text += times->empty() ? "," : fmt::format(",{:.2f}", median(*times));
                }
                text += ',' + name_of_security(each) + '\n';
            }
        }
    }
    return text;
}

std::string bench_json(const std::vector<bench_case> &cases) {
    std::string text;
    for (const bench_case &each : cases) {
        for (const bench_figures &figures : each.libraries) {
            text += has_runs(figures) ? json_line(each, figures) : "";
        }
    }
    return text;
}

}  // namespace command
