// Tests how many messages fit between a sender and a reader, for every type that queues, at marks
// of 1, 2, 10 and 1000.
//
// Promised, with `mark` for both SNDHWM and RCVHWM, and counting whole messages whatever their
// number of parts:
// - no reader, inproc: exactly the sum of both marks, then EAGAIN and no POLLOUT.
// - no peer yet (an endpoint where nobody listens, an inproc name nobody has bound): exactly
//   SNDHWM; all of it arrives when somebody comes.
// - no reader, network: a run of non-blocking sends takes at least SNDHWM. In time the sum of both
//   marks fits, less what the sender's connection has taken since it last returned credit, which is
//   less than half of SNDHWM. Never more than the sum and what the kernel's buffers, and a block
//   read or a message cut in the reader's hands, hold.
// - what was taken arrives once, whole and in order. When the reader has it all there is as much
//   room as before, over a network less what it has taken since it last returned credit: less than
//   half of RCVHWM.
// - credit comes back in steps of half a mark, rounded up: a reader of inproc that takes a step
//   makes room for a step. Over a network both sides have a step, and a full kernel lies between
//   them.
// - POLLOUT tells whether there is room, except at PUB and XPUB, which always say so: with
//   XPUB_NODROP only a send tells.
// - a mark changed at a socket in use holds at once: raised, there is room at once, also for those
//   who wait; lowered, what is under way stays, and room comes when less than the new mark is left.
// - types that drop (PUB, XPUB, XSUB upstream) never fail for want of room, and deliver at least
//   SNDHWM.
// - REP drops replies that do not fit and goes on; REQ has one question under way, so that no mark
//   stops it.
#include "effort.hpp"
#include "sockets.hpp"
#include "stats.hpp"
#include "transports.hpp"

#include <atomic>
#include <thread>
#include <tuple>

namespace {

using namespace zlink_test;

// One direction of a pattern.
struct flow {
    const char *name;
    int from;
    int to;
};

void PrintTo(const flow &f, std::ostream *out) { *out << f.name; }

constexpr flow waiting_flows[] = {
    {"push_pull", ZMQ_PUSH, ZMQ_PULL},         {"pair_pair", ZMQ_PAIR, ZMQ_PAIR},
    {"dealer_dealer", ZMQ_DEALER, ZMQ_DEALER}, {"dealer_router", ZMQ_DEALER, ZMQ_ROUTER},
    {"dealer_rep", ZMQ_DEALER, ZMQ_REP},       {"router_dealer", ZMQ_ROUTER, ZMQ_DEALER},
    {"router_router", ZMQ_ROUTER, ZMQ_ROUTER}, {"xpub_nodrop_sub", ZMQ_XPUB, ZMQ_SUB},
    {"xpub_nodrop_xsub", ZMQ_XPUB, ZMQ_XSUB},
};

constexpr flow dropping_flows[] = {
    {"pub_sub", ZMQ_PUB, ZMQ_SUB},
    {"xpub_sub", ZMQ_XPUB, ZMQ_SUB},
    {"xpub_xsub", ZMQ_XPUB, ZMQ_XSUB},
    {"xsub_xpub", ZMQ_XSUB, ZMQ_XPUB},
};

// Those that can be connected before the reader is there.
constexpr flow early_flows[] = {
    {"push_pull", ZMQ_PUSH, ZMQ_PULL},         {"pair_pair", ZMQ_PAIR, ZMQ_PAIR},
    {"dealer_dealer", ZMQ_DEALER, ZMQ_DEALER}, {"dealer_router", ZMQ_DEALER, ZMQ_ROUTER},
    {"dealer_rep", ZMQ_DEALER, ZMQ_REP},       {"router_dealer", ZMQ_ROUTER, ZMQ_DEALER},
};

// A socket that sends or receives messages of any pattern: envelopes are put in front, checked and
// taken off.
class end_of_flow {
public:
    end_of_flow() = default;
    end_of_flow(context &zmq, int type, int other, const std::string &own_id, const std::string &peer_id)
        : socket(zmq.socket(type)), replies_(type == ZMQ_REP) {
        socket.set(ZMQ_ROUTING_ID, own_id);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        if (type == ZMQ_ROUTER) {
            socket.set(ZMQ_ROUTER_MANDATORY, 1);
            envelope_ = {peer_id};
        }
        if (other == ZMQ_REP)
            envelope_ = {""};
        if (type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "");
        if (type == ZMQ_XSUB)
            socket.send("\1");
    }

