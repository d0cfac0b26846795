// zlink completion: what a shell needs to complete the command, made of the parser itself.

#include "subcommands.hpp"

#include <fmt/format.h>

#include <memory>

namespace command {

namespace {

std::vector<CLI::App *> all_of(CLI::App &root) {
    return root.get_subcommands([](const CLI::App *) { return true; });
}

std::string names_of(CLI::App &root) {
    std::string names;
    for (const CLI::App *each : all_of(root)) {
        names += (names.empty() ? "" : " ") + each->get_name();
    }
    return names;
}

std::string flags_of(CLI::App &app) {
    std::string flags;
    for (const CLI::Option *option : app.get_options()) {
        for (const std::string &name : option->get_lnames()) {
            flags += (flags.empty() ? "--" : " --") + name;
        }
    }
    return flags;
}

void print_bash(CLI::App &root) {
    fmt::print(
        "_zlink() {{\n    local word=${{COMP_WORDS[COMP_CWORD]}} words\n    case ${{COMP_WORDS[1]}} in\n");
    for (CLI::App *each : all_of(root)) {
        fmt::print("    {}) words='{}' ;;\n", each->get_name(), flags_of(*each));
    }
    fmt::print(
        "    esac\n    [ \"$COMP_CWORD\" -gt 1 ] || words='{}'\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\ncomplete -o default -F _zlink zlink\n",
        names_of(root));
}

void print_zsh(CLI::App &root) {
    fmt::print("#compdef zlink\n_zlink() {{\n    if (( CURRENT == 2 )); then\n        compadd {}\n        "
               "return\n    fi\n"
               "    case $words[2] in\n",
               names_of(root));
    for (CLI::App *each : all_of(root)) {
        fmt::print("    {}) [[ $PREFIX == -* ]] && compadd -- {} || _files ;;\n", each->get_name(),
                   flags_of(*each));
    }
    // zsh runs a file of its folders as the function itself, the first time.
    fmt::print("    esac\n}}\nif [[ $funcstack[1] == _zlink ]]; then\n    _zlink \"$@\"\nelse\n"
               "    compdef _zlink zlink\nfi\n");
}

}  // namespace

void add_completion(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("completion",
                                        "Print what completes the command: source <(zlink completion bash)");
    auto shell = std::make_shared<std::string>();
    app->add_option("SHELL", *shell, "bash or zsh")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}))
        ->type_name("");
    app->callback([shell, &root, &chosen] {
        chosen = [shell, &root] {
            *shell == "bash" ? print_bash(root) : print_zsh(root);
            return status::done;
        };
    });
}

}  // namespace command
