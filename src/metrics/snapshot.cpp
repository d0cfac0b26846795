// The walk over the sockets of a context; see snapshot.hpp. Map: who is summed and stays so; names
// for labels; the walk.
#include "metrics/snapshot.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace zlink::metrics {

namespace {

struct numbered {
    std::uint64_t number;
    line what;
};

/// A socket that was summed once stays so, or the sum would fall.
void leave_out_summed(std::vector<numbered> &found, std::set<std::uint64_t> &summed, stats &highest) {
    std::set<std::uint64_t> still;
    std::size_t kept = 0;
    std::erase_if(found, [&](const numbered &each) {
        if (!summed.contains(each.number) && kept < most_sockets) {
            ++kept;
            return false;
        }
        still.insert(each.number);
        highest.keep_highest(each.what.numbers);
        return true;
    });
    summed = std::move(still);
}

}  // namespace

std::string label_text(std::string_view value, std::size_t most) {
    std::string text(value.substr(0, most));
    std::replace_if(
        text.begin(), text.end(), [](char each) { return each < 0x20 || each >= 0x7F; }, '?');
    return text;
}

void add_quoted(std::string &to, std::string_view value, std::size_t most) {
    for (const char each : label_text(value, most)) {
        if (each == '"' || each == '\\')
            to += '\\';
        to += each;
    }
}

std::string names_of_sockets::operator()(std::uint64_t number, std::string name, const std::string &type) {
    return seen_.emplace(type, label_text(name)).second ? name : '#' + std::to_string(number) + ' ' + name;
}

void look_at(context &which, numbers_of_contexts &to) {
    const std::string name = std::to_string(which.number());
    memory_of_looks &memory = which.looks();
    std::lock_guard guard(memory.mutex);
    std::vector<numbered> found;
    const stats all = which.visit_sockets([&](const socket &each, const stats &its) {
        found.push_back({each.number(), {name, each.name(), socket_type_name(each.type()), its}});
    });
    std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.number < b.number; });
    line rest{name, "_other", "", all};
    rest.numbers.highest_out = rest.numbers.highest_in = {};
    leave_out_summed(found, memory.summed, rest.numbers);
    names_of_sockets names;
    for (numbered &each : found) {
        each.what.socket = names(each.number, std::move(each.what.socket), each.what.type);
        rest.numbers.subtract(each.what.numbers);
        to.sockets.push_back(std::move(each.what));
    }
    rest.numbers.keep_most(memory.most);
    memory.most = rest.numbers;
    to.sockets.push_back(std::move(rest));
    context_line &its = to.contexts.emplace_back();
    its.context = name;
    its.numbers = which.numbers();
    its.queued_octets = all.queued_out.octets + all.queued_in.octets;
    for (std::size_t i = 0; i < its.numbers.threads; ++i)
        its.threads.push_back(which.numbers_of_thread(i));
}

}  // namespace zlink::metrics