    // EAGAIN can come with the first frame only.
    bool send(const frames &message, int flags = 0) {
        frames whole = envelope_;
        whole.insert(whole.end(), message.begin(), message.end());
        if (socket.send_all(whole, flags))
            return true;
        EXPECT_EQ(zmq_errno(), EAGAIN);
        return false;
    }
    frames receive(int flags = 0) {
        frames found = socket.receive_all(flags);
        if (found.empty())
            return found;
        if (replies_) {
            EXPECT_EQ(socket.send("reply"), 5);  // goes, or is dropped; never waits
        } else if (!envelope_.empty()) {
            EXPECT_EQ(found.front(), envelope_.front());
            found.erase(found.begin());
        }
        return found;
    }

    test_socket socket;

private:
    frames envelope_;
    bool replies_ = false;
};

constexpr unsigned step_of(unsigned mark) { return (mark + 1) / 2; }

class marks {
protected:
    void make(const flow &type, unsigned sender_mark, unsigned reader_mark) {
        sender_type = type.from;
        sender = end_of_flow(zmq, type.from, type.to, "sender", "reader");
        reader = end_of_flow(zmq, type.to, type.from, "reader", "sender");
        if (type.from == ZMQ_XPUB)
            sender.socket.set(ZMQ_XPUB_NODROP, 1);
        for (test_socket *each : {&sender.socket, &reader.socket}) {
            each->set(ZMQ_SNDHWM, static_cast<int>(sender_mark));
            each->set(ZMQ_RCVHWM, static_cast<int>(reader_mark));
            each->set(ZMQ_SNDBUF, kernel_octets);
            each->set(ZMQ_RCVBUF, kernel_octets);
        }
    }
    // No message has been sent when this returns, and the sender knows its peer.
    void link(const flow &type, const std::string &transport) {
        connected(zmq, reader.socket, sender.socket, transport);
        // Over inproc a bound socket subscribes when it is used.
        (void)reader.socket.get(ZMQ_EVENTS);
        if (type.from == ZMQ_XPUB) {
            ASSERT_EQ(sender.socket.receive(), "\1");
        }
        if (type.to == ZMQ_XPUB) {
            ASSERT_EQ(reader.socket.receive(), "\1");
        }
        if (type.from == ZMQ_ROUTER) {
            ASSERT_TRUE(eventually([&] {
                return zmq_send(sender.socket.handle(), "reader", 6, ZMQ_SNDMORE | ZMQ_DONTWAIT) == 6;
            }));
        } else {
            ASSERT_TRUE(sender.socket.has_room());
        }
        is_addressed = type.from == ZMQ_ROUTER;
    }
    frames message(unsigned number) const {
        frames parts{std::to_string(number)};
        for (unsigned part = 0; part < part_count; ++part)
            parts.emplace_back(body_size / part_count, static_cast<char>('a' + (number + part) % 26));
        return parts;
    }
    // Without waiting.
    bool send_next() {
        if (std::exchange(is_addressed, false) ? !sender.socket.send_all(message(sent), ZMQ_DONTWAIT)
                                               : !sender.send(message(sent), ZMQ_DONTWAIT))
            return false;
        ++sent;
        return true;
    }
    // A tight run of non-blocking sends. How many were taken.
    unsigned fill(unsigned most = 100'000) {
        unsigned count = 0;
        while (count < most && send_next())
            ++count;
        return count;
    }
    // Messages go on to the reader's side and the kernel until there is room no more.
    void fill_to_rest(unsigned most) {
        while (sent <= most && eventually([&] { return fill(most + 1) > 0; }, std::chrono::milliseconds(8))) {
        }
    }
    void take(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            const bool is_next = reader.receive() == message(taken);
            ASSERT_TRUE(is_next) << "message " << taken;
            ++taken;
        }
    }
    void take_all() {
        ASSERT_NO_FATAL_FAILURE(take(sent - taken));
        ASSERT_TRUE(reader.receive(ZMQ_DONTWAIT).empty());
    }
    // Expects what POLLOUT says of a sender that is full. XPUB always says yes, as PUB does: with
    // XPUB_NODROP only a send tells.
    void expect_no_room() {
        if (sender_type != ZMQ_XPUB) {
            EXPECT_FALSE(sender.socket.has_room(0));
        }
        EXPECT_FALSE(send_next());
    }
    bool has_room() { return sender.socket.has_room(0); }
    // The most messages that may be between the two, other than in their queues.
    unsigned beyond_marks() const {
        constexpr unsigned in_hands = 2;
        constexpr unsigned blocks_read = 2 * 64 * 1024;
        // The kernel doubles what it is asked for, at both ends.
        return (4 * kernel_octets + blocks_read) / static_cast<unsigned>(body_size) + in_hands;
    }

