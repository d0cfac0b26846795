#include "arguments.hpp"

#include "certificate_file.hpp"
#include "socket_options.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

namespace command {

namespace {

milliseconds duration_of(const std::string &text) {
    const char *begin = text.c_str();
    char *end = nullptr;
    const double number = std::strtod(begin, &end);
    const std::string unit = end;
    double factor = 1000;
    if (unit == "ms") {
        factor = 1;
    } else if (unit == "m" || unit == "min") {
        factor = 60000;
    } else if (unit == "h") {
        factor = 3600000;
    } else if (!unit.empty() && unit != "s") {
        throw CLI::ValidationError(text + " is no time such as 2, 0.5, 500ms or 1m");
    }
    if (end == begin || !(number >= 0) || number * factor > 2e9) {
        throw CLI::ValidationError(text + " is no time such as 2, 0.5, 500ms or 1m");
    }
    return milliseconds(static_cast<long long>(number * factor));
}

std::string context_path(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        throw failure(status::usage, "--context takes a name, not a path: " + name);
    }
    const char *config = std::getenv("XDG_CONFIG_HOME");
    const char *home = std::getenv("HOME");
    const std::string folder = config && *config ? config : std::string(home ? home : "") + "/.config";
    return fmt::format("{}/zlink/{}.toml", folder, name);
}

/// Sets an option that the build may lack, and says which flag asked for it.
template <typename Value>
void set_for(socket &made, const char *flag, int option, const Value &value) {
    try {
        made.set(option, value);
    } catch (const failure &) {
        throw failure(status::usage, fmt::format("{}: {}", flag, zmq_strerror(zmq_errno())));
    }
}

/// A variable that is set to nothing was meant to protect something.
void refuse_empty_variables(const security_flags &flags) {
    const std::array<std::pair<const char *, const std::string *>, 7> texts{
        {{"ZLINK_CERT", &flags.cert},
         {"ZLINK_KEY", &flags.key},
         {"ZLINK_CA", &flags.ca},
         {"ZLINK_CURVE_SERVER_KEY", &flags.curve_server_key},
         {"ZLINK_CURVE_CERT", &flags.curve_cert},
         {"ZLINK_USERNAME", &flags.username},
         {"ZLINK_PASSWORD", &flags.password}}};
    for (const auto &[variable, text] : texts) {
        if (text->empty() && std::getenv(variable)) {
            throw failure(status::usage, fmt::format("{} is empty", variable));
        }
    }
}

void secure_by_curve(socket &made, const security_flags &flags) {
    curve_keys own;
    if (!flags.curve_cert.empty()) {
        own = read_certificate_file(flags.curve_cert);
        if (own.secret_key.empty()) {
            throw failure(status::usage, fmt::format("{} holds no secret key", flags.curve_cert));
        }
    } else if (flags.is_curve_server) {
        throw failure(status::usage,
                      "--curve-server needs --curve-cert: the secret certificate of this side");
    } else {
        own = new_keys();
    }
    if (flags.is_curve_server) {
        set_for(made, "--curve-server", ZMQ_CURVE_SERVER, 1);
    } else {
        set_for(made, "--curve-server-key", ZMQ_CURVE_SERVERKEY, public_key_of(flags.curve_server_key));
        set_for(made, "--curve-cert", ZMQ_CURVE_PUBLICKEY, own.public_key);
    }
    set_for(made, "--curve-cert", ZMQ_CURVE_SECRETKEY, own.secret_key);
}

/// Has the failure of a bind or connect say why, too.
template <typename Call>
void with_reason(watch &events, Call call) {
    try {
        call();
    } catch (const failure &error) {
        const std::string reason = events.left_reason();
        throw failure(error.code(),
                      reason.empty() ? error.what() : fmt::format("{}: {}", error.what(), reason));
    }
}

}  // namespace

