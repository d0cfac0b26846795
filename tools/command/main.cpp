// The command zlink: talks to sockets from the shell. Sees zmq.h and nothing else of ours.

#include "subcommands.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <exception>

namespace {

using command::status;

constexpr const char *exit_codes = "Exit status: 0 done; 1 other; 2 usage; 3 nothing came in time; 4 cannot "
                                   "resolve, connect or bind; 5 refused by "
                                   "security; 6 no ZMTP, or a type that does not fit; 7 the peer has gone; 8 "
                                   "fewer messages than asked for; 130 "
                                   "interrupted.";

status run(int count, char **arguments) {
    CLI::App root("Talk to ZeroMQ sockets from the shell.", "zlink");
    root.require_subcommand(1);
    root.footer(exit_codes);
    command::action chosen;
    command::add_patterns(root, chosen);
    command::add_probe(root, chosen);
    command::add_keygen(root, chosen);
    command::add_run(root, chosen);
    command::add_stats(root, chosen);
    command::add_top(root, chosen);
    command::add_bench(root, chosen);
    command::add_dump(root, chosen);
    command::add_doctor(root, chosen);
    command::add_proxy(root, chosen);
    command::add_completion(root, chosen);
    command::add_version(root, chosen);
    command::add_help(root, chosen);
    try {
        root.parse(count, arguments);
    } catch (const CLI::ParseError &error) {
        return root.exit(error) == 0 ? status::done : status::usage;
    }
    return chosen();
}

}  // namespace

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    status code = status::other;
    try {
        code = run(count, arguments);
    } catch (const command::failure &error) {
        command::complain(error.what());
        code = error.code();
    } catch (const std::exception &error) {
        command::complain(error.what());
    }
    if (std::fflush(stdout) != 0 && code == status::done) {
        code = status::other;
    }
    return static_cast<int>(code);
}
