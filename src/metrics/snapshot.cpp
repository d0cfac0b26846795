// The walk over the sockets of a context; see snapshot.hpp. Map: who is summed; names for labels;
// the walk; the contexts without lines.
#include "metrics/snapshot.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace zlink::metrics {

namespace {

struct numbered {
    std::uint64_t number;
    line what;
};

constexpr const char *the_rest = "_other";

/// FNV-1a, which is the same on every machine.
std::uint32_t number_of(std::string_view text) noexcept {
    std::uint32_t number = 2166136261u;
    for (const char each : text)
        number = (number ^ static_cast<unsigned char>(each)) * 16777619u;
    return number;
}

/// Those that have lines remain; of the others the highest numbers do.
void leave_out_summed(std::vector<numbered> &found, const std::vector<bool> &has_lines, stats &highest) {
    std::size_t at = 0;
    std::erase_if(found, [&](const numbered &each) {
        if (has_lines[at++])
            return false;
        highest.keep_highest(each.what.numbers);
        return true;
    });
}

void add_threads(context &which, context_line &to) {
    for (std::size_t i = 0; i < to.numbers.threads; ++i) {
        const io_thread_numbers its = which.numbers_of_thread(i);
        if (i <= most_threads)
            to.threads.push_back(its);
        else
            to.threads.back() += its;
    }
}

}  // namespace

std::string label_text(std::string_view value, std::size_t most) {
    char ending[16] = "";
    int size = 0;
    if (value.size() > most)
        size = std::snprintf(ending, sizeof ending, "~%08x", number_of(value));
    std::string text(value.substr(0, most - static_cast<std::size_t>(size)));
    std::replace_if(
        text.begin(), text.end(), [](char each) { return each < 0x20 || each >= 0x7F; }, '?');
    return text + ending;
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

void look_at(context &which, line_allotment &lines, numbers_of_contexts &to) {
    const std::string name = std::to_string(which.number());
    memory_of_looks &memory = which.looks();
    std::lock_guard guard(memory.mutex);
    std::vector<numbered> found;
    const stats all = which.visit_sockets([&](const socket &each, const stats &its) {
        found.push_back(
            {each.number(), {name, each.name(), socket_type_name(each.type()), each.type(), its}});
    });
    std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.number < b.number; });
    line rest{name, the_rest, "", std::nullopt, all};
    rest.numbers.highest_out = rest.numbers.highest_in = {};
    std::vector<std::uint64_t> numbers;
    numbers.reserve(found.size());
    for (const numbered &each : found)
        numbers.push_back(each.number);
    leave_out_summed(found, lines.settle(which.number(), numbers), rest.numbers);
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
    add_threads(which, its);
}

void add_to_rest(context &which, line &sum, context_line &numbers) {
    const stats all = which.get_stats();
    sum.numbers.add(all);
    const context_numbers its = which.numbers();
    numbers.numbers.descriptors += its.descriptors;
    numbers.numbers.spare_octets += its.spare_octets;
    numbers.numbers.used_octets += its.used_octets;
    numbers.queued_octets += all.queued_out.octets + all.queued_in.octets;
}

void add_rest(line &&sum, context_line &&numbers, rest_of_contexts &memory, numbers_of_contexts &to) {
    sum.context = numbers.context = sum.socket = the_rest;
    sum.numbers.keep_most(memory.most);
    memory.most = sum.numbers;
    memory.has_been_shown = true;
    to.sockets.push_back(std::move(sum));
    to.contexts.push_back(std::move(numbers));
}

}  // namespace zlink::metrics
