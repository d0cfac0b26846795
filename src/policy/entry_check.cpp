// A list of rules for each kind of protection, of which the first that is broken is told; see
// entry_check.hpp.
#include "policy/entry_check.hpp"

#include <initializer_list>

#include "core/built.hpp"

namespace zlink {

namespace {

struct rule {
    bool is_broken;
    const char *words;
};

const char *first_broken(std::initializer_list<rule> rules) noexcept {
    for (const rule &each : rules)
        if (each.is_broken)
            return each.words;
    return nullptr;
}

bool has_tls_words(const policy_entry &e) noexcept {
    return e.has_tls_files() || !e.key.empty() || !e.name.empty() || !e.fingerprints.empty();
}

const char *fault_in_tls(const policy_entry &e) noexcept {
    return first_broken({
        {!tls_is_built, "an entry needs TLS, and this library is built without it"},
        {e.cert.empty() != e.key.empty(), "cert and key go together"},
        {e.may_bind() && e.cert.empty(), "an entry for bind needs cert and key"},
        {e.may_bind() && e.requires_client_cert && e.ca.empty(),
         "an entry for bind needs ca, which vouches for clients, or client_certificates = \"none\""},
        {e.may_bind() && !e.requires_client_cert && !e.fingerprints.empty(),
         "fingerprints of clients need client_certificates = \"required\""},
        {e.may_connect() && e.ca.empty(), "an entry for connect needs ca, which vouches for servers"},
        {!e.name.empty() && !e.fingerprints.empty(), "either name or fingerprints tells who a server is"},
    });
}

const char *fault_in_plain(const policy_entry &e) noexcept {
    return first_broken({
        {e.may_connect() && (e.username.empty() || e.password.empty()),
         "use = \"plain\" for connect needs username and password"},
        {e.username.size() > 255 || e.password.size() > 255, "username and password are 255 octets at most"},
    });
}

const char *fault_in_curve(const policy_entry &e) noexcept {
    const bool names_server = !e.server_certificate.empty() || !e.server_key.empty();
    return first_broken({
        {!curve_is_built, "use = \"curve\": this library is built without it"},
        {e.certificate.empty(), "use = \"curve\" needs certificate, the file of this side's own keys"},
        {e.may_be_curve_client() && !names_server,
         "use = \"curve\" for connect needs server_certificate or server_key, which tells who the server is"},
        {!e.may_be_curve_client() && names_server, "server_certificate and server_key are for clients"},
        {!e.server_certificate.empty() && !e.server_key.empty(),
         "either server_certificate or server_key tells who the server is"},
        {e.may_be_curve_server() && e.requires_client_cert && !e.names_clients(),
         "use = \"curve\" for bind needs zap or curve_dir, which name the clients, or client_certificates = "
         "\"none\""},
        {!e.requires_client_cert && (!e.may_be_curve_server() || e.names_clients()),
         "client_certificates = \"none\" is for a server without zap and curve_dir"},
        {!e.zap.empty() && !e.curve_dir.empty(), "either zap or curve_dir names the clients"},
        {!e.curve_dir.empty() && !e.may_be_curve_server(), "curve_dir is for a server"},
    });
}

/// Whether there is somebody whom the users of zap may be.
bool has_clients(const policy_entry &e) noexcept {
    switch (e.use) {
    case protection::plain:
        return e.may_bind();
    case protection::tls:
        return e.may_bind() && e.requires_client_cert;
    case protection::curve:
        return e.may_be_curve_server();
    default:
        return false;
    }
}

const char *fault_in_place(const policy_entry &e) noexcept {
    const bool is_of_ipc = e.schemes == std::vector<std::string>{"ipc"};
    return first_broken({
        {!e.bind_host.empty() && !e.may_bind(), "bind = is for side = \"bind\""},
        {!e.name.empty() && !e.may_connect(), "name is for side = \"connect\""},
        {!e.sources.empty() && !e.may_connect(), "source is for side = \"connect\""},
        {!e.paths.empty() && !is_of_ipc, "path is for scheme = \"ipc\""},
        {e.use == protection::tls && is_of_ipc, "ipc does not go inside TLS"},
    });
}

}  // namespace

const char *fault_in(const policy_entry &e, bool has_use) noexcept {
    const bool is_tls = e.use == protection::tls, is_plain = e.use == protection::plain,
               is_curve = e.use == protection::curve;
    const bool has_curve_words = !e.certificate.empty() || !e.server_certificate.empty() ||
                                 !e.server_key.empty() || e.curve_server.has_value() || !e.curve_dir.empty();
    if (const char *const fault = first_broken({
            {!has_use, "an entry needs use = \"tls\", \"curve\", \"plain\", \"clear\" or \"refuse\""},
            {has_tls_words(e) && !is_tls && !is_plain,
             "certificates of TLS are for use = \"tls\" and \"plain\""},
            {!e.requires_client_cert && !is_tls && !is_plain && !is_curve,
             "client_certificates is for use = \"tls\", \"plain\" and \"curve\""},
            {(!e.username.empty() || !e.password.empty()) && !is_plain,
             "username and password are for use = \"plain\""},
            {has_curve_words && !is_curve, "certificates of CURVE are for use = \"curve\""},
            {!e.zap.empty() && !has_clients(e), "zap is for side = \"bind\" with use = \"plain\" or "
                                                "\"curve\", or with \"tls\" that requires certificates"},
        }))
        return fault;
    if (const char *const fault = fault_in_place(e))
        return fault;
    if (const char *const fault = is_plain ? fault_in_plain(e) : is_curve ? fault_in_curve(e) : nullptr)
        return fault;
    const bool is_inside_tls = is_tls || (is_plain && (has_tls_words(e) || !e.requires_client_cert));
    return is_inside_tls ? fault_in_tls(e) : nullptr;
}

}  // namespace zlink
