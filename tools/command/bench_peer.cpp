#include "bench_peer.hpp"

#include "arguments.hpp"
#include "interrupts.hpp"
#include "sockets.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>

namespace command {

namespace {

constexpr milliseconds answer_limit{5000};
constexpr size_t largest_size = size_t{1} << 30;
constexpr int most_clients = 1000;

std::string text_of(const bench_plan &plan) {
    return fmt::format("{} {} {} {} {} {} {}", plan.pattern->name, plan.is_round_trip ? 1 : 0, plan.size,
                       plan.messages, plan.duration.count(), plan.clients, plan.rate);
}

/// Throws `failure` where the peer has sent no plan.
bench_plan plan_of(const std::string &text) {
    std::istringstream words(text);
    std::string name;
    long long duration = 0;
    bench_plan plan;
    words >> name >> plan.is_round_trip >> plan.size >> plan.messages >> duration >> plan.clients >>
        plan.rate;
    plan.pattern = bench_pattern_of(name);
    plan.duration = milliseconds(duration);
    const bool fits =
        plan.pattern && (plan.is_round_trip ? plan.pattern->can_return : plan.pattern->can_go_one_way);
    if (!words || !fits || plan.size > largest_size || plan.clients < 1 || plan.clients > most_clients ||
        duration < 0 || !(plan.rate >= 0)) {
        throw failure(status::protocol, "this is no plan of a run: " + text);
    }
    return plan;
}

std::string before_port(const std::string &endpoint) { return endpoint.substr(0, endpoint.rfind(':')); }

bool has_port(const std::string &endpoint) {
    return endpoint.rfind("tcp://", 0) == 0 || endpoint.rfind("tls://", 0) == 0;
}

std::string ask(socket &control, const std::string &words, const bench_stopped &is_stopped) {
    control.try_send({words});
    message answer;
    for (milliseconds waited{0}; !control.try_receive(answer); waited += milliseconds(100)) {
        zmq_pollitem_t item{control.handle(), 0, ZMQ_POLLIN, 0};
        zmq_poll(&item, 1, 100);
        if (waited > answer_limit || is_stopped()) {
            throw failure(status::unreachable, "no `zlink bench --bind` answers there, or it is busy");
        }
    }
    if (answer.parts.size() != 2 || answer.parts[0] != "ok") {
        throw failure(status::protocol, "the other side refuses: " + answer.parts.back());
    }
    return answer.parts[1];
}

}  // namespace

status serve_bench(const std::string &endpoint, const security_flags &security) {
    interrupts signals;
    const bench_library library = own_library();
    context owner;
    socket control(owner, ZMQ_REP);
    control.set(ZMQ_LINGER, 1000);
    secure(control, security);
    control.bind(endpoint);
    const std::string bound = control.last_endpoint();
    complain("bound to " + bound + "; zlink bench --connect is to go there");
    bool is_interrupted = false;
    const bench_stopped is_stopped = [&] { return is_interrupted = is_interrupted || signals.take(); };
    std::string result = "0 0";
    while (!is_stopped()) {
        std::array<zmq_pollitem_t, 2> items{
            {{nullptr, signals.descriptor(), ZMQ_POLLIN, 0}, {control.handle(), 0, ZMQ_POLLIN, 0}}};
        zmq_poll(items.data(), items.size(), -1);
        message got;
        if (!control.try_receive(got)) {
            continue;
        }
        if (got.parts[0] == "result") {
            control.try_send({"ok", result});
            continue;
        }
        bool has_answered = false;
        try {
            bench_context mine(library);
            bench_plan plan = plan_of(got.parts[0]);
            plan.security = given_security(security);
            bench_far_end far(mine, plan,
                              has_port(bound) ? before_port(bound) + ":*" : before_port(bound) + "://*");
            has_answered = control.try_send({"ok", far.endpoint()});
            const bench_outcome received = far.run(is_stopped);
            result = fmt::format("{} {}", received.messages, received.seconds);
        } catch (const failure &error) {
            complain(error.what());
            if (!has_answered) {
                control.try_send({"error", error.what()});
            }
        }
    }
    return status::interrupted;
}

bench_outcome run_with_peer(const bench_plan &plan, const std::string &endpoint,
                            const security_flags &security, const bench_stopped &is_stopped) {
    const bench_library library = own_library();
    context owner;
    socket control(owner, ZMQ_REQ);
    control.set(ZMQ_LINGER, 0);
    secure(control, security);
    control.connect(endpoint);
    const bench_stopped never = [] { return false; };
    std::string data = ask(control, text_of(plan), is_stopped);
    if (has_port(endpoint)) {
        data = before_port(endpoint) + data.substr(data.rfind(':'));
    }
    bench_context mine(library);
    bench_outcome outcome = run_near_end(mine, plan, data, is_stopped);
    if (!plan.is_round_trip && plan.pattern->near_type != ZMQ_SUB) {
        std::istringstream words(ask(control, "result", never));
        words >> outcome.messages >> outcome.seconds;
    }
    return outcome;
}

}  // namespace command