    static constexpr int kernel_octets = 64 * 1024;
    context zmq;
    end_of_flow sender, reader;
    int sender_type = 0;
    std::size_t body_size = 16;
    unsigned part_count = 1;
    unsigned sent = 0, taken = 0;
    // The address of the first message was sent to find out whether it is known.
    bool is_addressed = false;
};

// ---- Every type, transport and mark ----

class hwm_fill : public marks, public ::testing::TestWithParam<std::tuple<flow, std::string, unsigned>> {
protected:
    const flow &type() const { return std::get<0>(GetParam()); }
    const std::string &transport() const { return std::get<1>(GetParam()); }
    unsigned mark() const { return std::get<2>(GetParam()); }
    bool is_inproc() const { return transport() == "inproc"; }

    void start() {
        make(type(), mark(), mark());
        link(type(), transport());
    }
    // Few of them fill the kernel.
    void use_large_bodies() {
        if (!is_inproc())
            body_size = mark() <= 2 ? 256 * 1024 : mark() <= 10 ? 64 * 1024 : 1024;
    }
    unsigned least_at_rest() const { return 2 * mark() - (is_inproc() ? 0 : step_of(mark()) - 1); }
    unsigned most_at_rest() const { return 2 * mark() + (is_inproc() ? 0 : beyond_marks()); }
};

TEST_P(hwm_fill, holds_without_a_reader_and_opens_again) {
    use_large_bodies();
    ASSERT_NO_FATAL_FAILURE(start());
    for (int round = 0; round < 2; ++round) {
        SCOPED_TRACE(round);
        if (is_inproc()) {
            ASSERT_TRUE(has_room());
            EXPECT_EQ(fill(), 2 * mark());
            expect_no_room();
        } else {
            // In the second round the connection may not yet know that all it wrote is gone.
            if (round == 0) {
                EXPECT_GE(fill(), mark());
            }
            EXPECT_TRUE(eventually([&] {
                (void)fill();
                // The reader need not have told of the last messages it took, either.
                return sent - taken >= least_at_rest() - (round == 0 ? 0 : step_of(mark()) - 1);
            })) << sent
                << " sent, " << taken << " taken, " << least_at_rest() << " at rest\n"
                << text_of(zmq, ZLINK_STATS_JSON);
            fill_to_rest(taken + most_at_rest());
            EXPECT_LE(sent - taken, most_at_rest());
        }
        ASSERT_NO_FATAL_FAILURE(take_all());
        EXPECT_TRUE(sender.socket.has_room());
    }
}

TEST_P(hwm_fill, gives_a_slow_reader_everything_and_the_sender_room_by_steps) {
    use_large_bodies();
    ASSERT_NO_FATAL_FAILURE(start());
    if (is_inproc()) {
        const unsigned step = step_of(2 * mark());
        EXPECT_EQ(fill(), 2 * mark());
        for (int round = 0; round < 4; ++round) {
            ASSERT_NO_FATAL_FAILURE(take(step));
            EXPECT_TRUE(has_room());
            EXPECT_EQ(fill(), step);
        }
    } else {
        EXPECT_TRUE(eventually([&] {
            (void)fill();
            return sent - taken >= least_at_rest();
        }));
        for (int round = 0; round < 2; ++round) {
            fill_to_rest(taken + most_at_rest());
            const unsigned steps = 2 * step_of(mark()) + beyond_marks();
            ASSERT_NO_FATAL_FAILURE(take(std::min(steps, sent - taken)));
            EXPECT_TRUE(sender.socket.has_room());
            EXPECT_TRUE(eventually([&] { return fill() > 0; }));
        }
    }
    // One at a time, whenever the sender cannot go on.
    const unsigned last = sent + most_at_rest() + 20;
    while (sent < last) {
        if (send_next())
            continue;
        if (sent > taken) {
            ASSERT_NO_FATAL_FAILURE(take(1));
        } else {
            ASSERT_TRUE(sender.socket.has_room());
        }
    }
    take_all();
}

