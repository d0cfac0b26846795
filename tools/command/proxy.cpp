// zlink proxy: passes messages between two sockets.
//
// Threads: one passes messages, and obeys commands of the other, which listens to the signals and
// to --control.

#include "interrupts.hpp"
#include "subcommands.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

namespace command {

namespace {

constexpr int proxy_linger_ms = 1000;  // after its end, for what it has taken

struct proxy_flags {
    std::string kind = "queue";
    std::string frontend, backend, capture, control;
    connection_flags connection;
};

struct socket_types {
    int frontend;
    int backend;
};

socket_types types_of(const std::string &kind) {
    return kind == "queue"       ? socket_types{ZMQ_ROUTER, ZMQ_DEALER}
           : kind == "forwarder" ? socket_types{ZMQ_XSUB, ZMQ_XPUB}
                                 : socket_types{ZMQ_PULL, ZMQ_PUSH};
}

void open_one(context &owner, socket &made, const std::string &endpoint, const connection_flags &flags) {
    connection_flags one = flags;
    one.endpoints = {endpoint};
    prepare(made, one);
    made.set(ZMQ_LINGER, 0);
    watch events(owner, made);
    open_endpoints(made, events, one, true);
    zmq_socket_monitor(made.handle(), nullptr, 0);
}

/// The numbers that the proxy answers STATISTICS with, as words.
std::string words_of_statistics(const std::vector<std::string> &parts) {
    constexpr std::array names{"frontend in", "frontend in octets", "frontend out", "frontend out octets",
                               "backend in",  "backend in octets",  "backend out",  "backend out octets"};
    std::string words;
    for (size_t i = 0; i < parts.size() && i < names.size(); ++i) {
        std::uint64_t number = 0;
        std::memcpy(&number, parts[i].data(), std::min(parts[i].size(), sizeof number));
        words += fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i], number);
    }
    return words;
}

/// Waits for signals and commands until one of them ends the proxy.
class steering {
public:
    steering(context &owner, const std::string &control, const connection_flags &flags)
        : inner_(owner, ZMQ_PAIR), outer_(owner, ZMQ_REP), listens_(!control.empty()) {
        inner_.bind("inproc://steering");
        if (listens_) {
            open_one(owner, outer_, control, flags);
        }
    }

    /// `ended` can be read once the proxy has ended by itself.
    status run(interrupts &signals, int ended) {
        for (;;) {
            std::array<zmq_pollitem_t, 3> items{{{nullptr, signals.descriptor(), ZMQ_POLLIN, 0},
                                                 {nullptr, ended, ZMQ_POLLIN, 0},
                                                 {outer_.handle(), 0, ZMQ_POLLIN, 0}}};
            zmq_poll(items.data(), listens_ ? 3 : 2, -1);
            if (items[0].revents != 0 && signals.take()) {
                inner_.try_send({"TERMINATE"});
                return status::interrupted;
            }
            if (items[1].revents != 0) {
                return status::other;
            }
            message got;
            if (listens_ && outer_.try_receive(got) && obey(got.parts[0], ended)) {
                return status::done;
            }
        }
    }

private:
    /// True where it was the command to end.
    bool obey(const std::string &order, int ended) {
        if (order != "PAUSE" && order != "RESUME" && order != "TERMINATE" && order != "STATISTICS") {
            outer_.try_send({"PAUSE, RESUME, STATISTICS or TERMINATE"});
            return false;
        }
        inner_.try_send({order});
        message answer;
        if (order == "STATISTICS") {
            std::array<zmq_pollitem_t, 2> items{
                {{inner_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, ended, ZMQ_POLLIN, 0}}};
            zmq_poll(items.data(), items.size(), -1);
            inner_.try_receive(answer);
        }
        outer_.set(ZMQ_LINGER, proxy_linger_ms);
        outer_.try_send({order == "STATISTICS" ? words_of_statistics(answer.parts) : "OK"});
        return order == "TERMINATE";
    }

    socket inner_;
    socket outer_;
    bool listens_;
};

status proxy(const proxy_flags &flags) {
    interrupts signals;
    context owner;
    const socket_types types = types_of(flags.kind);
    socket frontend(owner, types.frontend), backend(owner, types.backend), capture(owner, ZMQ_PUB);
    steering control(owner, flags.control, flags.connection);
    socket steered(owner, ZMQ_PAIR);
    steered.connect("inproc://steering");
    open_one(owner, frontend, flags.frontend, flags.connection);
    open_one(owner, backend, flags.backend, flags.connection);
    if (!flags.capture.empty()) {
        open_one(owner, capture, flags.capture, flags.connection);
    }
    const int ended = eventfd(0, EFD_CLOEXEC);
    int why = 0;
    std::thread passing([&] {
        const bool was_told =
            zmq_proxy_steerable(frontend.handle(), backend.handle(),
                                flags.capture.empty() ? nullptr : capture.handle(), steered.handle()) == 0;
        why = was_told ? 0 : zmq_errno();
        eventfd_write(ended, 1);
    });
    const status end = control.run(signals, ended);
    passing.join();
    close(ended);
    if (end == status::other) {
        complain(fmt::format("the proxy has ended by itself: {}", zmq_strerror(why)));
    }
    for (socket *each : {&frontend, &backend, &capture}) {
        each->set(ZMQ_LINGER, proxy_linger_ms);
    }
    signals.release();
    return end;
}

}  // namespace

void add_proxy(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("proxy", "Pass messages between two sockets");
    auto flags = std::make_shared<proxy_flags>();
    app->add_option("FRONTEND", flags->frontend, "For those that send; bound, unless > stands in front")
        ->required()
        ->type_name("");
    app->add_option("BACKEND", flags->backend, "For those that receive")->required()->type_name("");
    app->add_option("--kind", flags->kind,
                    "queue (ROUTER and DEALER), forwarder (XSUB and XPUB), streamer (PULL and PUSH)")
        ->check(CLI::IsMember({"queue", "forwarder", "streamer"}))
        ->type_name("NAME");
    app->add_option("--capture", flags->capture, "Publish all that passes here, too")->type_name("EP");
    app->add_option("--control", flags->control,
                    "Answer PAUSE, RESUME, STATISTICS and TERMINATE here, as a REP")
        ->type_name("EP");
    app->add_option("-o,--option", flags->connection.options, "Set an option of each socket")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    app->add_flag("-v,--verbose", flags->connection.is_verbose, "Tell on stderr what is bound");
    add_security_flags(*app, flags->connection.security);
    app->callback([flags, &chosen] { chosen = [flags] { return proxy(*flags); }; });
}

}  // namespace command
