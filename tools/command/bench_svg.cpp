// Map: the page; a panel for each table: its axis, and a row for each size and library.

#include "bench_svg.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace command {

namespace {

constexpr double width_of_page = 860, margin = 20, left_of_plot = 230, right_of_plot = 760;
constexpr double height_of_row = 22, height_of_head = 52, between_sizes = 6;

constexpr const char *style = R"(
    .page { fill: #ffffff; }
    text { font-family: "DejaVu Sans", Verdana, Arial, sans-serif; font-size: 12px; fill: #212529; }
    .head { font-size: 14px; font-weight: bold; }
    .small { font-size: 11px; fill: #495057; }
    .end { text-anchor: end; }
    .mid { text-anchor: middle; }
    .grid { stroke: #dee2e6; stroke-width: 1; }
    .own { fill: #3b5bdb; stroke: #3b5bdb; }
    .other { fill: #868e96; stroke: #868e96; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #16181c; }
      text { fill: #f1f3f5; }
      .small { fill: #ced4da; }
      .grid { stroke: #343a40; }
      .own { fill: #91a7ff; stroke: #91a7ff; }
      .other { fill: #adb5bd; stroke: #adb5bd; }
    })";

std::string escaped(const std::string &text) {
    std::string safe;
    for (const char c : safe_for_terminal(text)) {
        safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    }
    return safe;
}

std::string words(double x, double y, const std::string &style_of, const std::string &text) {
    return fmt::format("  <text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", style_of, x, y,
                       escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char *style_of, double thickness = 1) {
    return fmt::format("  <line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
                       "stroke-width=\"{}\"/>\n",
                       style_of, x1, y1, x2, y2, thickness);
}

/// A table of the text, and where its numbers stand.
class panel {
public:
    panel(const std::vector<const bench_case *> &cases, double top) : cases_(cases), top_(top) {
        is_of_times_ = cases[0]->plan.is_round_trip;
        compares_ = cases[0]->libraries.size() > 1;
        for (const bench_case *each : cases) {
            for (const bench_figures &figures : each->libraries) {
                if (has_runs(figures)) {
                    const double last = is_of_times_ ? median(figures.longest) : figure_of(*each, figures);
                    most_ = std::max(most_, last);
                    least_ =
                        least_ > 0 ? std::min(least_, figure_of(*each, figures)) : figure_of(*each, figures);
                }
            }
        }
        // Powers of ten around all times; the rates begin at nothing.
        least_ = is_of_times_ ? std::pow(10, std::floor(std::log10(std::max(least_, 0.001)))) : 0;
        most_ = is_of_times_ ? std::pow(10, std::ceil(std::log10(std::max(most_, 0.01)))) : most_;
    }

    std::string draw(double &bottom) const {
        double y = top_ + height_of_head;
        std::string rows;
        for (const bench_case *each : cases_) {
            for (const bench_figures &figures : each->libraries) {
                if (has_runs(figures)) {
                    rows += row(*each, figures, y);
                    y += height_of_row;
                }
            }
            y += between_sizes;
        }
        bottom = y;
        return words(margin, top_ + 16, "head", heading_of()) + axis(y) + rows;
    }

private:
    std::string heading_of() const {
        const std::string all = heading(*cases_[0], true);
        return all.substr(0, all.rfind(", ")) +  // what a bar means is said by the axis
               (compares_ && !is_of_times_ ? ", the larger of both at each size is a whole bar" : "");
    }

    double at(double value) const {
        const double share = is_of_times_
                                 ? std::log10(std::max(value, least_) / least_) / std::log10(most_ / least_)
                                 : value / std::max(most_, 1e-9);
        return left_of_plot + share * (right_of_plot - left_of_plot);
    }

    double share_of_rate(const bench_case &of, const bench_figures &figures) const {
        double most = compares_ ? 0 : most_;
        for (const bench_figures &each : of.libraries) {
            most = std::max(most, figure_of(of, each));
        }
        return figure_of(of, figures) / std::max(most, 1e-9);
    }

    std::string axis(double bottom) const {
        std::string drawn;
        const auto mark = [&](double value, const std::string &text) {
            drawn += line(at(value), top_ + height_of_head - 6, at(value), bottom - between_sizes, "grid");
            drawn += words(at(value), top_ + height_of_head - 10, "small mid", text);
        };
        if (!is_of_times_ && compares_) {
            return drawn;
        }
        if (!is_of_times_) {
            const double step = nice_step(most_);
            for (int i = 0; i * step <= most_ * 1.0001; ++i) {
                mark(i * step, i == 0 ? "0" : three_digits(i * step) + "/s");
            }
            return drawn;
        }
        for (double value = least_; value <= most_ * 1.0001; value *= 10) {
            mark(value, value < 1 ? fmt::format("{} µs", value) : short_time(value, true));
        }
        return drawn;
    }

    /// Some four marks at round numbers.
    static double nice_step(double most) {
        const double raw = std::max(most, 1e-9) / 4, power = std::pow(10, std::floor(std::log10(raw)));
        for (const double factor : {1.0, 2.0, 5.0}) {
            if (raw <= factor * power) {
                return factor * power;
            }
        }
        return 10 * power;
    }

    std::string row(const bench_case &of, const bench_figures &figures, double y) const {
        const bool is_own = &figures == of.libraries.data();
        const char *const colour = is_own ? "own" : "other";
        std::string drawn = is_own ? words(margin + 60, y + 14, "end", short_size(of.plan.size)) : "";
        drawn += words(margin + 76, y + 14, "", figures.library);
        if (!is_of_times_) {
            drawn += fmt::format("  <rect class=\"{}\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\" "
                                 "rx=\"2\"/>\n",
                                 colour, left_of_plot, y + 3,
                                 std::max(1.0, share_of_rate(of, figures) * (right_of_plot - left_of_plot)));
            return drawn + words(right_of_plot + 10, y + 14, "", three_digits(figure_of(of, figures)) + "/s");
        }
        const std::array<double, 4> times{median(figures.p50), median(figures.p99), median(figures.p999),
                                          median(figures.longest)};
        drawn += line(at(times[0]), y + 10, at(times[3]), y + 10, colour, 2);
        constexpr std::array<double, 4> radius{6, 4.5, 3, 2};
        for (size_t i = 0; i < times.size(); ++i) {
            drawn += fmt::format("  <circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", colour,
                                 at(times[i]), y + 10, radius[i]);
        }
        return drawn + words(right_of_plot + 10, y + 14, "", short_time(times[0], true));
    }

    const std::vector<const bench_case *> cases_;
    const double top_;
    bool is_of_times_ = false;
    bool compares_ = false;  // rates have a scale for each size, of which two libraries have two
    double least_ = 0, most_ = 0;
};

}  // namespace

std::string bench_svg(const std::vector<bench_case> &cases, const std::string &footer) {
    std::vector<std::vector<const bench_case *>> tables;
    for (const bench_case &each : cases) {
        if (!has_runs(each.libraries[0])) {
            continue;
        }
        if (tables.empty() || !is_of_one_table(*tables.back()[0], each)) {
            tables.emplace_back();
        }
        tables.back().push_back(&each);
    }
    std::string drawn;
    double y = margin;
    bool has_times = false;
    for (const auto &table : tables) {
        drawn += panel(table, y).draw(y);
        has_times = has_times || table[0]->plan.is_round_trip;
        y += margin;
    }
    if (has_times) {
        drawn +=
            words(margin, y + 4, "small",
                  "Of round trips the dots are, from large to small: the middle one, whose time stands at "
                  "the right; the time");
        drawn +=
            words(margin, y + 20, "small",
                  "that 99 %, and that 99.9 % of all do not exceed; the longest. Each line of the grid is "
                  "ten times the one before.");
        y += 36;
    }
    drawn += words(margin, y + 4, "small", footer.substr(0, footer.find('\n')));
    const double height = y + margin;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
               "height=\"{1:.0f}\" role=\"img\">\n  <title>zlink bench</title>\n"
               "  <style>{2}\n  </style>\n  <rect class=\"page\" width=\"{0}\" height=\"{1:.0f}\"/>\n",
               width_of_page, height, style) +
           drawn + "</svg>\n";
}

}  // namespace command
