// zlink help: of the command, of a subcommand, and the lists that are too long for either.

#include "manual.hpp"
#include "socket_options.hpp"
#include "subcommands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace command {

namespace {

const char *name_of(option_kind kind) {
    switch (kind) {
    case option_kind::number:
    case option_kind::number64:
        return "number";
    case option_kind::truth:
        return "on or off";
    case option_kind::octets:
        return "text, or 0x and hexadecimal";
    case option_kind::text:
        return "text";
    case option_kind::key:
        return "key in Z85";
    }
    return "";
}

std::string lower(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
}

CLI::App *find(CLI::App &root, const std::string &name) {
    for (CLI::App *each : root.get_subcommands([](const CLI::App *) { return true; })) {
        if (each->get_name() == name) {
            return each;
        }
    }
    return nullptr;
}

void print_options() {
    for (const socket_option &each : socket_options()) {
        fmt::print("{:28} {}\n", lower(each.name), name_of(each.kind));
    }
}

}  // namespace

void add_help(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("help", "Tell about a subcommand, or list the options of sockets");
    auto about = std::make_shared<std::string>();
    auto is_page = std::make_shared<bool>(false);
    app->add_option("SUBCOMMAND", *about, "Its name, or `options`")->type_name("");
    app->add_flag("--man", *is_page, "As a page of the manual, for man -l -");
    app->callback([about, is_page, &root, &chosen] {
        chosen = [about, is_page, &root] {
            CLI::App *named = about->empty() ? &root : find(root, *about);
            if (*is_page && named) {
                fmt::print("{}", manual_page(root, *named));
            } else if (about->empty()) {
                // root.help() would be that of the subcommand that was chosen: of this one.
                fmt::print("{}", root.get_formatter()->make_help(&root, "zlink", CLI::AppFormatMode::Normal));
            } else if (*about == "options") {
                print_options();
            } else if (named) {
                fmt::print("{}", named->help("zlink"));
            } else {
                throw failure(status::usage, "there is no subcommand " + *about);
            }
            return status::done;
        };
    });
}

}  // namespace command
