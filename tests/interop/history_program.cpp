// Random histories of calls, one after the other on one thread, and what each call returned.
//
//   history_program TRANSPORT PLACE QUIET_US FIRST COUNT [SKIPPED,...]
//
// PLACE is the first of three ports for tcp, and a folder for ipc. Prints "history N" and a line
// for each call, for COUNT seeds from FIRST on; the same for every library that behaves the same.
// With a list of steps, those are left out: for those who look for the shortest history that shows
// a difference.
//
// Method:   the whole history is drawn before the first call, so that it is the same whatever the
//           calls return. Before and after each call all sockets are asked for ZMQ_EVENTS, which
//           takes in what others have told them. Where another thread has something to do first (a
//           closed socket, the network), that goes on until nothing changes for QUIET_US.
// Names:    routing ids that a library makes up are printed, and chosen, by the order in which they
//           were seen.
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int slots = 6;
constexpr int steps = 60;

// ---- What is drawn ----

enum class act {
    open,
    join,
    leave,
    set,
    subscribe,
    send,
    send_frame,
    receive,
    receive_frame,
    poll,
    get,
    close
};

struct step {
    act what = act::open;
    std::uint32_t slot = 0;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
};

class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {
        for (int i = 0; i < 3; ++i)
            state_ = state_ * 0x5851f42d4c957f2du + (std::uint64_t{next()} << 32 | next());
    }
    std::uint32_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 16);
    }

private:
    std::uint64_t state_;
};

struct weight {
    act what;
    std::uint32_t of;
};
constexpr weight weights[] = {
    {act::open, 6},          {act::join, 16}, {act::leave, 4},      {act::set, 8},
    {act::subscribe, 6},     {act::send, 24}, {act::send_frame, 8}, {act::receive, 22},
    {act::receive_frame, 8}, {act::poll, 6},  {act::get, 6},        {act::close, 2},
};

act draw_act(dice &from) {
    std::uint32_t sum = 0;
    for (const weight &each : weights)
        sum += each.of;
    std::uint32_t at = from.next() % sum;
    for (const weight &each : weights) {
        if (at < each.of)
            return each.what;
        at -= each.of;
    }
    return act::get;
}

/// Sockets that may talk to each other. Those of the first kind bind and those of the other
/// connect, or the other way round.
struct family {
    std::vector<int> some;
    std::vector<int> others;
};
const std::vector<family> families = {
    {{ZMQ_PAIR}, {ZMQ_PAIR}},
    {{ZMQ_PUSH}, {ZMQ_PULL}},
    {{ZMQ_PUB, ZMQ_XPUB}, {ZMQ_SUB, ZMQ_XSUB}},
    {{ZMQ_XPUB}, {ZMQ_XSUB}},
    {{ZMQ_XPUB}, {ZMQ_SUB}},
    {{ZMQ_DEALER, ZMQ_ROUTER}, {ZMQ_DEALER, ZMQ_ROUTER}},
    {{ZMQ_REQ}, {ZMQ_REP, ZMQ_ROUTER}},
    {{ZMQ_REP}, {ZMQ_REQ, ZMQ_DEALER}},
};

const char *name_of_type(int type) {
    static const char *const all[] = {"PAIR",   "PUB",  "SUB",  "REQ",  "REP", "DEALER",
                                      "ROUTER", "PULL", "PUSH", "XPUB", "XSUB"};
    return all[type];
}

