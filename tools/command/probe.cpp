// zlink probe: step by step to a peer, and where it ends.
//
// Flow: over tcp, ipc and tls without keys it is raw_peer that goes, which learns the type of the
// peer without being handed messages. Where there are keys, a policy that may add them, or another
// transport, a socket and its monitor go.

#include "interrupts.hpp"
#include "plain_stream.hpp"
#include "raw_peer.hpp"
#include "subcommands.hpp"
#include "text.hpp"
#include "tls_connection.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

namespace command {

namespace {

using clock = std::chrono::steady_clock;

struct probe_flags {
    connection_flags connection;
    std::string endpoint;
    std::string type;  // that the peer should have
    bool wants_data = false;
};

/// Prints a line a step, with its time.
class steps {
public:
    void done(const char *step, const std::string &words) {
        const auto now = clock::now();
        fmt::print("{:10}{:9.2f} ms  {}\n", step,
                   std::chrono::duration<double, std::milli>(now - last_).count(),
                   safe_for_terminal(words));  // a peer may have chosen them
        std::fflush(stdout);
        last_ = now;
    }

    [[noreturn]] void failed(const char *step, const failure &error) {
        done(step, fmt::format("FAILED: {}", error.what()));
        throw failure(error.code(), fmt::format("{}: {}", step, error.what()));
    }

    /// Does a step that throws where it fails; a time-out is one of this kind.
    template <typename Call>
    auto attempt(const char *step, status when_late, Call call) {
        try {
            return call();
        } catch (const failure &error) {
            failed(step, error.code() == status::timed_out ? failure(when_late, error.what()) : error);
        }
    }

private:
    clock::time_point last_ = clock::now();
};

std::string shown(const std::string &octets) {
    constexpr size_t enough = 60;
    return fmt::format("\"{}\"{}", escaped(octets.substr(0, enough)), octets.size() > enough ? "..." : "");
}

void expect_type(const probe_flags &flags, const std::string &found) {
    if (!flags.type.empty() && name_of_type(*type_of_name(flags.type)) != found) {
        throw failure(status::protocol, fmt::format("the peer is a {}, not a {}", found, flags.type));
    }
}

std::string words_of_ready(const std::map<std::string, std::string> &properties) {
    std::string words;
    for (const auto &[name, value] : properties) {
        if (!value.empty()) {
            words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name,
                                 name == "Socket-Type" ? value : shown(value));
        }
    }
    return words;
}

/// Whether it may send a message to a peer that has asked for none.
bool hands_out(int type) {
    constexpr std::array those{ZMQ_PUSH,   ZMQ_DEALER,  ZMQ_REQ,     ZMQ_PAIR,
                               ZMQ_CLIENT, ZMQ_SCATTER, ZMQ_CHANNEL, ZMQ_PEER};
    return std::find(those.begin(), those.end(), type) != those.end();
}

/// Looks at the properties that the peer has told; they have the type.
void finish(raw_peer &peer, const std::map<std::string, std::string> &properties) {
    const auto found = properties.find("Socket-Type");
    const auto type = found == properties.end() ? std::nullopt : type_of_name(found->second);
    if (type && !hands_out(*type)) {
        peer.finish(name_of_type(partner_of(*type)));
    }
}

greeting greeting_of(raw_peer &peer, steps &print) {
    try {
        return peer.greet();
    } catch (const failure &error) {
        if (error.code() == status::refused) {
            print.failed("tls", error);  // by then it was done on this side
        }
        print.failed("greeting",
                     error.code() == status::timed_out ? failure(status::protocol, error.what()) : error);
    }
}

/// Goes on where there is a connection.
void probe_raw(const probe_flags &flags, steps &print, peer_stream &connected, clock::time_point deadline) {
    raw_peer peer(connected, deadline);
    const greeting said = greeting_of(peer, print);
    if (said.major < 3) {
        print.done("greeting", "ZMTP 2.0 or older, which tells no more");
        return;
    }
    print.done("greeting",
               fmt::format("ZMTP {}.{}, mechanism {}", said.major, said.minor, escaped(said.mechanism)));
    if (said.mechanism != "NULL") {
        print.failed("mechanism",
                     failure(status::refused, "the peer asks for " + escaped(said.mechanism) +
                                                  ", and neither keys nor a password were given"));
    }
    print.done("mechanism", "NULL, which asks for nothing");
    const auto properties = print.attempt("ready", status::protocol, [&] {
        auto read = peer.read_ready();
        if (!flags.wants_data) {
            finish(peer, read);
        }
        expect_type(flags, read["Socket-Type"]);
        return read;
    });
    print.done("ready", words_of_ready(properties));
    if (flags.wants_data) {
        const auto type = type_of_name(properties.at("Socket-Type"));
        size_t size = 0, parts = 0;
        const std::string first = print.attempt("data", status::timed_out, [&] {
            if (!type) {
                throw failure(status::protocol, "this type of peer is not known here");
            }
            const int own = partner_of(*type);
            peer.send_ready(name_of_type(own));
            if (own == ZMQ_SUB) {
                peer.subscribe_to_all();
            }
            return peer.read_message(size, parts);
        });
        print.done("data", fmt::format("{} octets in {} part{}: {}", size, parts, parts == 1 ? "" : "s",
                                       shown(first)));
    }
}

void probe_plain(const probe_flags &flags, steps &print, clock::time_point deadline) {
    plain_stream connected;
    print.done("connect", print.attempt("connect", status::unreachable,
                                        [&] { return connected.connect(flags.endpoint, deadline); }));
    probe_raw(flags, print, connected, deadline);
}

void probe_tls(const probe_flags &flags, steps &print, tls_connection &connected,
               clock::time_point deadline) {
    print.done("connect", print.attempt("connect", status::unreachable,
                                        [&] { return connected.connect(flags.endpoint, deadline); }));
    print.done("tls", print.attempt("tls", status::refused, [&] { return connected.shake_hands(deadline); }));
    probe_raw(flags, print, connected, deadline);
}

/// The type that words such as "the peer is a PUB, which does not talk to a PAIR" name.
std::string type_in(const std::string &reason) {
    const std::string before = "the peer is a ";
    const size_t at = reason.find(before);
    const size_t comma = reason.find(',', at);
    if (at == std::string::npos || comma == std::string::npos) {
        return {};
    }
    return reason.substr(at + before.size(), comma - at - before.size());
}

class socket_probe {
public:
    socket_probe(const probe_flags &flags, steps &print, clock::time_point deadline)
        : flags_(flags), print_(print), deadline_(deadline),
          socket_(context_, flags.type.empty() ? ZMQ_PAIR : partner_of(*type_of_name(flags.type))),
          watch_(context_, socket_) {
        socket_.set(ZMQ_LINGER, 0);
    }

