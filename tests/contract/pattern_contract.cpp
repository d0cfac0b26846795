// Tests what every pattern keeps over every transport, whichever side binds: messages arrive once,
// whole and in order, marks hold, lingering delivers, and the end of the context ends every call.
#include "effort.hpp"
#include "sockets.hpp"
#include "transports.hpp"

#include <atomic>
#include <map>
#include <thread>
#include <tuple>

namespace {

using namespace zlink_test;

// One direction of a pattern.
struct flow {
    const char *name;
    int from;
    int to;
    bool drops;  // what does not fit, instead of waiting
};

constexpr flow flows[] = {
    {"push_pull", ZMQ_PUSH, ZMQ_PULL, false},
    {"pair_pair", ZMQ_PAIR, ZMQ_PAIR, false},
    {"dealer_dealer", ZMQ_DEALER, ZMQ_DEALER, false},
    {"dealer_router", ZMQ_DEALER, ZMQ_ROUTER, false},
    {"router_dealer", ZMQ_ROUTER, ZMQ_DEALER, false},
    {"router_router", ZMQ_ROUTER, ZMQ_ROUTER, false},
    {"pub_sub", ZMQ_PUB, ZMQ_SUB, true},
    {"pub_xsub", ZMQ_PUB, ZMQ_XSUB, true},
    {"xpub_sub", ZMQ_XPUB, ZMQ_SUB, true},
    {"xpub_xsub", ZMQ_XPUB, ZMQ_XSUB, true},
};

void PrintTo(const flow &f, std::ostream *out) { *out << f.name; }

// A socket that sends or receives messages of any pattern: ROUTER's ids are put in front, checked
// and taken off.
class end_of_flow {
public:
    end_of_flow() = default;
    end_of_flow(context &zmq, int type, const std::string &own_id, const std::string &peer_id)
        : socket(zmq.socket(type)), peer_(type == ZMQ_ROUTER ? peer_id : "") {
        socket.set(ZMQ_ROUTING_ID, own_id);
        if (type == ZMQ_ROUTER)
            socket.set(ZMQ_ROUTER_MANDATORY, 1);
        if (type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "");
        if (type == ZMQ_XSUB)
            socket.send("\1");
    }

    bool send(const frames &message, int flags = 0) {
        return (peer_.empty() || socket.send(peer_, flags | ZMQ_SNDMORE) != -1) &&
               socket.send_all(message, flags);
    }
    frames receive(int flags = 0) {
        frames found = socket.receive_all(flags);
        if (!peer_.empty() && !found.empty()) {
            EXPECT_EQ(found.front(), peer_);
            found.erase(found.begin());
        }
        return found;
    }

    test_socket socket;

private:
    std::string peer_;
};

// From nothing to 5000 octets, of one to four parts, the first of which is the number.
frames message_of(unsigned number) {
    frames message{std::to_string(number)};
    for (unsigned part = 0; part < number % 4; ++part)
        message.emplace_back(number * (part + 7) * 37 % 5000 * (number % 3), static_cast<char>('a' + part));
    return message;
}

class pattern : public ::testing::TestWithParam<std::tuple<flow, std::string, bool>> {
protected:
    const flow &type() const { return std::get<0>(GetParam()); }
    const std::string &transport() const { return std::get<1>(GetParam()); }
    bool sender_binds() const { return std::get<2>(GetParam()); }

