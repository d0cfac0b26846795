#include "bench_peer.hpp"

#include "arguments.hpp"
#include "interrupts.hpp"
#include "sockets.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// An endpoint such as "ws://192.0.2.1:80/path" in its three parts; of ipc it is one.
struct place {
    explicit place(const std::string &endpoint) {
        const size_t host_at = endpoint.find("://") + 3;
        const size_t path_at = std::min(endpoint.find('/', host_at), endpoint.size());
        const size_t colon = endpoint.rfind(':', path_at);
        const bool has_port = endpoint.rfind("ipc:", 0) != 0 && colon > host_at;
        before_port = endpoint.substr(0, has_port ? colon : path_at);
        port = has_port ? endpoint.substr(colon, path_at - colon) : "";
        path = endpoint.substr(path_at);
    }
    std::string before_port, port, path;
};

/// The place that the messages of a run go to: a port of their own, or a file of ipc.
std::string place_beside(const std::string &bound) {
    const place at(bound);
    return at.port.empty() ? "ipc://*" : at.before_port + ":*" + at.path;
}

/// The other side knows its port, and this side the way there.
std::string data_place(const std::string &control, const std::string &far) {
    const place way(control), there(far);
    return there.port.empty() ? far : way.before_port + there.port + there.path;
}

/// A peer that refuses this side will do so again.
void look_for_refusal(watch &events) {
    while (const auto event = events.next()) {
        const auto meaning = meaning_of(*event);
        if (meaning && is_final(*event)) {
            throw failure(*meaning, words_of(*event));
        }
    }
}

std::string ask(socket &control, watch &events, const std::string &words, const bench_stopped &is_stopped) {
    control.try_send({words});
    message answer;
    for (milliseconds waited{0}; !control.try_receive(answer); waited += milliseconds(100)) {
        look_for_refusal(events);
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
    const bench_security_ptr keys = given_security(security);
    context owner;
    const auto judge = keys->make_judge(library, owner.handle());
    socket control(owner, ZMQ_REP);
    control.set(ZMQ_LINGER, 1000);
    keys->apply(library, control.handle(), true);
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
            plan.security = keys;
            bench_far_end far(mine, plan, place_beside(bound));
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
    watch events(owner, control);
    control.connect(endpoint);
    const bench_stopped never = [] { return false; };
    const std::string data = data_place(endpoint, ask(control, events, text_of(plan), is_stopped));
    bench_context mine(library);
    bench_outcome outcome = run_near_end(mine, plan, data, is_stopped);
    if (!plan.is_round_trip && plan.pattern->near_type != ZMQ_SUB) {
        std::istringstream words(ask(control, events, "result", never));
        words >> outcome.messages >> outcome.seconds;
    }
    return outcome;
}

}  // namespace command
