#include "numbers_table.hpp"

#include "wall_clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <map>

namespace command {

namespace {

// ---- Rows ---------------------------------------------------------------------------------------

const std::vector<json_object> &list_of(const json_object *of, const char *name) {
    static const std::vector<json_object> none;
    if (!of || !of->lists.contains(name)) {
        return none;
    }
    return of->lists.at(name);
}

std::string identity(const json_object &of) {
    std::string words;
    for (const char *name : {"context", "socket", "type", "id", "endpoint", "address", "routing_id",
                             "user_id", "event", "reason"}) {
        words += of.text(name) + '\n';
    }
    return words;
}

double sum_of(const json_object &of, std::string_view prefix) {
    double sum = 0;
    for (auto at = of.values.lower_bound(std::string(prefix));
         at != of.values.end() && at->first.starts_with(prefix); ++at) {
        sum += of.number(at->first);
    }
    return sum;
}

/// A number that has fallen was forgotten, and has begun anew.
double since(double now, double before) { return now < before ? now : now - before; }

/// Whether it has all that there was: a row that is not in it was not there.
bool is_whole(const json_object &peers) {
    constexpr size_t most_peers_told = 256;
    return peers.text("is_whole") == "true" && list_of(&peers, "gone").size() < most_peers_told;
}

std::vector<row_of_numbers> rows_of(const std::vector<json_object> &now,
                                    const std::vector<json_object> &before, double interval) {
    std::map<std::string, const json_object *> known;
    for (const json_object &each : before) {
        known[identity(each)] = &each;
    }
    std::vector<row_of_numbers> rows;
    for (const json_object &each : now) {
        row_of_numbers row;
        row.of = &each;
        row.queued = sum_of(each, "queue_messages_");
        row.dropped = sum_of(each, "messages_dropped_");
        row.reconnects = each.number("reconnect_attempts");
        row.failed_handshakes = sum_of(each, "handshakes_failed_");
        // A row that came meanwhile has no rate yet: its numbers may be older than the look before.
        if (const auto found = known.find(identity(each)); found != known.end() && interval > 0) {
            const auto rate = [&](const char *name) {
                return std::max(0.0, each.number(name) - found->second->number(name)) / interval;
            };
            row.sent_rate = rate("messages_sent");
            row.received_rate = rate("messages_received");
            row.loses = row.dropped > sum_of(*found->second, "messages_dropped_");
            row.times = since(each.number("times"), found->second->number("times"));
        }
        rows.push_back(row);
    }
    return rows;
}

using weight = double (*)(const row_of_numbers &row);
const std::map<std::string, weight> &weights() {
    static const std::map<std::string, weight> all = {
        {"queue", [](const row_of_numbers &row) { return row.queued; }},
        {"out", [](const row_of_numbers &row) { return row.sent_rate; }},
        {"in", [](const row_of_numbers &row) { return row.received_rate; }},
        {"drops", [](const row_of_numbers &row) { return row.dropped; }},
        {"reconnects", [](const row_of_numbers &row) { return row.reconnects; }},
        {"silent", [](const row_of_numbers &row) { return row.quiet; }},
        {"name", nullptr},  // the order in which the process tells them
    };
    return all;
}

std::vector<row_of_numbers> sorted(std::vector<row_of_numbers> rows, const std::string &by) {
    if (const weight of = weights().at(by)) {
        std::stable_sort(rows.begin(), rows.end(),
                         [&](const auto &a, const auto &b) { return of(a) > of(b); });
    }
    return rows;
}

// ---- Lines --------------------------------------------------------------------------------------

std::string short_number(double value) {
    if (value < 9999.5) {
        return fmt::format("{:.0f}", value);
    }
    size_t unit = 0;
    constexpr std::string_view units = "kMGTP";
    for (value /= 1000; value >= 999.95 && unit + 1 < units.size(); ++unit) {
        value /= 1000;
    }
    return fmt::format("{:.1f}{}", value, units[unit]);
}

struct column {
    const char *title;
    size_t width;    // its blank in front included
    int importance;  // what is least goes first where there is no room
    std::string (*cell)(const row_of_numbers &row);
};

std::string short_time(double seconds) {
    constexpr double minute = 60, hour = 3600, day = 86400;
    const auto in = [&](double unit, char name) { return fmt::format("{:.0f}{}", seconds / unit, name); };
    return seconds < 2 * minute ? in(1, 's')
           : seconds < 2 * hour ? in(minute, 'm')
           : seconds < 2 * day  ? in(hour, 'h')
                                : in(day, 'd');
}

/// Says how it went, in the words that are the reasons of the numbers.
std::string name_of_end(const row_of_numbers &row) {
    const bool was_in = row.of->text("event") == "disconnects";
    return (was_in ? "left: " : "kept out: ") + row.of->text("reason");
}

constexpr std::array<column, 8> socket_columns{{
    {"TYPE", 7, 5, [](const row_of_numbers &row) { return row.of->text("type"); }},
    {"PEERS", 6, 4, [](const row_of_numbers &row) { return short_number(row.of->number("peers")); }},
    {"OUT/s", 7, 8, [](const row_of_numbers &row) { return short_number(row.sent_rate); }},
    {"IN/s", 7, 7, [](const row_of_numbers &row) { return short_number(row.received_rate); }},
    {"QUEUE", 7, 6, [](const row_of_numbers &row) { return short_number(row.queued); }},
    {"DROPPED", 8, 9, [](const row_of_numbers &row) { return short_number(row.dropped); }},
    {"RETRIES", 8, 3, [](const row_of_numbers &row) { return short_number(row.reconnects); }},
    {"REFUSED", 8, 2, [](const row_of_numbers &row) { return short_number(row.failed_handshakes); }},
}};
constexpr std::array<column, 7> peer_columns{{
    {"STATE", 12, 6, [](const row_of_numbers &row) { return row.of->text("state"); }},
    {"OUT/s", 7, 7, [](const row_of_numbers &row) { return short_number(row.sent_rate); }},
    {"IN/s", 7, 5, [](const row_of_numbers &row) { return short_number(row.received_rate); }},
    {"QUEUE", 7, 8, [](const row_of_numbers &row) { return short_number(row.queued); }},
    {"DROPPED", 8, 9, [](const row_of_numbers &row) { return short_number(row.dropped); }},
    {"QUIET", 7, 4, [](const row_of_numbers &row) { return short_time(row.quiet); }},
    {"SOCKET", 16, 3, [](const row_of_numbers &row) { return row.of->text("socket"); }},
}};
constexpr std::array<column, 4> gone_columns{{
    {"HOW", 19, 8, name_of_end},
    {"TIMES", 7, 9, [](const row_of_numbers &row) { return short_number(row.of->number("times")); }},
    {"AGO", 7, 7, [](const row_of_numbers &row) { return short_time(row.of->number("seconds_ago")); }},
    {"SOCKET", 16, 3, [](const row_of_numbers &row) { return row.of->text("socket"); }},
}};

std::string fitted(const std::string &words, size_t width) {
    const std::string safe = safe_for_terminal(words);
    return safe.size() <= width ? safe : width < 2 ? safe.substr(0, width) : safe.substr(0, width - 1) + "~";
}

std::string name_of_peer(const row_of_numbers &row) {
    const std::string id = row.of->text("routing_id");
    const std::string address = row.of->text("address");
    const std::string where = address.empty() ? row.of->text("endpoint") : address;
    return id.empty() ? where : id + ' ' + where;
}

std::string name_of_socket(const row_of_numbers &row) { return row.of->text("socket"); }

constexpr std::string_view plain = "\033[0m";

/// A title and a line for each row, as wide as the place allows.
template <size_t Size>
void add_table(std::vector<std::string> &to, const char *title, std::string (*name)(const row_of_numbers &),
               const std::array<column, Size> &columns, const std::vector<row_of_numbers> &rows,
               const place_for_lines &place) {
    constexpr size_t least_columns_of_name = 20, most_columns_of_name = 40;
    size_t needed = least_columns_of_name;
    std::array<bool, Size> is_shown{};
    for (int importance = 9; importance > 0; --importance) {
        for (size_t i = 0; i < Size; ++i) {
            if (columns[i].importance == importance && needed + columns[i].width <= place.width) {
                is_shown[i] = true;
                needed += columns[i].width;
            }
        }
    }
    const size_t width_of_name =
        std::min({place.width, most_columns_of_name,
                  least_columns_of_name + (place.width > needed ? place.width - needed : 0)});
    const auto line = [&](const std::string &first, const auto &cell) {
        std::string words = fmt::format("{:{}}", fitted(first, width_of_name), width_of_name);
        for (size_t i = 0; i < Size; ++i) {
            if (is_shown[i]) {
                words +=
                    fmt::format("{:>{}}", fitted(cell(columns[i]), columns[i].width - 1), columns[i].width);
            }
        }
        return words;
    };
    const std::string head = line(title, [](const column &each) { return std::string(each.title); });
    to.push_back(place.has_colour ? "\033[7m" + head + std::string(plain) : head);
    for (const row_of_numbers &each : rows) {
        const std::string words = line(name(each), [&](const column &of) { return of.cell(each); });
        to.push_back(place.has_colour && each.loses ? "\033[31m" + words + std::string(plain) : words);
    }
}

/// A sum of sockets that have done nothing tells nothing.
void leave_out_nothing(std::vector<row_of_numbers> &rows) {
    std::erase_if(rows, [](const row_of_numbers &row) {
        return row.of->text("socket") == "_other" &&
               std::all_of(row.of->values.begin(), row.of->values.end(), [&](const auto &each) {
                   return each.first == "context" || each.first == "socket" || each.first == "type" ||
                          row.of->number(each.first) == 0;
               });
    });
}

std::string head_of(const two_looks &looks) {
    const numbers &last = looks.last();
    std::string name;
    std::ifstream file(fmt::format("/proc/{}/comm", last.process()));
    std::getline(file, name);
    const auto at = static_cast<std::time_t>(last.time());
    const double age = seconds_now() - last.time();
    std::string words =
        fmt::format("{}{}{}, {:%H:%M:%S}", last.process(), name.empty() ? "" : " ", name, fmt::localtime(at));
    if (last.has_ended) {
        words += ", has ended";
    } else if (last.is_silent) {
        words += fmt::format(", has not answered for {:.0f} s", age);
    } else if (age > 5) {
        words += fmt::format(", has stood still for {:.0f} s", age);
    }
    return words;
}

/// `more` writes what a row has beside what is told of it.
constexpr std::array<std::string_view, 7> texts{
    "context",    "socket",  "endpoint", "address",
    "routing_id", "user_id", "words"};  // though they look like numbers
template <typename More>
void add_json(std::string &to, const std::vector<row_of_numbers> &rows, More more) {
    for (const row_of_numbers &each : rows) {
        to += &each == rows.data() ? "{" : ",{";
        for (const auto &[name, value] : each.of->values) {
            const bool is_number = !value.empty() &&
                                   value.find_first_not_of("0123456789.") == std::string::npos &&
                                   std::find(texts.begin(), texts.end(), name) == texts.end();
            to += fmt::format("{}:{},", json_string(name), is_number ? value : json_string(value));
        }
        to += more(each) + '}';
    }
}

std::string json_of_rates(const row_of_numbers &of) {
    return fmt::format("\"sent_rate\":{:.3f},\"received_rate\":{:.3f}", of.sent_rate, of.received_rate);
}

std::string json_of_peer(const row_of_numbers &of) {
    return fmt::format("{},\"quiet_seconds\":{:.3f}", json_of_rates(of), of.quiet);
}

std::string json_of_gone(const row_of_numbers &of) { return fmt::format("\"times_since\":{:.0f}", of.times); }

}  // namespace

const std::vector<std::string> &sort_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto &[name, ignored] : weights()) {
            all.push_back(name);
        }
        return all;
    }();
    return names;
}

