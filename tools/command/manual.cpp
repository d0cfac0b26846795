#include "manual.hpp"

#include <fmt/format.h>

namespace command {

namespace {

/// Text as roff has it: hyphens that may be copied, and nothing that looks like a request.
std::string roff(const std::string &text) {
    std::string safe;
    for (const char c : text) {
        if (c == '\\') {
            safe += "\\e";
        } else if (c == '-') {
            safe += "\\-";
        } else if ((c == '.' || c == '\'') && (safe.empty() || safe.back() == '\n')) {
            safe += std::string("\\&") + c;
        } else {
            safe += c;
        }
    }
    return safe;
}

std::string options_of(const CLI::App &app) {
    std::string text;
    for (const CLI::Option *option : app.get_options()) {
        const bool is_positional = option->get_positional();
        const std::string name = is_positional ? option->get_name(true) : option->get_name(false, true);
        // Behind a colon stand the values that are taken, in one word that is too long for a line.
        const std::string whole =
            is_positional || option->get_type_size() == 0 ? "" : option->get_type_name();
        const std::string type = whole.substr(0, whole.find(':'));
        text += fmt::format(".TP\n.B {}{}\n{}\n", roff(name), type.empty() ? "" : " " + roff(type),
                            roff(option->get_description()));
        if (!option->get_envname().empty()) {
            text += fmt::format("In the environment: {}.\n", option->get_envname());
        }
    }
    return text;
}

std::string pages_of(CLI::App &root) {
    std::string text;
    for (const CLI::App *each : root.get_subcommands([](const CLI::App *) { return true; })) {
        text += fmt::format(".TP\n.B {}\n{}\n", roff(each->get_name()), roff(each->get_description()));
    }
    return text;
}

}  // namespace

std::string manual_page(CLI::App &root, CLI::App &about) {
    const bool is_root = &root == &about;
    const std::string name = is_root ? "zlink" : "zlink-" + about.get_name();
    std::string upper = name;
    for (char &c : upper) {
        c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    std::string text =
        fmt::format(".TH {} 1 \"\" zlink\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B zlink{}\n", roff(upper),
                    roff(name), roff(about.get_description()), is_root ? "" : " " + about.get_name());
    text += is_root ? ".I SUBCOMMAND\n.RI [ options ]\n" : ".RI [ options ]\n";
    for (const CLI::Option *option : about.get_options()) {
        if (option->get_positional()) {
            const std::string name_of_it = roff(option->get_name(true));
            text += option->get_required() ? ".I " + name_of_it + '\n' : ".RI [ " + name_of_it + " ]\n";
        }
    }
    if (is_root) {
        text += ".SH SUBCOMMANDS\nEach has a page of its own, such as zlink\\-sub(1).\n" + pages_of(root);
    }
    text += ".SH OPTIONS\n" + options_of(about);
    text += ".SH EXIT STATUS\n" + roff(about.get_footer()) + '\n';
    return text + (is_root ? ".SH SEE ALSO\n.BR curve_keygen (1)\n" : ".SH SEE ALSO\n.BR zlink (1)\n");
}

}  // namespace command
