// The options of a context, as one table. See context_options.hpp.
//
// Map: the table, a row an option; numbers by the table; the one option that is text.
#include "context/context_options.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/message.hpp"
#include "socket/options.hpp"

namespace zlink {

namespace {

constexpr int max_sockets_limit = 65535;

/// One option that is a number. Without `set` it is read only, and without `get` write only. A
/// value outside of the limits is invalid.
struct number_option {
    int number;
    int least;
    int most;
    void (*set)(context_options &, int);
    int (*get)(const context_options &);
};

template <auto Member>
void set_member(context_options &o, int value) {
    o.*Member = value;
}

template <auto Member>
int get_member(const context_options &o) {
    return o.*Member;
}

const number_option table[] = {
    {context_option::io_threads, 0, INT_MAX, set_member<&context_options::io_threads>,
     get_member<&context_options::io_threads>},
    {context_option::max_sockets, 1, INT_MAX,
     [](context_options &o, int value) { o.max_sockets = std::min(value, max_sockets_limit); },
     [](const context_options &o) { return o.max_sockets; }},
    // Its number is ZMQ_SOCKET_LIMIT's, too, which can be got.
    {context_option::thread_priority, 0, INT_MAX,
     [](context_options &o, int value) { o.threads.scheduling.priority = value; },
     [](const context_options &) { return max_sockets_limit; }},
    {context_option::thread_sched_policy, 0, INT_MAX,
     [](context_options &o, int value) { o.threads.scheduling.policy = value; },
     [](const context_options &o) { return o.threads.scheduling.policy; }},
    {context_option::thread_affinity_cpu_add, 0, INT_MAX,
     [](context_options &o, int value) { o.threads.scheduling.affinity.insert(value); }, nullptr},
    {context_option::thread_name_prefix, 0, INT_MAX,
     [](context_options &o, int value) { o.threads.name_prefix = std::to_string(value); },
     [](const context_options &o) { return std::atoi(o.threads.name_prefix.c_str()); }},
    {context_option::max_msgsz, 0, INT_MAX, set_member<&context_options::max_message_size>,
     get_member<&context_options::max_message_size>},
    {context_option::msg_t_size, 0, 0, nullptr,
     [](const context_options &) { return static_cast<int>(sizeof(message)); }},
    {context_option::ipv6, 0, 1, set_member<&context_options::ipv6>, get_member<&context_options::ipv6>},
    {context_option::blocky, 0, 1, set_member<&context_options::blocks_at_term>,
     get_member<&context_options::blocks_at_term>},
    // Copying everything is not built, so it cannot be switched off.
    {context_option::zero_copy_recv, 1, 1, [](context_options &, int) {},
     [](const context_options &) { return 1; }},
};

const number_option *find(int number) noexcept {
    const auto *const found = std::ranges::find(table, number, &number_option::number);
    return found == std::end(table) ? nullptr : found;
}

bool is_text(int number) noexcept { return number == context_option::thread_name_prefix; }
constexpr std::size_t most_octets_of_text = 16;

}  // namespace

error context_options::set(int number, const void *value, std::size_t size) {
    if (is_text(number) && size != sizeof(int)) {
        if (!value || size == 0 || size > most_octets_of_text)
            return error::invalid;
        const auto *const text = static_cast<const char *>(value);
        threads.name_prefix.assign(text, strnlen(text, size));
        return error::none;
    }
    int given = 0;
    if (!value || size != sizeof given)
        return error::invalid;
    std::memcpy(&given, value, sizeof given);
    if (number == context_option::thread_affinity_cpu_remove)
        return given >= 0 && threads.scheduling.affinity.erase(given) ? error::none : error::invalid;
    const number_option *const option = find(number);
    if (!option || !option->set || given < option->least || given > option->most)
        return error::invalid;
    option->set(*this, given);
    return error::none;
}

error context_options::get(int number, void *value, std::size_t *size) const {
    if (!value || !size)
        return error::fault;
    if (is_text(number) && *size != sizeof(int)) {
        const std::string &text = threads.name_prefix;
        if (*size <= text.size())
            return error::invalid;
        *size = text.size() + 1;
        std::memcpy(value, text.c_str(), *size);
        return error::none;
    }
    const number_option *const option = find(number);
    const int found = option && option->get ? option->get(*this) : 0;
    if (!option || !option->get || *size < sizeof found)
        return error::invalid;
    std::memcpy(value, &found, sizeof found);
    *size = sizeof found;
    return error::none;
}

}  // namespace zlink