/// A text of a file that was read twice is one look; another process begins anew.
void two_looks::take(numbers next) {
    if (next.process() != last_.process()) {
        before_ = {};
    } else if (next.time() > last_.time()) {
        before_ = std::move(last_);
    }
    last_ = std::move(next);
    listen();
}

/// One that has said nothing yet is quiet since it was let in. What waits for the application has
/// been said: one that takes nothing is not to make its peers look silent.
void two_looks::listen() {
    std::map<std::string, heard> now;
    for (const json_object &each : list_of(last_.peers ? &*last_.peers : nullptr, "peers")) {
        const double waiting = each.number("queue_messages_in");
        const double received = each.number("messages_received") + waiting;
        const std::string who = identity(each);
        const auto known = heard_.find(who);
        const bool is_news = known == heard_.end() || known->second.received != received || waiting > 0;
        now[who] = {received, received == 0 ? last_.time() - each.number("ready_seconds")
                              : is_news     ? last_.time()
                                            : known->second.since};
    }
    heard_ = std::move(now);
}

double two_looks::interval() const { return before_.process() == 0 ? 0 : last_.time() - before_.time(); }

std::vector<row_of_numbers> two_looks::sockets(const std::string &sort) const {
    auto rows = rows_of(list_of(&last_.sockets, "sockets"), list_of(&before_.sockets, "sockets"), interval());
    leave_out_nothing(rows);
    return sorted(std::move(rows), sort);
}