    status run() {
        connection_flags connection = flags_.connection;
        connection.endpoints = {">" + flags_.endpoint};
        prepare(socket_, connection);
        if (socket_.get(ZMQ_TYPE) == ZMQ_SUB) {
            socket_.set(ZMQ_SUBSCRIBE, std::string());
        }
        print_.attempt("connect", status::unreachable,
                       [&] { open_endpoints(socket_, watch_, connection, false); });
        while (!is_ready_) {
            wait(watch_.handle(), has_connected_ ? status::protocol : status::unreachable,
                 has_connected_ ? "ready" : "connect");
            while (const auto event = watch_.next()) {
                look_at(*event);
            }
        }
        if (flags_.wants_data) {
            message got;
            while (!socket_.try_receive(got)) {
                wait(socket_.handle(), status::timed_out, "data");
            }
            print_.done("data", fmt::format("{} part{}: {}", got.parts.size(),
                                            got.parts.size() == 1 ? "" : "s", shown(got.parts[0])));
        }
        return status::done;
    }

private:
    void wait(void *on, status when_late, const char *step) {
        const auto left = std::chrono::ceil<milliseconds>(deadline_ - clock::now()).count();
        zmq_pollitem_t item{on, 0, ZMQ_POLLIN, 0};
        const int found = left > 0 ? zmq_poll(&item, 1, left) : 0;
        if (found == 0) {
            print_.failed(step,
                          failure(when_late, last_words_.empty() ? "nothing came in time" : last_words_));
        }
    }

