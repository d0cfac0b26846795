// zlink stats: the numbers of a process, once, or for others who ask over HTTP.

#include "numbers_source.hpp"
#include "stats_exporter.hpp"
#include "subcommands.hpp"

#include <fmt/format.h>

#include <memory>

namespace command {

namespace {

struct stats_flags {
    std::string target;
    std::string format = "text";
    bool is_about_peers = false;
    std::string listening;
};

/// Whether this is a label in a line, and not the name of a number.
bool is_label(const std::string &name) { return name == "context" || name == "socket" || name == "type"; }

/// One line for each number that is not 0.
void print_numbers(const json_object &of) {
    for (const auto &[name, value] : of.values) {
        if (!is_label(name) && !value.empty() && value.find_first_not_of("0.") != std::string::npos) {
            fmt::print("{:7} {:30} {:32} {}\n", safe_for_terminal(of.text("type")),
                       safe_for_terminal(of.text("socket")), safe_for_terminal(name),
                       safe_for_terminal(value));
        }
    }
}

status print_stats(const stats_flags &flags) {
    const numbers_source source(flags.target);
    const char *const json = flags.is_about_peers ? "/peers" : "/metrics.json";
    if (flags.format == "json") {
        fmt::print("{}", source.get(json));
    } else if (flags.format != "text") {
        fmt::print("{}", source.get("/metrics",
                                    flags.format == "openmetrics" ? "application/openmetrics-text" : ""));
    } else {
        const numbers found = source.look(flags.is_about_peers);
        if (flags.is_about_peers && !found.peers) {
            (void)source.get(json);  // which says why there are none
        }
        const json_object &told = flags.is_about_peers ? *found.peers : found.sockets;
        for (const auto &[name, list] : told.lists) {
            for (const json_object &each : list) {
                print_numbers(each);
            }
        }
        if (found.has_ended) {
            complain(fmt::format("the process {} has ended; this is what it has left", found.process()));
        }
    }
    return status::done;
}

}  // namespace

void add_stats(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("stats", "Print what the sockets of a process have done");
    auto flags = std::make_shared<stats_flags>();
    app->add_option(
           "PROCESS", flags->target,
           "Its number, or the address of its ZLINK_METRICS: tcp://HOST:PORT, unix:PATH or file:PATH")
        ->required()
        ->check(not_empty("PROCESS"))
        ->type_name("");
    CLI::Option *const format =
        app->add_option("-f,--format", flags->format,
                        "text (what is not 0), json, prometheus or openmetrics, which a file has not")
            ->check(CLI::IsMember({"text", "json", "prometheus", "openmetrics"}))
            ->type_name("FORMAT");
    CLI::Option *const peers =
        app->add_flag("--peers", flags->is_about_peers, "Of each peer, as text or json");
    app->add_option("--listen", flags->listening,
                    "Answer Prometheus for the process, at http://ADDRESS/metrics, until it is ended: :9464, "
                    "or as ZLINK_METRICS=tcp:// has it; other machines need ZLINK_METRICS_ANY=1")
        ->check(not_empty("--listen"))
        ->excludes(format)
        ->excludes(peers)
        ->type_name("ADDRESS");
    app->footer("Exit status: 0; 4 where the process tells nothing; 5 where it does not tell this; 6 where "
                "something else answers.");
    app->callback([flags, &chosen] {
        if (flags->is_about_peers && (flags->format == "prometheus" || flags->format == "openmetrics")) {
            throw CLI::ValidationError("--peers", "is told as text or json");
        }
        chosen = [flags] {
            return flags->listening.empty() ? print_stats(*flags)
                                            : export_numbers(flags->target, flags->listening);
        };
    });
}

}  // namespace command
