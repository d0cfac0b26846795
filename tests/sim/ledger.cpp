#include "ledger.hpp"

#include <algorithm>
#include <cstring>

#include "core/frame.hpp"

namespace zlink::sim {

namespace {

constexpr std::uint32_t magic = 0x5a53494d;  // "ZSIM"

std::string message_in_words(const channel &which, std::uint64_t number) {
    return "message " + std::to_string(number) + " of channel " + std::to_string(which.id) + " (" +
           std::to_string(which.from) + " to " + (which.to ? std::to_string(which.to) : "several") + ")";
}

}  // namespace

const octets &ledger::table() {
    static const octets made = [] {
        octets t(2 * table_size);
        for (std::size_t i = 0; i < t.size(); ++i)
            t[i] = static_cast<std::uint8_t>(mix(i / 8) >> (8 * (i % 8)));
        return t;
    }();
    return made;
}

channel &ledger::add_channel(int from, int epoch, int to, reach kind) {
    channels_.emplace_back();
    channel &made = channels_.back();
    made.id = static_cast<int>(channels_.size());
    made.from = from;
    made.epoch = epoch;
    made.to = to;
    made.kind = kind;
    return made;
}

// ---- messages ----

std::uint64_t ledger::hash_of(const channel &which, std::uint64_t number, std::size_t index) const noexcept {
    return mix(seed_ ^ mix(static_cast<std::uint64_t>(which.id) << 48 ^ number << 8 ^ index));
}

std::size_t ledger::part_count(const channel &which, std::uint64_t number) const noexcept {
    return 1 + hash_of(which, number, 99) % looks_.most_parts;
}

std::size_t ledger::part_size(const channel &which, std::uint64_t number, std::size_t index) const noexcept {
    const std::uint64_t h = hash_of(which, number, index);
    const std::size_t least = index == 0 ? label_size : 0;
    const std::size_t most = h % 64 == 0 ? looks_.largest_rarely : looks_.largest_part;
    return std::max(least, (h >> 8) % (most + 1));
}

octets ledger::part(const channel &which, std::uint64_t number, std::size_t index) const {
    const std::size_t size = part_size(which, number, index);
    const std::uint64_t h = hash_of(which, number, index);
    const auto from = table().begin() + static_cast<std::ptrdiff_t>(h % table_size);
    octets body(from, from + static_cast<std::ptrdiff_t>(size));
    if (size < label_size)
        return body;
    std::uint8_t *p = body.data();
    put_u32(p, magic);
    put_u32(p + 4, static_cast<std::uint32_t>(which.id));
    put_u32(p + 8, static_cast<std::uint32_t>(which.epoch));
    put_u64(p + 12, number);
    put_u16(p + 20, static_cast<std::uint16_t>(index));
    put_u16(p + 22, static_cast<std::uint16_t>(part_count(which, number)));
    put_u32(p + 24, static_cast<std::uint32_t>(size));
    put_u64(p + 28, mix(h ^ size));  // checksum of all that the body follows from
    return body;
}

std::uint64_t ledger::size_of(const channel &which, std::uint64_t number) const noexcept {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < part_count(which, number); ++i)
        size += frame_header_size(part_size(which, number, i)) + part_size(which, number, i);
    return size;
}

void ledger::note_begun(channel &which) noexcept {
    which.largest = std::max(which.largest, size_of(which, which.sent.size()));
}

void ledger::note_sent(channel &which) {
    const std::uint64_t number = which.sent.size();
    which.sent.push_back({which.octets, world_.now()});
    which.octets += size_of(which, number);
    world_.trace(0x500 + static_cast<std::uint64_t>(which.id), number);
    world_.tell("sent: ", message_in_words(which, number));
    if (which.kind == reach::one)
        check_bound(which);
}

