// zlink run: a program that nobody has changed, on zlink.
//
// Limits: what the program starts by itself uses zlink, too, unless it clears its environment, but
// nobody looks at it first. A library that it opens and asks by its handle (RTLD_DEEPBIND, dlsym)
// is not seen from here, nor is one linked into a program without symbols.

#include "elf_file.hpp"
#include "interrupts.hpp"
#include "subcommands.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace command {

namespace {

struct run_flags {
    std::optional<std::string> policy;
    std::string log;
    std::string metrics;
    std::vector<std::string> program;
};

/// Why the program would not be on zlink; empty where nothing is known against it.
std::string obstacle(const std::optional<std::string> &runs) {
    if (!runs) {
        return "its first line does not tell which program it runs";
    }
    const std::string &path = *runs;
    const auto facts = facts_of_elf(path);
    if (!facts) {
        return "it is no program that the dynamic linker loads";
    }
    if (!facts->is_of_this_machine) {
        return "it is made for another kind of processor than zlink";
    }
    if (!facts->has_interpreter) {
        return "it is linked statically, and loads no library";
    }
    if (has_rights_of_its_own(path)) {
        return "it is setuid, setgid or has capabilities, and the system preloads nothing there";
    }
    return facts->defines_zmq && !facts->is_zlink ? "it has a libzmq linked into it" : "";
}

void prepend(const char *variable, const std::string &value) {
    const char *there = std::getenv(variable);
    setenv(variable, (there && *there ? value + ":" + there : value).c_str(), 1);
}

std::string whole_path(const std::string &path) {
    char *found = realpath(path.c_str(), nullptr);
    if (!found) {
        throw failure(status::usage, fmt::format("--policy {}: {}", path, std::strerror(errno)));
    }
    std::free(found);
    // Links on the way are for the library to judge: the path stays as it was written.
    return path[0] == '/'
               ? path
               : fmt::format(
                     "{}/{}",
                     std::unique_ptr<char, decltype(&std::free)>(realpath(".", nullptr), &std::free).get(),
                     path);
}

status run(const run_flags &flags) {
    const std::string library = library_of_zlink();
    if (library.find_first_of(" :") != std::string::npos) {
        throw failure(status::other,
                      fmt::format("LD_PRELOAD cannot name a file with a space or a colon: {}", library));
    }
    const auto path = found_in_path(flags.program[0]);
    if (!path) {
        complain(fmt::format("{}: there is no such program", flags.program[0]));
        std::exit(127);  // as shells say it
    }
    // A variable that is empty was meant to name a file: the library lets nothing through, either.
    const bool has_policy = flags.policy || std::getenv("ZLINK_POLICY");
    const auto runs = file_that_runs(*path);
    if (const std::string why = obstacle(runs); !why.empty()) {
        const std::string &shown = runs ? *runs : *path;
        if (has_policy) {
            throw failure(status::refused, fmt::format("{} would obey no policy: {}", shown, why));
        }
        complain(fmt::format("{} will not run on zlink: {}", shown, why));
    }
    if (flags.policy) {
        setenv("ZLINK_POLICY", whole_path(*flags.policy).c_str(), 1);
    }
    if (!flags.log.empty()) {
        setenv("ZLINK_LOG", flags.log.c_str(), 1);
    }
    if (!flags.metrics.empty()) {
        setenv("ZLINK_METRICS", flags.metrics.c_str(), 1);
    }
    prepend("LD_PRELOAD", library);
    prepend("LD_LIBRARY_PATH", library.substr(0, library.rfind('/')));
    std::vector<char *> arguments;
    for (const std::string &each : flags.program) {
        arguments.push_back(const_cast<char *>(each.c_str()));
    }
    arguments.push_back(nullptr);
    signal(SIGPIPE, SIG_DFL);
    execv(path->c_str(), arguments.data());  // the very file that was looked at
    if (errno == ENOEXEC) {
        // A script without a first line that names its interpreter.
        arguments[0] = const_cast<char *>(path->c_str());
        arguments.insert(arguments.begin(), const_cast<char *>("/bin/sh"));
        execv(arguments[0], arguments.data());
    }
    const int error = errno;
    complain(fmt::format("{}: {}", flags.program[0], std::strerror(error)));
    std::exit(error == ENOENT ? 127 : 126);
}

}  // namespace

void add_run(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("run", "Run a program, unchanged, on zlink");
    auto flags = std::make_shared<run_flags>();
    app->add_option("--policy", flags->policy,
                    "File that rules what its sockets bind and connect to (ZLINK_POLICY)")
        ->check(not_empty("--policy"))
        ->type_name("FILE");
    CLI::Option *log =
        app->add_option("--log", flags->log,
                        "What the library writes on stderr: error, warn, info or debug (ZLINK_LOG)")
            ->check(CLI::IsMember({"error", "warn", "info", "debug"}))
            ->type_name("LEVEL");
    app->add_flag_callback(
           "--trace", [flags] { flags->log = "debug"; },
           "Tell on stderr each step of each connection: --log debug")
        ->excludes(log);
    app->add_option("--metrics", flags->metrics,
                    "Where it tells what its sockets do, for zlink top: tcp://HOST:PORT, unix:PATH or "
                    "file:PATH (ZLINK_METRICS)")
        ->check(not_empty("--metrics"))
        ->type_name("ADDRESS");
    app->add_option("PROGRAM", flags->program, "What to run, and its arguments")->required()->type_name("");
    app->positionals_at_end();
    app->prefix_command(false);
    app->footer(
        "Under a policy a program that would not load zlink is refused with 5; without one a warning is "
        "written. "
        "The exit status is that of the program; 127 where there is none, 126 where it cannot be run.");
    app->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace command