struct choice {
    int number;
    const char *name;
    std::vector<int> values;
};
const std::vector<choice> number_options = {
    {ZMQ_SNDHWM, "SNDHWM", {1, 2, 3, 5}},
    {ZMQ_RCVHWM, "RCVHWM", {1, 2, 3, 5}},
    {ZMQ_ROUTER_MANDATORY, "ROUTER_MANDATORY", {0, 1}},
    {ZMQ_ROUTER_HANDOVER, "ROUTER_HANDOVER", {0, 1}},
    {ZMQ_PROBE_ROUTER, "PROBE_ROUTER", {0, 1}},
    {ZMQ_REQ_CORRELATE, "REQ_CORRELATE", {0, 1}},
    {ZMQ_REQ_RELAXED, "REQ_RELAXED", {0, 1}},
    {ZMQ_XPUB_VERBOSE, "XPUB_VERBOSE", {0, 1}},
    {ZMQ_XPUB_VERBOSER, "XPUB_VERBOSER", {0, 1}},
    {ZMQ_XPUB_NODROP, "XPUB_NODROP", {0, 1}},
    {ZMQ_XPUB_MANUAL, "XPUB_MANUAL", {0, 1}},
    {ZMQ_INVERT_MATCHING, "INVERT_MATCHING", {0, 1}},
    {ZMQ_IMMEDIATE, "IMMEDIATE", {0, 1}},
    {ZMQ_CONFLATE, "CONFLATE", {0, 1}},
};
const std::vector<choice> text_options = {
    {ZMQ_ROUTING_ID, "ROUTING_ID", {}},
    {ZMQ_CONNECT_ROUTING_ID, "CONNECT_ROUTING_ID", {}},
    {ZMQ_XPUB_WELCOME_MSG, "XPUB_WELCOME_MSG", {}},
};
const std::vector<choice> read_options = {
    {ZMQ_TYPE, "TYPE", {}},
    {ZMQ_RCVMORE, "RCVMORE", {}},
    {ZMQ_EVENTS, "EVENTS", {}},
    {ZMQ_SNDHWM, "SNDHWM", {}},
    {ZMQ_RCVHWM, "RCVHWM", {}},
    {ZMQ_IMMEDIATE, "IMMEDIATE", {}},
    {ZMQ_LINGER, "LINGER", {}},
    {ZMQ_BACKLOG, "BACKLOG", {}},
    {ZMQ_CONFLATE, "CONFLATE", {}},
    {ZMQ_INVERT_MATCHING, "INVERT_MATCHING", {}},
    {ZMQ_MULTICAST_HOPS, "MULTICAST_HOPS", {}},
};
const char *const topics[] = {"", "a", "ab", "b", "c"};
const char *const ids[] = {"A", "B", "C"};

// ---- The history ----

class history {
public:
    history(std::string transport, std::string place, std::chrono::microseconds quiet, std::uint64_t seed)
        : transport_(std::move(transport)), place_(std::move(place)), quiet_(quiet), seed_(seed),
          dice_(seed) {
        const family &all = families[dice_.next() % families.size()];
        const bool some_bind = dice_.next() % 2 == 0;
        for (int i = 0; i < slots; ++i) {
            binds_[i] = i % 2 == 0;
            const std::vector<int> &kind = binds_[i] == some_bind ? all.some : all.others;
            types_[i] = kind[dice_.next() % kind.size()];
        }
        for (int i = 0; i < steps; ++i) {
            step one{draw_act(dice_), dice_.next(), dice_.next(), dice_.next()};
            if (i < slots)
                one = {act::open, static_cast<std::uint32_t>(i), one.a, one.b};
            else if (i < slots + 3)
                one.what = act::join;
            steps_.push_back(one);
        }
    }
    ~history() {
        for (void *&each : sockets_)
            if (each)
                zmq_close(each);
        zmq_ctx_term(context_);
    }

    void run(const std::set<int> &skipped) {
        say("history " + std::to_string(seed_));
        for (at_ = 0; at_ < steps; ++at_)
            if (!skipped.contains(at_))
                perform(steps_[at_]);
        for (int i = 0; i < slots; ++i)
            for (int left = 1000; sockets_[i] && left > 0 && receive(i, true); --left) {
            }
        say("end " + std::to_string(seed_));
    }

private:
    bool is_network() const { return transport_ != "inproc"; }
    std::string endpoint(int n) const {
        if (transport_ == "tcp")
            return "tcp://127.0.0.1:" + std::to_string(std::atoi(place_.c_str()) + n);
        return transport_ + "://" + (transport_ == "ipc" ? place_ + "/" : "") + "n" + std::to_string(n);
    }

    // ---- Quiet ----