CLI::Option *add_duration(CLI::App &app, const std::string &name, std::optional<milliseconds> &into,
                          const std::string &help) {
    return app
        .add_option_function<std::string>(
            name, [&into](const std::string &text) { into = duration_of(text); }, help)
        ->type_name("TIME");
}

CLI::Validator not_empty(const std::string &flag) {
    return CLI::Validator(
        [flag](const std::string &text) { return text.empty() ? flag + " is empty" : std::string(); }, "");
}

void add_security_flags(CLI::App &app, security_flags &flags) {
    const std::string group = "Security";
    const auto text = [&](const char *name, std::string &into, const char *kind, const char *help) {
        return app.add_option(name, into, help)->check(not_empty(name))->type_name(kind)->group(group);
    };
    text("--cert", flags.cert, "FILE", "TLS: certificate of this side, PEM")->envname("ZLINK_CERT");
    text("--key", flags.key, "FILE", "TLS: private key of --cert, PEM")->envname("ZLINK_KEY");
    text("--ca", flags.ca, "FILE", "TLS: authorities to trust; clients trust the system's without it")
        ->envname("ZLINK_CA");
    app.add_flag("--insecure", flags.is_insecure, "TLS: take any server")->group(group);
    text("--curve-server-key", flags.curve_server_key, "KEY",
         "CURVE: public key of the server, in Z85 or in a file")
        ->envname("ZLINK_CURVE_SERVER_KEY");
    text("--curve-cert", flags.curve_cert, "FILE",
         "CURVE: secret certificate of this side; a client makes a pair for once without it")
        ->envname("ZLINK_CURVE_CERT");
    app.add_flag("--curve-server", flags.is_curve_server, "CURVE: this side is the server")->group(group);
    text("--username", flags.username, "NAME", "PLAIN: name of this side")->envname("ZLINK_USERNAME");
    text("--password", flags.password, "TEXT",
         "PLAIN: password; better in the environment, which ps does not show")
        ->envname("ZLINK_PASSWORD");
}

void add_connection_flags(CLI::App &app, connection_flags &flags) {
    app.add_option("EP", flags.endpoints, "tcp://host:port and the like; @ in front binds, > connects")
        ->type_name("");
    app.add_option("-b,--bind", flags.bound, "Bind to this endpoint")
        ->type_name("EP")
        ->allow_extra_args(false);
    app.add_option("-c,--connect", flags.connected, "Connect to this endpoint")
        ->type_name("EP")
        ->allow_extra_args(false);
    app.add_option("-o,--option", flags.options,
                   "Set an option of the socket: sndhwm=5; zlink help options lists them")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    app.add_option("--context", flags.context, "Take what is not given here from ~/.config/zlink/NAME.toml")
        ->check(not_empty("--context"))
        ->type_name("NAME")
        ->envname("ZLINK_CONTEXT");
    add_duration(app, "-W,--timeout", flags.timeout,
                 "Give up when no message has come, or could be sent, for so long: since the last one");
    app.add_flag("-q,--quiet", flags.is_quiet, "Say nothing on stderr");
    app.add_flag("-v,--verbose", flags.is_verbose, "Tell on stderr what happens to the connections");
    add_security_flags(app, flags.security);
}

void secure(socket &made, const security_flags &flags) {
    refuse_empty_variables(flags);
    if (!flags.cert.empty()) {
        set_for(made, "--cert", ZMQ_TLS_CERT, flags.cert);
    }
    if (!flags.key.empty()) {
        set_for(made, "--key", ZMQ_TLS_KEY, flags.key);
    }
    if (!flags.ca.empty()) {
        set_for(made, "--ca", ZMQ_TLS_CA, flags.ca);
        set_for(made, "--ca", ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);  // of those that bind alone
    }
    if (flags.is_insecure) {
        set_for(made, "--insecure", ZMQ_TLS_VERIFY, 0);
    }
    if (flags.is_curve_server || !flags.curve_server_key.empty()) {
        secure_by_curve(made, flags);
    } else if (!flags.curve_cert.empty()) {
        throw failure(status::usage, "--curve-cert needs --curve-server-key, or --curve-server");
    }
    if (!flags.username.empty()) {
        set_for(made, "--username", ZMQ_PLAIN_USERNAME, flags.username);
        set_for(made, "--password", ZMQ_PLAIN_PASSWORD, flags.password);
    } else if (!flags.password.empty()) {
        throw failure(status::usage, "--password needs --username");
    }
}

