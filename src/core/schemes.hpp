// The schemes of endpoints that lead out of a context: what their addresses are made of, and
// whether they are in this build. The one list of them in src/: who adds a transport adds its row.
#pragma once

#include <string_view>

#include "core/built.hpp"

namespace zlink {

enum class address_form {
    host_and_port,       // as transport/endpoint.hpp reads them
    host_port_and_path,  // of a web server: the path begins at the first slash
    file,                // on this machine
};

struct known_scheme {
    std::string_view name;
    address_form form;
    bool is_encrypted;  // by itself, whatever the program asks for
    bool is_built;

    constexpr bool has_hosts() const noexcept { return form != address_form::file; }
    constexpr bool has_web_path() const noexcept { return form == address_form::host_port_and_path; }
};

inline constexpr known_scheme known_schemes[] = {
    {"tcp", address_form::host_and_port, false, true},
    {"ipc", address_form::file, false, true},
    {"tls", address_form::host_and_port, true, tls_is_built},
    {"ws", address_form::host_port_and_path, false, ws_is_built},
    {"wss", address_form::host_port_and_path, true, wss_is_built},
};

/// Null where there is none of this name. inproc is not one: it never leaves the context.
constexpr const known_scheme *find_scheme(std::string_view name) noexcept {
    for (const known_scheme &each : known_schemes)
        if (each.name == name)
            return &each;
    return nullptr;
}

}  // namespace zlink