TEST_P(hwm_fill, gives_a_fast_reader_everything) {
    ASSERT_NO_FATAL_FAILURE(start());
    const unsigned count = 300 + 3 * mark();
    std::thread reading([&] { take(count); });
    while (sent < count)
        if (!send_next() && !sender.socket.has_room())
            break;
    EXPECT_EQ(sent, count);
    reading.join();
    EXPECT_TRUE(reader.receive(ZMQ_DONTWAIT).empty());
}

TEST_P(hwm_fill, counts_a_message_of_many_parts_once) {
    part_count = 5;
    use_large_bodies();
    ASSERT_NO_FATAL_FAILURE(start());
    const unsigned count = fill();
    if (is_inproc()) {
        EXPECT_EQ(count, 2 * mark());
    } else {
        EXPECT_GE(count, mark());
    }
    fill_to_rest(most_at_rest());
    EXPECT_LE(sent, most_at_rest());
    take_all();
}

template <typename Which>
std::string name_of(const ::testing::TestParamInfo<Which> &which) {
    return std::string(std::get<0>(which.param).name) + "_" + std::get<1>(which.param) + "_mark_" +
           std::to_string(std::get<2>(which.param));
}

const std::string transports[] = {"tcp", "ipc", "inproc"};
const unsigned every_mark[] = {1, 2, 10, effort(1000u, 50u)};

INSTANTIATE_TEST_SUITE_P(all, hwm_fill,
                         ::testing::Combine(::testing::ValuesIn(waiting_flows),
                                            ::testing::ValuesIn(transports), ::testing::ValuesIn(every_mark)),
                         name_of<hwm_fill::ParamType>);

// ---- Nobody there yet ----

class hwm_fill_early : public hwm_fill {};

TEST_P(hwm_fill_early, holds_the_senders_mark_and_delivers_it) {
    const std::string endpoint = lasting_endpoint(transport());
    make(type(), mark(), mark());
    if (type().from == ZMQ_ROUTER)
        sender.socket.set(ZMQ_CONNECT_ROUTING_ID, "reader");
    sender.socket.connect(endpoint);
    EXPECT_EQ(fill(), mark());
    expect_no_room();
    reader.socket.bind(endpoint);
    ASSERT_NO_FATAL_FAILURE(take(mark()));
    EXPECT_TRUE(sender.socket.has_room());
    take_all();
}

INSTANTIATE_TEST_SUITE_P(all, hwm_fill_early,
                         ::testing::Combine(::testing::ValuesIn(early_flows), ::testing::ValuesIn(transports),
                                            ::testing::ValuesIn(every_mark)),
                         name_of<hwm_fill::ParamType>);

// ---- Types that drop ----

class hwm_fill_dropping : public hwm_fill {};

