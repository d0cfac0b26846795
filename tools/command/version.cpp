// zlink version.

#include "subcommands.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <array>

namespace command {

void add_version(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("version", "Print the version, and what is built in");
    app->callback([&chosen] {
        chosen = [] {
            int major = 0, minor = 0, patch = 0;
            zlink_version(&major, &minor, &patch);
            fmt::print("zlink {}.{}.{}", major, minor, patch);
            zmq_version(&major, &minor, &patch);
            fmt::print(", with the interface of libzmq {}.{}.{}\nbuilt in:", major, minor, patch);
            for (const char *feature : std::array{"ipc", "tls", "ws", "wss", "curve"}) {
                if (zmq_has(feature) != 0) {
                    fmt::print(" {}", feature);
                }
            }
            fmt::print("\n");
            return status::done;
        };
    });
}

}  // namespace command
