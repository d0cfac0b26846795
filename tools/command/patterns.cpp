// zlink cat TYPE, and pub, sub, push, pull, req, rep, dealer, router, pair: the same with the type
// said by the name.

#include "exchange.hpp"
#include "shell.hpp"
#include "subcommands.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <memory>

namespace command {

namespace {

struct pattern_flags {
    exchange_flags exchange;
    std::string type;
    bool echoes = false;
    std::string answering;
};

responder responder_of(const pattern_flags &flags) {
    const format_flags &format = flags.exchange.format;
    if (flags.echoes) {
        return [](const std::vector<std::string> &request, int) { return request; };
    }
    if (!flags.answering.empty()) {
        return [&flags, &format](const std::vector<std::string> &request,
                                 int interrupted) -> std::optional<std::vector<std::string>> {
            message got;
            got.parts = request;
            format_flags plain = format;
            plain.kind = format.kind == format_kind::line ? format_kind::raw : format.kind;
            auto reply = output_of_shell(flags.answering, formatted(got, plain), interrupted);
            if (!reply) {
                return std::nullopt;
            }
            const format_kind kind = format.input_kind.value_or(format.kind);
            if (kind != format_kind::raw && kind != format_kind::msgpack && !reply->empty() &&
                reply->back() == '\n') {
                reply->pop_back();
            }
            return parts_of_input(*reply, format);
        };
    }
    if (!flags.exchange.messages.empty()) {
        return [&flags, &format, next = size_t{0}](const std::vector<std::string> &, int) mutable {
            return parts_of_argument(flags.exchange.messages[next++ % flags.exchange.messages.size()],
                                     format);
        };
    }
    return {};
}

void add_sending_flags(CLI::App &app, exchange_flags &flags) {
    app.add_option("-m,--message", flags.messages, "Send this instead of stdin; may be given again")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    add_duration(app, "-i,--interval", flags.interval, "Wait so long between two messages");
}

void add_flags(CLI::App &app, pattern_flags &flags, const role &part, bool is_cat) {
    exchange_flags &exchange = flags.exchange;
    add_connection_flags(app, exchange.connection);
    add_format_flags(app, exchange.format, part.receives || is_cat);
    app.add_option("-n,--count", exchange.count, "End after so many messages")->type_name("NUMBER");
    if (part.sends) {
        add_sending_flags(app, exchange);
    }
    if (part.type == ZMQ_PUB || part.type == ZMQ_SUB || is_cat) {
        CLI::Option *topics = app.add_option("-t,--topic", exchange.topics,
                                             part.type == ZMQ_PUB ? "First part of each message"
                                                                  : "Take what begins so; may be given again")
                                  ->type_name("TEXT")
                                  ->allow_extra_args(false);
        if (part.type == ZMQ_PUB) {
            topics->expected(1);
        }
    }
    if (part.type == ZMQ_PUB) {
        exchange.ready = 1;
        app.add_option("--ready", exchange.ready,
                       "Wait for so many subscribers first; 1, unless it is set, and 0 sends at once")
            ->type_name("NUMBER");
    }
    if (part.type == ZMQ_DEALER || part.type == ZMQ_ROUTER || is_cat) {
        app.add_flag("--delimiter", exchange.has_delimiter,
                     "Put an empty part in front of a message, as REQ and REP have it, and take it off");
    }
    if (part.receives) {
        app.add_flag("-E,--until-gone", exchange.ends_with_peer, "End when the last peer has gone");
    }
    if (part.type == ZMQ_REP) {
        CLI::Option *echo = app.add_flag("--echo", flags.echoes, "Answer each request with itself");
        app.add_option("--command", flags.answering,
                       "Answer with what this command of the shell makes of the request")
            ->type_name("CMD")
            ->excludes(echo);
    }
}

CLI::App *add_pattern(CLI::App &root, action &chosen, const std::string &name, const std::string &help,
                      int type) {
    CLI::App *app = root.add_subcommand(name, help);
    auto flags = std::make_shared<pattern_flags>();
    const role part = role_of(type);
    add_flags(*app, *flags, part, false);
    app->callback([flags, part, &chosen] {
        chosen = [flags, part] {
            apply_context(flags->exchange.connection);
            return exchange(flags->exchange, part, part.type == ZMQ_REP ? responder_of(*flags) : responder())
                .run();
        };
    });
    return app;
}

void add_cat(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("cat", "Stdin to a socket of any type, and the socket to stdout");
    auto flags = std::make_shared<pattern_flags>();
    app->add_option("TYPE", flags->type, "Of the socket: pair, pub, sub, ...")
        ->required()
        ->check(CLI::IsMember(names_of_types(), CLI::ignore_case));
    add_flags(*app, *flags, {ZMQ_PAIR, false, true, true}, true);
    app->callback([flags, &chosen] {
        chosen = [flags] {
            apply_context(flags->exchange.connection);
            role part = role_of(*type_of_name(flags->type));
            part.binds_by_default = false;
            flags->exchange.ready = part.type == ZMQ_PUB ? 1 : 0;
            return exchange(flags->exchange, part, {}).run();
        };
    });
}

}  // namespace

void add_patterns(CLI::App &root, action &chosen) {
    add_cat(root, chosen);
    add_pattern(root, chosen, "pub", "Publish; binds, and waits for a subscriber", ZMQ_PUB);
    add_pattern(root, chosen, "sub", "Subscribe; connects", ZMQ_SUB);
    add_pattern(root, chosen, "push", "Hand out messages in turn; connects", ZMQ_PUSH);
    add_pattern(root, chosen, "pull", "Collect messages; binds", ZMQ_PULL);
    add_pattern(root, chosen, "req", "Ask, and print the reply; connects", ZMQ_REQ);
    add_pattern(root, chosen, "rep", "Answer; binds", ZMQ_REP);
    add_pattern(root, chosen, "dealer", "Send and receive freely; connects", ZMQ_DEALER);
    add_pattern(root, chosen, "router",
                "Talk to peers by their routing ids, the first field of a line; binds", ZMQ_ROUTER);
    add_pattern(root, chosen, "pair", "Talk to one peer; connects", ZMQ_PAIR);
}

}  // namespace command
