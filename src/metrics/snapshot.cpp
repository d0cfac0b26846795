#include "metrics/snapshot.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace zlink::metrics {

namespace {

struct numbered {
    std::uint64_t number;
    line what;
};

void tell_apart(std::vector<numbered> &lines) {
    std::set<std::pair<std::string, std::string>> seen;
    for (numbered &each : lines)
        if (line &what = each.what; !seen.emplace(what.type, label_text(what.socket)).second)
            what.socket = '#' + std::to_string(each.number) + ' ' + what.socket;
}

}  // namespace

std::vector<line> look_at(context &which) {
    const std::string name = std::to_string(which.number());
    std::vector<numbered> found;
    const stats all = which.visit_sockets([&](const socket &each) {
        numbered one{each.number(), {name, each.name(), socket_type_name(each.type()), {}}};
        each.add_stats(one.what.numbers);
        found.push_back(std::move(one));
    });
    std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.number < b.number; });
    if (found.size() > most_sockets)
        found.erase(found.begin() + most_sockets, found.end());
    tell_apart(found);
    line rest{name, "_other", "", all};
    std::vector<line> lines;
    for (numbered &each : found) {
        rest.numbers.subtract(each.what.numbers);
        lines.push_back(std::move(each.what));
    }
    lines.push_back(std::move(rest));
    return lines;
}

}  // namespace zlink::metrics