/// Promise 6: between the application that sends and the one that receives there are no more
/// messages than both marks allow, apart from octets in the kernels and in the receiving
/// connection.
void ledger::check_bound(const channel &which) {
    if (which.send_hwm == 0 || which.receive_hwm == 0 || which.counts_as_ended)
        return;
    // The queue of a connection that was accepted goes with it.
    if (!which.sender_dials && which.lost_since_delivery > 0)
        return;
    const auto at = which.receivers.find(which.to);
    const std::uint64_t first =
        at == which.receivers.end() ? 0 : static_cast<std::uint64_t>(at->second.newest + 1);
    const std::uint64_t count = which.sent.size() - first;
    // Whatever connections that are gone have brought stands in queues of their own, where the
    // receiver accepted them.
    const std::uint64_t queues = which.receiver_dials ? 1 : 1 + which.broken_since_delivery.size();
    const std::uint64_t receive_marks = queues * which.receive_hwm;
    // One more at each end: the message just read from the queue, and the one being written.
    const std::uint64_t allowed = which.send_hwm + receive_marks + 2;
    if (count <= allowed || may_be_thrown_away(which, first))
        return;
    std::uint64_t may_be_under_way = held_octets_ + 2 * which.largest;
    if (!which.is_inproc)
        may_be_under_way += network_->under_way(which.from, which.to) + which.lost_since_delivery;
    else
        may_be_under_way = 0;
    const std::uint64_t middle = which.sent[which.sent.size() - 1 - which.send_hwm].octets_before -
                                 which.sent[first + receive_marks + 1].octets_before;
    if (middle > may_be_under_way)
        world_.violate(promise::bounded_queues, std::to_string(count) + " messages under way on channel " +
                                                    std::to_string(which.id) + " with marks of " +
                                                    std::to_string(which.send_hwm) + " and " +
                                                    std::to_string(which.receive_hwm));
}

/// Whether the receiver may have got it by a connection that lingers, and takes nothing.
bool ledger::may_be_thrown_away(const channel &which, std::uint64_t number) const {
    const auto at = lingers_until_.find(which.to);
    return at != lingers_until_.end() && which.sent[number].when <= at->second;
}

channel *ledger::judge(int at, const std::deque<octets> &parts, int link) {
    const octets &front = parts.front();
    if (front.size() < label_size || get_u32(front.data()) != magic || get_u32(front.data() + 4) == 0 ||
        get_u32(front.data() + 4) > channels_.size() || get_u16(front.data() + 20) != 0) {
        world_.violate(promise::atomic, "a message begins with something that is no first part");
        return nullptr;
    }
    channel &which = channels_[get_u32(front.data() + 4) - 1];
    const std::uint64_t number = get_u64(front.data() + 12);
    world_.trace(0x600 + static_cast<std::uint64_t>(which.id), number);
    world_.tell("arrives: ", message_in_words(which, number), " at ", at, " by connection ", link);
    const auto fails = [&](promise what, const std::string &how) {
        world_.violate(what, message_in_words(which, number) + " at " + std::to_string(at) +
                                 " by connection " + std::to_string(link) + ": " + how);
        return nullptr;
    };
    // The sender may be in the middle of the call that sends it: note_sent() comes last.
    if (number > which.sent.size())
        return fails(promise::at_most_once, "was never sent");
    if (parts.size() != part_count(which, number))
        return fails(promise::atomic, "has " + std::to_string(parts.size()) + " parts of " +
                                          std::to_string(part_count(which, number)));
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i] != part(which, number, i))
            return fails(promise::atomic, "part " + std::to_string(i) + " is not what was sent");
    if (which.to && which.to != at)
        return fails(promise::at_most_once, "was sent to " + std::to_string(which.to));

    channel::receiver &to = which.receivers[at];
    if (!to.taken.emplace(number, link).second ||
        (!which.taken_by_anyone.insert(number).second && which.kind != reach::all))
        return fails(promise::at_most_once, "arrives twice");

    const auto last = to.last_of_link.find(link);
    if (last != to.last_of_link.end() && last->second > number)
        return fails(promise::ordered, "comes after " + std::to_string(last->second));
    if (which.receiver_dials && to.last > static_cast<std::int64_t>(number))
        return fails(promise::ordered, "comes after " + std::to_string(to.last) + " of another connection");
    // A sender that dials has one queue for all its connections. One that accepted has one for
    // each, and may still fill that of a connection that is gone. A publisher that dials learns
    // anew with each connection who wants what.
    const bool has_one_queue = which.sender_dials
                                   ? which.kind == reach::one && !has_second_connections()
                                   : paths_[{which.from, at}].lost_at_most.empty() && !which.counts_as_ended;
    const bool must_be_next = has_one_queue && (which.kind == reach::one || which.kind == reach::all);
    if (must_be_next && last != to.last_of_link.end() && last->second + 1 != number)
        return fails(promise::no_loss, "comes next after " + std::to_string(last->second));

    to.last_of_link[link] = number;
    to.last = static_cast<std::int64_t>(number);
    to.newest = std::max(to.newest, to.last);
    to.newest_sent =
        std::max(to.newest_sent, number < which.sent.size() ? which.sent[number].when : world_.now());
    // Whatever comes by a newer connection than those that broke says that what they lost is behind
    // us.
    if (link > paths_[{which.from, at}].last_broken)
        which.lost_since_delivery = 0;
    which.broken_since_delivery.erase(which.broken_since_delivery.begin(),
                                      which.broken_since_delivery.lower_bound(link));
    return &which;
}