    void look_at(const watch_event &event) {
        if (flags_.connection.is_verbose) {
            complain(words_of(event));
        }
        last_words_ = event.reason.empty() ? last_words_ : event.reason;
        if (event.number == ZMQ_EVENT_CONNECTED) {
            if (!has_connected_) {
                print_.done("connect", event.endpoint);
            }
            has_connected_ = true;
        } else if (event.number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
            tell_how_it_is_secured();
            print_.done("ready",
                        flags_.type.empty() ? "Socket-Type PAIR" : "a peer that fits a " + flags_.type);
            is_ready_ = true;
        } else if (const std::string type = type_in(event.reason); !type.empty() && flags_.type.empty()) {
            print_.done("ready", "Socket-Type " + type);
            is_ready_ = true;
            if (flags_.wants_data) {
                print_.failed("data", failure(status::usage, "--data needs --type here: " + type));
            }
        } else if (const auto meaning = meaning_of(event)) {
            const bool is_handshake = *meaning != status::unreachable;
            print_.failed(is_handshake ? "handshake" : "connect", failure(*meaning, hinted(event)));
        }
    }

    /// The steps that a monitor tells of when they are all done.
    void tell_how_it_is_secured() {
        std::string version, mechanism;
        auto both = std::tie(version, mechanism);
        zlink_peers(
            socket_.handle(),
            [](void *into, const zlink_peer_t *peer, size_t) {
                *static_cast<decltype(both) *>(into) = std::tuple(peer->tls_version, peer->mechanism);
                return 0;
            },
            &both);
        if (!version.empty()) {
            print_.done("tls", version);
        }
        if (!mechanism.empty()) {
            print_.done("mechanism", mechanism);
        }
    }

    std::string hinted(const watch_event &event) const {
        const std::string words = event.reason.empty() ? words_of(event) : event.reason;
        return flags_.type.empty() && words.find("closed the connection") != std::string::npos
                   ? words + "; it may refuse without a word what is not of its own type: --type names that"
                   : words;
    }

    const probe_flags &flags_;
    steps &print_;
    clock::time_point deadline_;
    context context_;
    socket socket_;
    watch watch_;
    std::string last_words_;
    bool has_connected_ = false;
    bool is_ready_ = false;
};

status probe(const probe_flags &flags) {
    const auto deadline = clock::now() + flags.connection.timeout.value_or(milliseconds(5000));
    steps print;
    const security_flags &security = flags.connection.security;
    const bool is_secured = !security.curve_server_key.empty() || !security.username.empty();
    const auto is_of = [&flags](const char *scheme) { return flags.endpoint.rfind(scheme, 0) == 0; };
    if (!is_secured && (is_of("tcp://") || is_of("ipc://"))) {
        probe_plain(flags, print, deadline);
        return status::done;
    }
    if (!is_secured && is_of("tls://") && zlink_policy_in_force() == 0) {
        tls_connection connected(flags.connection);
        if (!connected.wants_mechanism()) {
            probe_tls(flags, print, connected, deadline);
            return status::done;
        }
    }
    return socket_probe(flags, print, deadline).run();
}

}  // namespace

void add_probe(CLI::App &root, action &chosen) {
    CLI::App *app =
        root.add_subcommand("probe", "Go step by step to a peer, and tell where it ends: a health check");
    auto flags = std::make_shared<probe_flags>();
    app->add_option("EP", flags->endpoint, "tcp://host:port and the like")->required()->type_name("");
    app->add_option("--type", flags->type, "The type of socket that the peer should have")
        ->check(CLI::IsMember(names_of_types(), CLI::ignore_case));
    app->add_flag("--data", flags->wants_data, "Wait for a first message, too, and take it");
    app->add_option("-o,--option", flags->connection.options, "Set an option of the socket")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    add_duration(*app, "-W,--timeout", flags->connection.timeout,
                 "Give up after so long; 5s, unless it is set");
    app->add_flag("-v,--verbose", flags->connection.is_verbose,
                  "Tell on stderr what happens to the connection");
    add_security_flags(*app, flags->connection.security);
    app->footer("A step that fails ends it, with 4: cannot resolve or connect; 5: TLS, or the mechanism; 6: "
                "no greeting of "
                "ZMTP, no READY, or another type; 7: the peer has closed the connection; 3: no data.");
    app->callback([flags, &chosen] { chosen = [flags] { return probe(*flags); }; });
}

}  // namespace command
