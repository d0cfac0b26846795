#include "metrics/snapshot.hpp"

#include <algorithm>

namespace zlink::metrics {

std::vector<line> look_at(context &which) {
    const std::string name = std::to_string(which.number());
    std::vector<line> lines;
    const stats all = which.visit_sockets([&](const socket &each) {
        line found{name, each.name(), socket_type_name(each.type()), {}};
        each.add_stats(found.numbers);
        lines.push_back(std::move(found));
    });
    const auto queued = [](const line &each) {
        return each.numbers.queued_out.messages + each.numbers.queued_in.messages;
    };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const line &a, const line &b) { return queued(a) > queued(b); });
    if (lines.size() > most_sockets)
        lines.erase(lines.begin() + most_sockets, lines.end());
    line rest{name, "_other", "", all};
    for (const line &each : lines)
        rest.numbers.subtract(each.numbers);
    lines.push_back(std::move(rest));
    return lines;
}

}  // namespace zlink::metrics
