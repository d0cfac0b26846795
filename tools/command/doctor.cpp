// zlink doctor: which libzmq a process, a program or this machine uses, and what may be in the way.

#include "elf_file.hpp"
#include "subcommands.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace command {

namespace {

void row(const std::string &name, const std::string &text) { fmt::print("{:16} {}\n", name, text); }

std::string first_line(const char *path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line.empty() ? "unknown" : line;
}

const char *kind_of(const std::string &path) {
    const auto facts = facts_of_elf(path);
    return facts && facts->is_zlink ? "zlink" : "libzmq";
}

status about_process(const std::string &pid) {
    bool is_on_zlink = false;
    const std::vector<std::string> paths = libraries_of_process(pid);
    for (const std::string &path : paths) {
        const std::string kind = kind_of(path);
        is_on_zlink |= kind == "zlink";
        row(kind, path);
    }
    if (paths.empty()) {
        row("libzmq", "none is loaded as a library of its own");
        char *own = realpath(fmt::format("/proc/{}/exe", pid).c_str(), nullptr);
        const auto facts = own ? facts_of_elf(own) : std::nullopt;
        if (facts && facts->defines_zmq) {
            row(facts->is_zlink ? "zlink" : "libzmq", fmt::format("linked into {}", own));
            is_on_zlink = facts->is_zlink;
        }
        std::free(own);
    }
    return is_on_zlink ? status::done : status::other;
}

/// The file that the dynamic linker finds by that name here and now, asked in this very process.
std::string found_by_linker() {
    void *library = dlopen("libzmq.so.5", RTLD_LAZY | RTLD_LOCAL);
    void *function = library ? dlsym(library, "zmq_version") : nullptr;
    Dl_info about{};
    return function && dladdr(function, &about) != 0 && about.dli_fname ? about.dli_fname : "";
}

status about_program(const std::string &program) {
    const auto found = found_in_path(program);
    if (!found) {
        throw failure(status::other, fmt::format("{}: there is no such program", program));
    }
    const std::string path = file_that_runs(*found).value_or(*found);
    const auto facts = facts_of_elf(path);
    row("program", path);
    if (!facts || !facts->is_of_this_machine || !facts->has_interpreter) {
        row("libzmq", "it loads no library that could be told from here");
        return status::other;
    }
    if (facts->defines_zmq) {
        row(facts->is_zlink ? "zlink" : "libzmq", "linked into it");
        return facts->is_zlink ? status::done : status::other;
    }
    if (has_rights_of_its_own(path)) {
        row("note", "it is setuid, setgid or has capabilities: LD_PRELOAD and ZLINK_POLICY are ignored");
    }
    const char *preloaded = std::getenv("LD_PRELOAD");
    const std::string library = found_by_linker();
    const bool is_preloaded = preloaded && std::string(preloaded).find("libzmq") != std::string::npos;
    const std::string used = is_preloaded ? preloaded : library;
    row("names libzmq", facts->needs_libzmq ? "yes" : "no; it may load it later, as Python does");
    row(used.empty() ? "libzmq" : kind_of(used), used.empty() ? "none is found" : used);
    row("why", is_preloaded ? "LD_PRELOAD names it" : "the system finds it first");
    return !used.empty() && std::string(kind_of(used)) == "zlink" ? status::done : status::other;
}

status about_machine() {
    int major = 0, minor = 0, patch = 0;
    zlink_version(&major, &minor, &patch);
    row("command", fmt::format("zlink {}.{}.{}", major, minor, patch));
    std::string built;
    for (const char *feature : std::array{"ipc", "tls", "ws", "wss", "curve"}) {
        built += zmq_has(feature) != 0 ? std::string(built.empty() ? "" : " ") + feature : "";
    }
    row("built in", built);
    try {
        row("zlink run", library_of_zlink());
    } catch (const failure &error) {
        row("zlink run", error.what());
    }
    const std::string found = found_by_linker();
    row("libzmq.so.5", found.empty() ? "none is found" : fmt::format("{} ({})", found, kind_of(found)));
    for (const char *variable : std::array{"LD_PRELOAD", "LD_LIBRARY_PATH", "ZLINK_POLICY", "ZLINK_LOG"}) {
        const char *value = std::getenv(variable);
        row(variable, value ? value : "not set");
    }
    const int in_force = zlink_policy_in_force();
    row("policy", in_force == 0  ? "none"
                  : in_force > 0 ? "in force"
                                 : "cannot be used; ZLINK_LOG=warn says why");
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    row("descriptors",
        fmt::format("{}, up to {}: each connection takes one", files.rlim_cur, files.rlim_max));
    row("somaxconn", first_line("/proc/sys/net/core/somaxconn"));
    row("ports", first_line("/proc/sys/net/ipv4/ip_local_port_range"));
    return std::string(kind_of(found)) == "zlink" ? status::done : status::other;
}

}  // namespace

void add_doctor(CLI::App &root, action &chosen) {
    CLI::App *app =
        root.add_subcommand("doctor", "Tell which libzmq is used here, by a process, or by a program");
    auto about = std::make_shared<std::string>();
    app->add_option("PID|PROGRAM", *about, "A process that runs, or a program; without it, this machine")
        ->type_name("");
    app->footer("Exit status: 0 where it is zlink, 1 where it is another one, or none.");
    app->callback([about, &chosen] {
        chosen = [about] {
            const bool is_number =
                !about->empty() && std::all_of(about->begin(), about->end(),
                                               [](unsigned char c) { return std::isdigit(c) != 0; });
            return about->empty() ? about_machine()
                   : is_number    ? about_process(*about)
                                  : about_program(*about);
        };
    });
}

}  // namespace command