TEST_P(hwm_fill_dropping, never_fails_and_delivers_at_least_the_mark) {
    make(type(), mark(), mark());
    sender.socket.set(ZMQ_XPUB_NODROP, 0);
    if (type().from == ZMQ_PUB) {
        // It cannot be asked whether it knows of the subscription: messages without a number tell.
        connected(zmq, reader.socket, sender.socket, transport());
        ASSERT_TRUE(eventually([&] {
            sender.send({"probe"});
            return !reader.receive(ZMQ_DONTWAIT).empty();
        }));
    } else {
        ASSERT_NO_FATAL_FAILURE(link(type(), transport()));
    }
    const unsigned count = 4 * mark();
    EXPECT_EQ(fill(count), count);
    unsigned found = 0, least = 0;
    const auto note = [&](const frames &next) {
        if (next.size() == 2) {
            const unsigned number = static_cast<unsigned>(std::stoul(next.front()));
            EXPECT_GE(number, least);
            EXPECT_TRUE(next == message(number));
            least = number + 1;
            ++found;
        }
    };
    // Those that fit first are the first ones; probes may have taken room of a PUB's.
    const unsigned certain = type().from == ZMQ_PUB ? 0 : mark();
    EXPECT_TRUE(eventually([&] {
        for (frames next; !(next = reader.receive(ZMQ_DONTWAIT)).empty();)
            note(next);
        return found >= certain;
    }));
    EXPECT_GE(least, certain);
    // There is room again once it was all read.
    EXPECT_TRUE(eventually([&] {
        sender.send({"last", "one", "of all"}, ZMQ_DONTWAIT);
        frames next;
        do
            note(next = reader.receive(ZMQ_DONTWAIT));
        while (!next.empty() && next.size() != 3);
        return next.size() == 3;
    }));
    if (is_inproc()) {  // XPUB keeps as many again that came upstream
        EXPECT_LE(found, (type().to == ZMQ_XPUB ? 3 : 2) * mark());
    }
}

INSTANTIATE_TEST_SUITE_P(all, hwm_fill_dropping,
                         ::testing::Combine(::testing::ValuesIn(dropping_flows),
                                            ::testing::ValuesIn(transports), ::testing::ValuesIn(every_mark)),
                         name_of<hwm_fill::ParamType>);

// ---- Marks changed at sockets in use ----

class hwm_change : public marks, public ::testing::TestWithParam<std::tuple<flow, std::string>> {
protected:
    void start(unsigned sender_mark, unsigned reader_mark) {
        make(std::get<0>(GetParam()), sender_mark, reader_mark);
        link(std::get<0>(GetParam()), std::get<1>(GetParam()));
    }
    bool is_inproc() const { return std::get<1>(GetParam()) == "inproc"; }
    void fill_to(unsigned least) {
        EXPECT_TRUE(eventually([&] {
            (void)fill();
            return sent - taken >= least;
        }));
    }
};

TEST_P(hwm_change, a_senders_mark_raised_when_full_makes_room_for_the_difference) {
    body_size = 256 * 1024;
    ASSERT_NO_FATAL_FAILURE(start(2, 2));
    fill_to_rest(100);
    const unsigned before = sent;
    sender.socket.set(ZMQ_SNDHWM, 12);
    EXPECT_TRUE(has_room());
    const unsigned added = fill();
    EXPECT_GE(added, 10u);
    if (is_inproc()) {
        EXPECT_EQ(before + added, 14u);
    }
    take_all();
}

TEST_P(hwm_change, a_senders_mark_lowered_holds_from_then_on) {
    body_size = 256 * 1024;
    ASSERT_NO_FATAL_FAILURE(start(50, 2));
    sender.socket.set(ZMQ_SNDHWM, 2);
    fill_to_rest(100);
    EXPECT_LE(sent, 4 + (is_inproc() ? 0 : beyond_marks()));
    EXPECT_GE(sent, 2u);
    ASSERT_NO_FATAL_FAILURE(take_all());
    fill_to(is_inproc() ? 4 : 2);
    take_all();
}

TEST_P(hwm_change, a_senders_mark_lowered_when_full_makes_it_wait_for_the_new_one) {
    body_size = 256 * 1024;
    ASSERT_NO_FATAL_FAILURE(start(20, 2));
    fill_to_rest(100);
    sender.socket.set(ZMQ_SNDHWM, 2);
    expect_no_room();
    EXPECT_EQ(fill(), 0u);
    ASSERT_NO_FATAL_FAILURE(take_all());
    fill_to(2);
    fill_to_rest(taken + 100);
    EXPECT_LE(sent - taken, 4 + (is_inproc() ? 0 : beyond_marks()));
    take_all();
}

TEST_P(hwm_change, a_readers_mark_raised_when_full_takes_in_more) {
    body_size = 256 * 1024;
    ASSERT_NO_FATAL_FAILURE(start(2, 2));
    fill_to_rest(100);
    const unsigned before = sent;
    reader.socket.set(ZMQ_RCVHWM, 42);
    EXPECT_TRUE(sender.socket.has_room());
    fill_to(44);
    EXPECT_GT(sent, before);
    if (is_inproc()) {
        EXPECT_EQ(sent, 44u);
    }
    take_all();
}

