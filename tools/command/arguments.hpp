// The flags that the subcommands share, and what they do to a socket.

#pragma once

#include "sockets.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace command {

using milliseconds = std::chrono::milliseconds;

/// Set by the callback of the subcommand that was chosen; main() runs it.
using action = std::function<status()>;

struct security_flags {
    std::string cert, key, ca;
    bool is_insecure = false;
    std::string curve_cert;        // a file of CZMQ with the secret key of this side
    std::string curve_server_key;  // Z85, or a file of CZMQ
    bool is_curve_server = false;
    std::string username, password;
};

struct connection_flags {
    // "@ep" is bound, ">ep" connected, others as the type has it.
    std::vector<std::string> endpoints;
    std::vector<std::string> bound;
    std::vector<std::string> connected;
    std::vector<std::string> options;
    security_flags security;
    std::string context;  // the name of a file of defaults
    std::optional<milliseconds> timeout;
    bool is_quiet = false;
    bool is_verbose = false;
};

/// Adds the flags and the endpoints. `binds` tells what becomes of an endpoint without a mark.
void add_connection_flags(CLI::App &app, connection_flags &flags);
void add_security_flags(CLI::App &app, security_flags &flags);

/// Takes no empty text: a variable of a shell that is not set must not switch off what protects.
CLI::Validator not_empty(const std::string &flag);

/// Fills what the command line has left open from ~/.config/zlink/NAME.toml, where a context is
/// named.
void apply_context(connection_flags &flags);

/// A time such as "2", "0.5", "500ms", "2s", "1m"; a bare number is of seconds.
CLI::Option *add_duration(CLI::App &app, const std::string &name, std::optional<milliseconds> &into,
                          const std::string &help);

/// Options and security; before bind and connect.
void prepare(socket &made, const connection_flags &flags);
void secure(socket &made, const security_flags &flags);

/// Binds and connects as the flags say, and reports it where they are verbose.
struct opened {
    std::vector<std::string> bound;
    std::vector<std::string> connected;
};
opened open_endpoints(socket &made, watch &events, const connection_flags &flags, bool binds_by_default);

/// Writes a line about the command itself on stderr.
void complain(const std::string &words);

}  // namespace command