// ---- loss ----

void ledger::on_break(int from, int to, int link, std::uint64_t octets, std::uint64_t excusable) {
    path &way = paths_[{from, to}];
    std::uint64_t held = 0;
    if (!way.lost_at_most.contains(link)) {
        way.last_broken = std::max(way.last_broken, link);
        held += held_octets_;
        // Besides, the message that was cut, and the one the receiver had in part.
        for (const channel &c : channels_)
            if (c.from == from && (c.to == to || c.to == 0) && !c.counts_as_ended)
                held += 2 * c.largest;
    } else {
        way.written_after.insert(link);  // it may be the messages of that time that are cut
    }
    way.lost_at_most[link] += excusable + held;
    for (channel &c : channels_)
        if (c.from == from && c.to == to) {
            c.lost_since_delivery += octets + held;
            c.broken_since_delivery.insert(link);
        }
}

std::uint64_t ledger::missing_since(const channel &which, time_point when,
                                    const std::set<int> &living) const {
    std::uint64_t missing = 0;
    const auto way = paths_.find({which.from, which.to});
    const bool has_breaks = way != paths_.end() && !way->second.lost_at_most.empty();
    if (which.kind == reach::lossy || (which.is_answer && has_breaks))
        return missing;
    for (std::uint64_t number = which.sent.size(); number-- > 0 && which.sent[number].when >= when;) {
        if (which.kind != reach::all) {
            missing += !which.taken_by_anyone.contains(number);
            continue;
        }
        for (const int receiver : living) {
            const auto at = which.receivers.find(receiver);
            missing += at == which.receivers.end() || !at->second.taken.contains(number);
        }
    }
    return missing;
}

void ledger::settle(const std::set<int> &living) {
    for (const channel &which : channels_)
        if (!which.counts_as_ended && living.contains(which.from))
            settle(which, living);
}

void ledger::settle(const channel &which, const std::set<int> &living) {
    if (which.kind == reach::all || which.kind == reach::lossy || which.may_be_refused)
        return;
    if (which.to && !living.contains(which.to))
        return;
    std::uint64_t missing = 0;
    std::uint64_t missing_octets = 0;
    for (std::uint64_t number = 0; number < which.sent.size(); ++number) {
        if (which.taken_by_anyone.contains(number))
            continue;
        ++missing;
        missing_octets += octets_between(which, number, number + 1);
    }
    if (missing == 0)
        return;
    std::uint64_t breaks = 0;
    std::uint64_t allowed = 0;
    for (const auto &[ends, way] : paths_) {
        if (ends.first != which.from || (which.to && ends.second != which.to))
            continue;
        breaks += way.lost_at_most.size();
        for (const auto &entry : way.lost_at_most)
            allowed += way.cost(entry.first, which.largest);
    }
    const std::string text = std::to_string(missing) + " messages of " + std::to_string(missing_octets) +
                             " octets missing on channel " + std::to_string(which.id) + " after " +
                             std::to_string(breaks) + " breaks, which may cost " + std::to_string(allowed);
    if (breaks == 0)
        world_.violate(promise::no_loss, text);
    else if (which.sender_dials && missing_octets > allowed)
        world_.violate(promise::bounded_loss, text);
    else if (which.sender_dials && which.kind == reach::one && !has_second_connections())
        settle_gaps(which);
}

/// One queue may feed one connection after the other: what is missing between two that arrived
/// was lost by those that broke between them.
void ledger::settle_gaps(const channel &which) {
    const auto at = which.receivers.find(which.to);
    if (at == which.receivers.end())
        return;
    const path &way = paths_[{which.from, which.to}];
    const auto &breaks = way.lost_at_most;
    std::uint64_t next = 0;
    int by = 0;
    for (const auto &[number, link] : at->second.taken) {
        if (number > next) {
            const std::uint64_t missing = octets_between(which, next, number);
            std::uint64_t allowed = 0;
            for (auto b = breaks.lower_bound(by); b != breaks.end() && b->first < link; ++b)
                allowed += way.cost(b->first, which.largest);
            if (missing > allowed)
                world_.violate(promise::bounded_loss,
                               std::to_string(missing) + " octets missing in front of " +
                                   message_in_words(which, number) + ", the breaks between may cost " +
                                   std::to_string(allowed));
        }
        next = number + 1;
        by = link;
    }
}

}  // namespace zlink::sim