TEST_P(hwm_change, a_readers_mark_lowered_holds_from_then_on) {
    body_size = 256 * 1024;
    ASSERT_NO_FATAL_FAILURE(start(2, 100));
    reader.socket.set(ZMQ_RCVHWM, 2);
    fill_to_rest(200);
    EXPECT_LE(sent, 4 + (is_inproc() ? 0 : beyond_marks()));
    ASSERT_NO_FATAL_FAILURE(take_all());
    fill_to(2);
    take_all();
}

TEST_P(hwm_change, no_mark_is_lost_to_messages_under_way) {
    ASSERT_NO_FATAL_FAILURE(start(10, 10));
    std::thread reading([&] { take(2000); });
    for (unsigned n = 0; sent < 2000; ++n) {
        if (n % 50 == 0)
            sender.socket.set(ZMQ_SNDHWM, static_cast<int>(1 + n / 50 % 13));
        if (!send_next() && !sender.socket.has_room())
            break;
    }
    EXPECT_EQ(sent, 2000u);
    reading.join();
}

INSTANTIATE_TEST_SUITE_P(
    all, hwm_change, ::testing::Combine(::testing::ValuesIn(waiting_flows), ::testing::ValuesIn(transports)),
    [](const auto &which) {
        return std::string(std::get<0>(which.param).name) + "_" + std::get<1>(which.param);
    });

class hwm_change_early : public ::testing::TestWithParam<std::string> {};

TEST_P(hwm_change_early, holds_before_anybody_comes) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    const std::string endpoint = lasting_endpoint(GetParam());
    push.set(ZMQ_SNDHWM, 5);
    push.set(ZMQ_RECONNECT_IVL, 5);
    push.connect(endpoint);
    const auto fill = [&] {
        int count = 0;
        while (count < 1000 && push.send("x", ZMQ_DONTWAIT) == 1)
            ++count;
        return count;
    };
    EXPECT_EQ(fill(), 5);
    push.set(ZMQ_SNDHWM, 20);
    EXPECT_TRUE(push.has_room(0));
    EXPECT_EQ(fill(), 15);
    push.set(ZMQ_SNDHWM, 3);
    EXPECT_FALSE(push.has_room(0));
    EXPECT_EQ(fill(), 0);
    pull.bind(endpoint);
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(pull.receive(), "x");
    EXPECT_TRUE(push.has_room());
}

INSTANTIATE_TEST_SUITE_P(all, hwm_change_early, ::testing::ValuesIn(transports), transport_name);

TEST(hwm_fill_inproc, a_sender_that_waits_goes_on_when_the_name_is_bound) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    const std::string endpoint = lasting_endpoint("inproc");
    push.set(ZMQ_SNDHWM, 1);
    push.connect(endpoint);
    ASSERT_EQ(push.send("first"), 5);
    std::thread sending([&] { EXPECT_EQ(push.send("second"), 6) << zmq_strerror(zmq_errno()); });
    pull.bind(endpoint);
    sending.join();
    EXPECT_EQ(pull.receive(), "first");
    EXPECT_EQ(pull.receive(), "second");
}

// ---- Question and answer ----

class hwm_question : public ::testing::TestWithParam<std::string> {};

TEST_P(hwm_question, no_mark_stops_it) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP), req = zmq.socket(ZMQ_REQ);
    for (test_socket *each : {&rep, &req}) {
        each->set(ZMQ_SNDHWM, 1);
        each->set(ZMQ_RCVHWM, 1);
    }
    connected(zmq, rep, req, GetParam());
    ASSERT_TRUE(req.has_room());
    for (int i = 0; i < 200; ++i) {
        const std::string number = std::to_string(i);
        ASSERT_NE(req.send(number), -1);
        EXPECT_FAILS(EFSM, req.send("again", ZMQ_DONTWAIT));
        ASSERT_EQ(rep.receive(), number);
        ASSERT_NE(rep.send(number, ZMQ_DONTWAIT), -1);
        ASSERT_EQ(req.receive(), number);
        ASSERT_TRUE(req.has_room());
    }
}

INSTANTIATE_TEST_SUITE_P(all, hwm_question, ::testing::ValuesIn(transports), transport_name);

}  // namespace
