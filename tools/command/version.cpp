// zlink version.

#include "subcommands.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <array>

namespace command {

namespace {

std::string version_words() {
    int major = 0, minor = 0, patch = 0;
    zlink_version(&major, &minor, &patch);
    std::string words = fmt::format("zlink {}.{}.{}", major, minor, patch);
    zmq_version(&major, &minor, &patch);
    words += fmt::format(", with the interface of libzmq {}.{}.{}\nbuilt in:", major, minor, patch);
    for (const char *feature : std::array{"ipc", "tls", "ws", "wss", "curve"}) {
        words += zmq_has(feature) != 0 ? std::string(" ") + feature : "";
    }
    return words;
}

}  // namespace

void add_version(CLI::App &root, action &chosen) {
    root.set_version_flag("-V,--version", version_words);
    CLI::App *app = root.add_subcommand("version", "Print the version, and what is built in");
    app->callback([&chosen] {
        chosen = [] {
            fmt::print("{}\n", version_words());
            return status::done;
        };
    });
}

}  // namespace command