    void make(int marks) {
        sender = end_of_flow(zmq, type().from, "sender", "receiver");
        receiver = end_of_flow(zmq, type().to, "receiver", "sender");
        for (test_socket *each : {&sender.socket, &receiver.socket}) {
            each->set(ZMQ_SNDHWM, marks);
            each->set(ZMQ_RCVHWM, marks);
        }
    }
    // Every route and subscription is known when this returns; some probes may be on their way.
    void link() {
        connected(zmq, sender_binds() ? sender.socket : receiver.socket,
                  sender_binds() ? receiver.socket : sender.socket, transport());
        ASSERT_TRUE(eventually([&] {
            sender.send({"probe"}, ZMQ_DONTWAIT);
            return !receiver.receive(ZMQ_DONTWAIT).empty();
        }));
    }
    // Nothing is on its way when this returns. Not for patterns that drop at small marks.
    void link_and_settle() {
        link();
        ASSERT_TRUE(sender.send({"start"}));
        frames found;
        do
            found = receiver.receive();
        while (found == frames{"probe"});
        ASSERT_EQ(found, frames{"start"});
    }

    context zmq;
    end_of_flow sender, receiver;
};

TEST_P(pattern, every_message_arrives_once_whole_and_in_order) {
    make(type().drops ? 0 : 100);
    link_and_settle();
    const unsigned count = effort(2000, 500);
    std::thread sending([&] {
        for (unsigned n = 0; n < count; ++n)
            ASSERT_TRUE(sender.send(message_of(n))) << zmq_strerror(zmq_errno());
    });
    for (unsigned n = 0; n < count; ++n) {
        const bool is_right = receiver.receive() == message_of(n);
        EXPECT_TRUE(is_right) << n;
        if (!is_right)
            break;
    }
    sending.join();
    EXPECT_TRUE(receiver.receive(ZMQ_DONTWAIT).empty());
}

TEST_P(pattern, closing_with_endless_linger_delivers_everything) {
    make(type().drops ? 0 : 1000);
    link_and_settle();
    const unsigned count = effort(500, 150);
    sender.socket.set(ZMQ_LINGER, -1);
    for (unsigned n = 0; n < count; ++n)
        ASSERT_TRUE(sender.send(message_of(n)));
    sender.socket.close();
    for (unsigned n = 0; n < count; ++n)
        ASSERT_TRUE(receiver.receive() == message_of(n)) << n;
    receiver.socket.close();
    EXPECT_EQ(zmq.term(), 0);
}

TEST_P(pattern, the_end_of_the_context_ends_every_call) {
    make(2);
    link();
    for (test_socket *each : {&sender.socket, &receiver.socket}) {
        each->set(ZMQ_RCVTIMEO, -1);
        each->set(ZMQ_SNDTIMEO, -1);
    }
    // The sender is held up by the mark, if it ever is. Nobody reads: the receiver's side waits at
    // another socket.
    end_of_flow idle(zmq, type().to, "idle", "sender");
    idle.socket.set(ZMQ_RCVTIMEO, -1);
    int sender_error = 0, idle_error = 0;
    std::atomic<int> begun{0};
    std::thread sending([&] {
        ++begun;
        while (sender.send({"message", "of two"})) {
        }
        sender_error = zmq_errno();
        sender.socket.close();
    });
    std::thread receiving([&] {
        ++begun;
        while (!idle.receive().empty()) {
        }
        idle_error = zmq_errno();
        idle.socket.close();
    });
    ASSERT_TRUE(eventually([&] { return begun == 2; }));
    std::thread ending([&] { EXPECT_EQ(zmq.term(), 0); });
    sending.join();
    receiving.join();
    EXPECT_EQ(sender_error, ETERM);
    EXPECT_EQ(idle_error, ETERM);
    // Every call on a socket that is left says the same, until it is closed.
    EXPECT_TRUE(eventually([&] { return receiver.receive(ZMQ_DONTWAIT).empty() && zmq_errno() == ETERM; }));
    receiver.socket.close();
    ending.join();
}

INSTANTIATE_TEST_SUITE_P(all, pattern,
                         ::testing::Combine(::testing::ValuesIn(flows),
                                            ::testing::ValuesIn(built_transports()), ::testing::Bool()),
                         [](const auto &which) {
                             return std::string(std::get<0>(which.param).name) + "_" +
                                    std::get<1>(which.param) +
                                    (std::get<2>(which.param) ? "_sender_binds" : "_receiver_binds");
                         });

// ---- Marks ----

class mark : public pattern {
protected:
    // Room comes for a while as the other side and the kernel take in what they can hold.
    unsigned sent_until_full(const std::string &body) {
        sender.socket.set(ZMQ_SNDTIMEO, 50);
        unsigned count = 0;
        while (count < 100'000 && sender.send({std::to_string(count), body}))
            ++count;
        EXPECT_EQ(zmq_errno(), EAGAIN);
        sender.socket.set(ZMQ_SNDTIMEO, patience_ms);
        return count;
    }
};

TEST_P(mark, holds_and_what_was_taken_arrives) {
    constexpr int kernel_octets = 65536;  // doubled by the kernel, on both sides
    const std::string body(20'000, 'x');
    // It is what the kernel holds, and what each side has in its hands when it stops.
    const unsigned slack = transport() == "inproc" ? 0 : 4 * kernel_octets / 20'000 + 20;
    for (const int marks : {1, 2, 10, effort(1000, 100)}) {
        SCOPED_TRACE(marks);
        make(marks);
        for (test_socket *each : {&sender.socket, &receiver.socket}) {
            each->set(ZMQ_SNDBUF, kernel_octets);
            each->set(ZMQ_RCVBUF, kernel_octets);
        }
        link_and_settle();
        const unsigned count = sent_until_full(body);
        // Credit for the probes may not have come back yet: it does in steps of half a mark.
        EXPECT_GE(2 * count, static_cast<unsigned>(marks));
        EXPECT_LE(count, 2 * static_cast<unsigned>(marks) + slack);
        for (unsigned n = 0; n < count; ++n)
            ASSERT_TRUE(receiver.receive() == (frames{std::to_string(n), body})) << n;
        ASSERT_TRUE(sender.send({"again"}));
        EXPECT_EQ(receiver.receive(), frames{"again"});
    }
}

std::vector<flow> waiting_flows() {
    std::vector<flow> waiting;
    std::copy_if(std::begin(flows), std::end(flows), std::back_inserter(waiting),
                 [](const flow &each) { return !each.drops; });
    return waiting;
}

INSTANTIATE_TEST_SUITE_P(all, mark,
                         ::testing::Combine(::testing::ValuesIn(waiting_flows()),
                                            ::testing::ValuesIn(built_transports()),
                                            ::testing::Values(false)),
                         [](const auto &which) {
                             return std::string(std::get<0>(which.param).name) + "_" +
                                    std::get<1>(which.param);
                         });

// ---- Several senders ----

struct meeting {
    const char *name;
    int from;
    int to;
};

class several_senders : public ::testing::TestWithParam<std::tuple<meeting, std::string>> {};

void PrintTo(const meeting &m, std::ostream *out) { *out << m.name; }

TEST_P(several_senders, parts_of_different_messages_are_never_mixed) {
    const auto &[type, transport] = GetParam();
    constexpr int senders = 4;
    const unsigned count = effort(500, 150);
    context zmq;
    test_socket to = zmq.socket(type.to);
    if (type.to == ZMQ_SUB)
        to.set(ZMQ_SUBSCRIBE, "");
    to.set(ZMQ_RCVHWM, 0);
    const std::string endpoint = to.bind(scratch_endpoint(transport));
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < senders; ++i)
        threads.emplace_back([&, i] {
            test_socket from = zmq.socket(type.from);
            from.set(ZMQ_SNDHWM, 0);
            from.set(ZMQ_LINGER, -1);
            from.connect(endpoint);
            if (type.from == ZMQ_XPUB) {
                EXPECT_EQ(from.receive(), "\1");
            }
            for (unsigned n = 0; n < count; ++n) {
                frames message = message_of(n);
                message.insert(message.begin(), std::to_string(i));
                EXPECT_TRUE(from.send_all(message));
            }
        });
    std::map<int, unsigned> next;
    for (unsigned n = 0; n < senders * count; ++n) {
        frames found = to.receive_all();
        if (type.to == ZMQ_ROUTER && !found.empty())
            found.erase(found.begin());
        EXPECT_FALSE(found.empty()) << zmq_strerror(zmq_errno());
        if (found.empty())
            break;
        const int sender = std::stoi(found.front());
        found.erase(found.begin());
        EXPECT_TRUE(found == message_of(next[sender]++)) << sender;
    }
    for (std::thread &each : threads)
        each.join();
    EXPECT_FALSE(to.receive(ZMQ_DONTWAIT));
}

INSTANTIATE_TEST_SUITE_P(
    all, several_senders,
    ::testing::Combine(::testing::Values(meeting{"push_pull", ZMQ_PUSH, ZMQ_PULL},
                                         meeting{"dealer_dealer", ZMQ_DEALER, ZMQ_DEALER},
                                         meeting{"dealer_router", ZMQ_DEALER, ZMQ_ROUTER},
                                         meeting{"xpub_sub", ZMQ_XPUB, ZMQ_SUB}),
                       ::testing::ValuesIn(built_transports())),
    [](const auto &which) {
        return std::string(std::get<0>(which.param).name) + "_" + std::get<1>(which.param);
    });

// ---- Question and answer ----

class question : public either_binds {};

TEST_P(question, each_gets_its_answer) {
    test_socket req = zmq.socket(ZMQ_REQ);
    test_socket rep = zmq.socket(ZMQ_REP);
    link(req, rep);
    for (unsigned n = 0; n < 300; ++n) {
        ASSERT_TRUE(req.send_all(message_of(n)));
        EXPECT_FAILS(EFSM, req.send("out of turn"));
        ASSERT_TRUE(rep.receive_all() == message_of(n)) << n;
        ASSERT_TRUE(rep.send_all(message_of(n + 1)));
        EXPECT_FAILS(EFSM, rep.send("out of turn"));
        ASSERT_TRUE(req.receive_all() == message_of(n + 1)) << n;
    }
}

TEST_P(question, a_router_sees_the_envelope_and_answers_with_it) {
    test_socket req = zmq.socket(ZMQ_REQ);
    test_socket router = zmq.socket(ZMQ_ROUTER);
    req.set(ZMQ_ROUTING_ID, "asker");
    link(req, router);
    for (unsigned n = 0; n < 300; ++n) {
        ASSERT_TRUE(req.send_all({"question", std::to_string(n)}));
        ASSERT_EQ(router.receive_all(), (frames{"asker", "", "question", std::to_string(n)}));
        ASSERT_TRUE(router.send_all({"asker", "", "answer", std::to_string(n)}));
        ASSERT_EQ(req.receive_all(), (frames{"answer", std::to_string(n)}));
    }
}

TEST_P(question, a_dealer_may_ask_many_before_the_first_answer) {
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    test_socket rep = zmq.socket(ZMQ_REP);
    link(dealer, rep);
    for (unsigned n = 0; n < 300; ++n)
        ASSERT_TRUE(dealer.send_all({"", "question", std::to_string(n)}));
    for (unsigned n = 0; n < 300; ++n) {
        ASSERT_EQ(rep.receive_all(), (frames{"question", std::to_string(n)}));
        ASSERT_TRUE(rep.send_all({"answer", std::to_string(n)}));
    }
    for (unsigned n = 0; n < 300; ++n)
        ASSERT_EQ(dealer.receive_all(), (frames{"", "answer", std::to_string(n)}));
}

INSTANTIATE_TEST_SUITE_P(all, question,
                         ::testing::Combine(::testing::ValuesIn(built_transports()), ::testing::Bool()),
                         [](const auto &which) {
                             return std::get<0>(which.param) +
                                    (std::get<1>(which.param) ? "_asker_binds" : "_answerer_binds");
                         });

}  // namespace