void apply_context(connection_flags &flags) {
    if (flags.context.empty()) {
        return;
    }
    const std::string path = context_path(flags.context);
    std::ifstream file(path);
    if (!file) {
        throw failure(status::usage,
                      fmt::format("--context {}: {}: {}", flags.context, path, std::strerror(errno)));
    }
    security_flags &security = flags.security;
    const std::map<std::string, std::string *> texts{{"cert", &security.cert},
                                                     {"key", &security.key},
                                                     {"ca", &security.ca},
                                                     {"curve-server-key", &security.curve_server_key},
                                                     {"curve-cert", &security.curve_cert},
                                                     {"username", &security.username},
                                                     {"password", &security.password}};
    const std::map<std::string, bool *> truths{{"insecure", &security.is_insecure},
                                               {"curve-server", &security.is_curve_server}};
    const bool has_endpoints = !flags.endpoints.empty() || !flags.bound.empty() || !flags.connected.empty();
    for (const CLI::ConfigItem &item : CLI::ConfigTOML().from_config(file)) {
        if (const auto text = texts.find(item.name); text != texts.end() && item.inputs.size() == 1) {
            if (item.inputs[0].empty()) {
                throw failure(status::usage, fmt::format("{}: {} is empty", path, item.name));
            }
            *text->second = text->second->empty() ? item.inputs[0] : *text->second;
        } else if (const auto truth = truths.find(item.name);
                   truth != truths.end() && item.inputs.size() == 1) {
            *truth->second |= item.inputs[0] == "true";
        } else if (item.name == "endpoint") {
            flags.endpoints.insert(flags.endpoints.end(), item.inputs.begin(),
                                   has_endpoints ? item.inputs.begin() : item.inputs.end());
        } else if (item.name == "option") {
            flags.options.insert(flags.options.begin(), item.inputs.begin(), item.inputs.end());
        } else {
            throw failure(status::usage, fmt::format("{}: {} is not known here", path, item.fullname()));
        }
    }
}

void prepare(socket &made, const connection_flags &flags) {
    secure(made, flags.security);
    for (const std::string &each : flags.options) {
        set_option(made, each);
    }
}

opened open_endpoints(socket &made, watch &events, const connection_flags &flags, bool binds_by_default) {
    opened open;
    open.bound = flags.bound;
    open.connected = flags.connected;
    for (const std::string &each : flags.endpoints) {
        if (each.empty()) {
            throw failure(status::usage, "an endpoint is empty");
        }
        if (each[0] == '@') {
            open.bound.push_back(each.substr(1));
        } else if (each[0] == '>') {
            open.connected.push_back(each.substr(1));
        } else {
            (binds_by_default ? open.bound : open.connected).push_back(each);
        }
    }
    if (open.bound.empty() && open.connected.empty()) {
        throw failure(status::usage, "an endpoint is missing, such as tcp://localhost:5555");
    }
    for (std::string &each : open.bound) {
        with_reason(events, [&] { made.bind(each); });
        each = made.last_endpoint();
        if (flags.is_verbose) {
            complain("bound to " + each);
        }
    }
    for (const std::string &each : open.connected) {
        with_reason(events, [&] { made.connect(each); });
    }
    return open;
}

void complain(const std::string &words) {
    fmt::print(stderr, "zlink: {}\n", safe_for_terminal(words));  // a peer may have chosen them
}

}  // namespace command