std::vector<row_of_numbers> two_looks::peers(const std::string &sort) const {
    auto rows = rows_of(list_of(last_.peers ? &*last_.peers : nullptr, "peers"),
                        list_of(before_.peers ? &*before_.peers : nullptr, "peers"), interval());
    for (row_of_numbers &each : rows) {
        const auto known = heard_.find(identity(*each.of));
        each.quiet = known == heard_.end() ? 0 : last_.time() - known->second.since;
    }
    return sorted(std::move(rows), sort);
}

std::vector<row_of_numbers> two_looks::gone() const {
    auto rows = rows_of(list_of(last_.peers ? &*last_.peers : nullptr, "gone"),
                        list_of(before_.peers ? &*before_.peers : nullptr, "gone"), interval());
    if (before_.peers && interval() > 0 && is_whole(*before_.peers)) {
        std::map<std::string, bool> known;
        for (const json_object &each : list_of(&*before_.peers, "gone")) {
            known[identity(each)] = true;
        }
        for (row_of_numbers &each : rows) {
            each.times = known.contains(identity(*each.of)) ? each.times : each.of->number("times");
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) {
        return a.times != b.times ? a.times > b.times : a.of->number("times") > b.of->number("times");
    });
    return rows;
}

std::vector<std::string> lines_of(const two_looks &looks, const std::string &sort,
                                  const place_for_lines &place) {
    const auto sockets = looks.sockets(sort), peers = looks.peers(sort);
    std::vector<std::string> lines{
        fitted(fmt::format("{}, {} sockets{}", head_of(looks), sockets.size(),
                           looks.last().peers ? fmt::format(", {} peers", peers.size()) : ""),
               place.width),
        ""};
    add_table(lines, "SOCKET", name_of_socket, socket_columns, sockets, place);
    if (looks.last().peers) {
        if (auto gone = looks.gone(); !gone.empty()) {
            constexpr size_t most_rows_on_screen = 5;
            if (place.height > 0 && gone.size() > most_rows_on_screen) {
                gone.resize(most_rows_on_screen);
            }
            lines.emplace_back();
            add_table(lines, "GONE", name_of_peer, gone_columns, gone, place);
        }
        lines.emplace_back();
        add_table(lines, "PEER", name_of_peer, peer_columns, peers, place);
    }
    if (place.height > 0 && lines.size() > place.height) {
        lines.resize(place.height);
    }
    return lines;
}

std::string json_of(const two_looks &looks, const std::string &sort) {
    const numbers &last = looks.last();
    std::string text =
        fmt::format("{{\"process\":{},\"time\":{:.3f},\"interval\":{:.3f},\"has_ended\":{},\"sockets\":[",
                    last.process(), last.time(), looks.interval(), last.has_ended);
    add_json(text, looks.sockets(sort), json_of_rates);
    text += "]";
    if (last.peers) {
        text += ",\"peers\":[";
        add_json(text, looks.peers(sort), json_of_peer);
        text += "],\"gone\":[";
        add_json(text, looks.gone(), json_of_gone);
        text += "]";
    }
    return text + "}\n";
}

}  // namespace command