    std::string look() {
        std::string seen;
        for (void *each : sockets_) {
            int events = 0;
            std::size_t size = sizeof events;
            if (each && zmq_getsockopt(each, ZMQ_EVENTS, &events, &size) == 0)
                seen += static_cast<char>('0' + events);
            else
                seen += '-';
        }
        return seen;
    }
    void settle(bool waits) {
        look();
        look();
        if (!waits)
            return;
        using clock = std::chrono::steady_clock;
        std::string last = look();
        for (auto since = clock::now(); clock::now() - since < quiet_;) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            std::string now = look();
            if (now != last)
                since = clock::now();
            last = std::move(now);
        }
    }

    // ---- Words ----

    static void say(const std::string &line) { std::printf("%s\n", line.c_str()); }
    static std::string outcome(int rc) {
        return rc >= 0 ? std::to_string(rc) : std::string("error ") + std::to_string(zmq_errno());
    }
    void tell(int slot, const std::string &what, const std::string &result) const {
        say(std::to_string(at_) + " " + name_of_type(types_[slot]) + std::to_string(slot) + " " + what +
            " -> " + result);
    }
    std::string shown(const std::string &octets) {
        if (octets.size() == 5 && octets[0] == '\0') {
            auto it = std::find(made_up_.begin(), made_up_.end(), octets);
            if (it == made_up_.end())
                it = made_up_.insert(made_up_.end(), octets);
            return "#" + std::to_string(it - made_up_.begin());
        }
        if (octets.size() == 4)  // the number of a request
            return "<4>";
        std::string out = "'";
        for (const char c : octets) {
            char text[8];
            std::snprintf(text, sizeof text, std::isprint(static_cast<unsigned char>(c)) ? "%c" : "\\x%02x",
                          static_cast<unsigned char>(c));
            out += text;
        }
        return out + "'";
    }

    static int partner(int slot) { return slot ^ 1; }
    /// Whatever is no request, or no reply, a REQ or REP of libzmq calls readable, although nothing
    /// can be read.
    bool keeps_form(int slot) const {
        const int other = types_[partner(slot)];
        return (types_[slot] == ZMQ_DEALER || types_[slot] == ZMQ_ROUTER) &&
               (other == ZMQ_REQ || other == ZMQ_REP);
    }
    /// Whatever is unread when a peer goes is told of in another way, or in part.
    void read_before_parting(int slot) {
        for (const int each : {slot, partner(slot)})
            if (types_[each] == ZMQ_XPUB || types_[each] == ZMQ_ROUTER || types_[each] == ZMQ_SUB ||
                types_[each] == ZMQ_XSUB)
                for (int left = 1000; sockets_[each] && left > 0 && receive(each, true); --left) {
                }
    }

    /// A REP of libzmq stays readable when the peer of a request has gone with it.
    int seen_events(int slot, int events) const {
        return types_[slot] == ZMQ_REP ? events & ZMQ_POLLOUT : events;
    }

    // ---- Calls ----

    void perform(const step &one) {
        const int slot = static_cast<int>(one.slot % slots);
        void *const self = sockets_[slot];
        if (one.what == act::open) {
            if (self)
                return;
            open(slot);
            return;
        }
        if (!self)
            return;
        settle(false);
        bool waits = is_network();
        switch (one.what) {
        case act::open:
            break;
        case act::join:
            join(slot);
            break;
        case act::leave:
            leave(slot);
            break;
        case act::set:
            set(slot, one);
            break;
        case act::subscribe:
            subscribe(slot, one);
            break;
        case act::send:
            send(slot, one);
            break;
        case act::send_frame:
            if (!keeps_form(slot) && !conflates_[slot] && !conflates_[partner(slot)])
                send_frame(slot, body(one.b), one.a % 2);
            break;
        case act::receive:
            receive(slot, true);
            break;
        case act::receive_frame:
            receive(slot, false);
            break;
        case act::poll: {
            zmq_pollitem_t item{self, 0, ZMQ_POLLIN | ZMQ_POLLOUT, 0};
            const int rc = std::min(zmq_poll(&item, 1, 0), 0);
            tell(slot, "poll", outcome(rc) + " " + std::to_string(seen_events(slot, item.revents)));
            break;
        }
        case act::get:
            get(slot, one);
            break;
        case act::close:
            if (!may_part(slot))
                return;
            read_before_parting(slot);
            tell(slot, "close", outcome(zmq_close(self)));
            sockets_[slot] = nullptr;
            joined_[slot] = in_message_[slot] = is_relaxed_[slot] = conflates_[slot] = false;
            waits = true;
            break;
        }
        settle(waits);
    }
    void open(int slot) {
        sockets_[slot] = zmq_socket(context_, types_[slot]);
        const int linger = 0;
        const int interval = 1;
        zmq_setsockopt(sockets_[slot], ZMQ_LINGER, &linger, sizeof linger);
        zmq_setsockopt(sockets_[slot], ZMQ_RECONNECT_IVL, &interval, sizeof interval);
        tell(slot, "open", sockets_[slot] ? "0" : outcome(-1));
    }
    /// Socket 2k binds the name of socket 2k + 1, which connects to it.
    void join(int slot) {
        const std::string where = endpoint(slot / 2);
        if (binds_[slot])
            tell(slot, "bind", outcome(zmq_bind(sockets_[slot], where.c_str())));
        else if (!joined_[slot])
            tell(slot, "connect", outcome(zmq_connect(sockets_[slot], where.c_str())));
        joined_[slot] = true;
    }
    void leave(int slot) {
        if (!may_part(slot))
            return;
        read_before_parting(slot);
        const std::string where = endpoint(slot / 2);
        const int rc = binds_[slot] ? zmq_unbind(sockets_[slot], where.c_str())
                                    : zmq_disconnect(sockets_[slot], where.c_str());
        tell(slot, binds_[slot] ? "unbind" : "disconnect", outcome(rc));
        joined_[slot] = false;
    }
    /// Not where libzmq goes other ways: it does not get rid of a name that nobody has bound, and
    /// tells of a message whose peer went between its parts.
    bool may_part(int slot) const {
        const bool waits_for_name = !binds_[slot] && joined_[slot] && !joined_[partner(slot)];
        // A REP of libzmq keeps part of what it had from a peer, and a relaxed REQ gives up its
        // reply when it cannot send.
        const bool keeps_part = types_[slot] == ZMQ_REP && !binds_[slot];
        return !waits_for_name && !keeps_part && !is_relaxed_[slot] && !is_relaxed_[partner(slot)] &&
               !in_message_[slot] && !in_message_[partner(slot)];
    }
    void set(int slot, const step &one) {
        const std::size_t which = one.a % (number_options.size() + text_options.size());
        if (which < number_options.size()) {
            const choice &option = number_options[which];
            // Those that libzmq does not take notice of later, or not everywhere.
            const bool is_early = option.number == ZMQ_SNDHWM || option.number == ZMQ_RCVHWM ||
                                  option.number == ZMQ_REQ_CORRELATE;
            const bool is_foreign =
                std::string_view(option.name).starts_with("XPUB") && types_[slot] != ZMQ_XPUB;
            // A ROUTER of libzmq that has connected early loses the probe of who binds.
            const bool is_no_probe =
                option.number == ZMQ_PROBE_ROUTER && (binds_[slot] || types_[slot] == ZMQ_REP);
            if (is_foreign || is_no_probe || (is_early && joined_[slot]))
                return;
            const int value = option.values[one.b % option.values.size()];
            is_relaxed_[slot] |= option.number == ZMQ_REQ_RELAXED && value != 0;
            conflates_[slot] |= option.number == ZMQ_CONFLATE && value != 0;
            tell(slot, std::string("set ") + option.name + " " + std::to_string(value),
                 outcome(zmq_setsockopt(sockets_[slot], option.number, &value, sizeof value)));
            return;
        }
        const choice &option = text_options[which - number_options.size()];
        const std::string value = ids[one.b % std::size(ids)];
        tell(slot, std::string("set ") + option.name + " " + value,
             outcome(zmq_setsockopt(sockets_[slot], option.number, value.data(), value.size())));
    }
    void subscribe(int slot, const step &one) {
        const std::string topic = topics[one.a % std::size(topics)];
        const bool on = one.b % 3 != 0;
        if (types_[slot] == ZMQ_XSUB) {
            // libzmq does not end a message whose last part need not be told.
            if (!in_message_[slot])
                send_frame(slot, (on ? '\1' : '\0') + topic, false);
            return;
        }
        tell(slot, (on ? "subscribe " : "unsubscribe ") + shown(topic),
             outcome(zmq_setsockopt(sockets_[slot], on ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, topic.data(),
                                    topic.size())));
    }
    std::string body(std::uint32_t b) const { return std::string(1, "abcd"[b % 4]) + std::to_string(at_); }
    bool send_frame(int slot, const std::string &what, bool more) {
        const int rc =
            zmq_send(sockets_[slot], what.data(), what.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
        tell(slot, "send " + shown(what) + (more ? " more" : ""), outcome(rc));
        if (rc >= 0)
            in_message_[slot] = more;
        return rc >= 0;
    }
    void send(int slot, const step &one) {
        if (types_[slot] == ZMQ_ROUTER && !send_frame(slot, address(slot, one), true))
            return;
        if ((types_[slot] == ZMQ_DEALER || types_[slot] == ZMQ_ROUTER) &&
            (keeps_form(slot) || one.a % 4 < 2) && !send_frame(slot, "", true))
            return;
        const bool has_parts = !conflates_[slot] && !conflates_[partner(slot)];
        for (std::uint32_t left = has_parts ? one.a / 4 % 3 : 0; left > 0; --left)
            if (!send_frame(slot, body(one.b), true))
                return;
        send_frame(slot, body(one.b), false);
    }
    /// The address of a peer: one that was seen, or one that may have chosen its id.
    std::string address(int slot, const step &one) const {
        const auto &known = seen_[slot];
        if (!known.empty() && one.b % 8 != 0)
            return known[one.b / 8 % known.size()];
        return ids[one.b / 8 % std::size(ids)];
    }
    /// All there is, subscriptions that follow each other, or ends of some, in the order of their
    /// topics.
    void receive_news(int slot) {
        std::vector<std::string> all;
        std::size_t run = 0;
        std::string last;
        for (char octets[64];;) {
            const int rc = zmq_recv(sockets_[slot], octets, sizeof octets, ZMQ_DONTWAIT);
            const std::string next =
                rc < 0 ? std::string() : std::string(octets, static_cast<std::size_t>(rc));
            const bool goes_on = rc > 0 && !last.empty() && next[0] == last[0] && next[0] <= 1;
            if (!goes_on) {
                std::sort(all.begin() + static_cast<std::ptrdiff_t>(run), all.end());
                run = all.size();
            }
            if (rc < 0)
                break;
            int more = 0;
            std::size_t size = sizeof more;
            zmq_getsockopt(sockets_[slot], ZMQ_RCVMORE, &more, &size);
            all.push_back(shown(next) + (more ? "+" : ""));
            last = next;
        }
        std::string text;
        for (const std::string &each : all)
            text += each + " ";
        tell(slot, "receive all", text);
    }
    bool receive(int slot, bool whole) {
        if (types_[slot] == ZMQ_XPUB) {
            receive_news(slot);
            return false;
        }
        std::string all;
        for (bool is_first = true;; is_first = false) {
            zmq_msg_t part;
            zmq_msg_init(&part);
            const int rc = zmq_msg_recv(&part, sockets_[slot], ZMQ_DONTWAIT);
            if (rc < 0) {
                tell(slot, whole ? "receive" : "receive one", all + outcome(rc));
                zmq_msg_close(&part);
                return false;
            }
            const std::string octets(static_cast<const char *>(zmq_msg_data(&part)), zmq_msg_size(&part));
            const bool more = zmq_msg_more(&part) != 0;
            zmq_msg_close(&part);
            all += shown(octets) + (more ? "+" : "");
            if (types_[slot] == ZMQ_ROUTER && is_first &&
                std::find(seen_[slot].begin(), seen_[slot].end(), octets) == seen_[slot].end() && more)
                seen_[slot].push_back(octets);
            if (!more || !whole)
                break;
        }
        tell(slot, whole ? "receive" : "receive one", all);
        return true;
    }
    void get(int slot, const step &one) {
        const choice &option = read_options[one.a % read_options.size()];
        int value = 0;
        std::size_t size = sizeof value;
        const int rc = zmq_getsockopt(sockets_[slot], option.number, &value, &size);
        if (option.number == ZMQ_EVENTS)
            value = seen_events(slot, value);
        tell(slot, std::string("get ") + option.name, rc < 0 ? outcome(rc) : std::to_string(value));
    }

    const std::string transport_;
    const std::string place_;
    const std::chrono::microseconds quiet_;
    const std::uint64_t seed_;
    dice dice_;
    void *const context_ = zmq_ctx_new();
    int types_[slots] = {};
    bool binds_[slots] = {};
    bool joined_[slots] = {};
    bool is_relaxed_[slots] = {};
    bool conflates_[slots] = {};   // takes messages of one part
    bool in_message_[slots] = {};  // has sent a part that is not the last
    void *sockets_[slots] = {};
    std::vector<step> steps_;
    std::vector<std::string> made_up_;
    std::vector<std::string> seen_[slots];
    int at_ = 0;
};

std::set<int> numbers_in(const std::string &text) {
    std::set<int> out;
    std::istringstream in(text);
    for (std::string one; std::getline(in, one, ',');)
        out.insert(std::atoi(one.c_str()));
    return out;
}

/// The file that this process has mapped.
std::string mapped_library() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("libzmq.so") != std::string::npos)
            return line.substr(line.find('/'));
    return "none";
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 6) {
        std::fprintf(stderr, "usage: history_program TRANSPORT PLACE QUIET_US FIRST COUNT [SKIPPED,...]\n");
        return 2;
    }
    const std::string transport = arguments[1];
    const std::string place = arguments[2];
    const std::chrono::microseconds quiet(std::atol(arguments[3]));
    const std::uint64_t first = std::strtoull(arguments[4], nullptr, 10);
    const std::uint64_t how_many = std::strtoull(arguments[5], nullptr, 10);
    const std::set<int> skipped = numbers_in(count > 6 ? arguments[6] : "");
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
    std::printf("library %s\n", mapped_library().c_str());
    for (std::uint64_t seed = first; seed < first + how_many; ++seed)
        history(transport, place, quiet, seed).run(skipped);
    return 0;
}
