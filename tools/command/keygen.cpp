// zlink keygen: keys of CURVE, and certificates for TLS.

#include "certificate_file.hpp"
#include "subcommands.hpp"
#include "tls_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

namespace command {

namespace {

struct keygen_flags {
    std::string path;
    std::string public_source;
    std::string tls_directory;
    std::vector<std::string> names;
    int days = 365;
    bool shows = false;
    bool replaces = false;
};

/// The secret key of a file, which is one of CZMQ or has nothing but the key; "-" is stdin.
std::string secret_key_of(const std::string &path) {
    std::ifstream file;
    if (path != "-") {
        file.open(path);
        if (!file) {
            throw failure(status::other, fmt::format("{}: {}", path, std::strerror(errno)));
        }
    }
    std::string word;
    (path == "-" ? std::cin : file) >> word;
    return word.size() == 40 || path == "-" ? word : read_certificate_file(path).secret_key;
}

status print_pair(const curve_keys &keys, bool shows) {
    if (isatty(1) != 0 && !shows) {
        throw failure(status::usage, "a secret key is not written to a terminal: name a file, or say --show");
    }
    fmt::print("public-key {}\nsecret-key {}\n", keys.public_key, keys.secret_key);
    return status::done;
}

status make_tls(const keygen_flags &flags) {
    if (mkdir(flags.tls_directory.c_str(), 0755) != 0 && errno != EEXIST) {
        throw failure(status::other, fmt::format("{}: {}", flags.tls_directory, std::strerror(errno)));
    }
    const std::vector<std::string> names =
        flags.names.empty() ? std::vector<std::string>{"localhost"} : flags.names;
    make_tls_files(flags.tls_directory, names, flags.days, flags.replaces);
    for (const std::string &name : names) {
        fmt::print("--ca {0}/ca.pem --cert {0}/{1}.pem --key {0}/{1}.key\n", flags.tls_directory, name);
    }
    return status::done;
}

status keygen(const keygen_flags &flags) {
    if (!flags.tls_directory.empty()) {
        return make_tls(flags);
    }
    if (!flags.public_source.empty()) {
        fmt::print("{}\n", public_from(secret_key_of(flags.public_source)));
        return status::done;
    }
    const curve_keys keys = new_keys();
    if (flags.path.empty()) {
        return print_pair(keys, flags.shows);
    }
    write_new_file(flags.path + ".key_secret", certificate_text(keys, {}, true), false, flags.replaces);
    write_new_file(flags.path + ".key", certificate_text(keys, {}, false), true, flags.replaces);
    fmt::print("public-key {}\n", keys.public_key);
    return status::done;
}

}  // namespace

void add_keygen(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("keygen", "Make keys of CURVE, or certificates for TLS");
    auto flags = std::make_shared<keygen_flags>();
    app->add_option(
           "PATH", flags->path,
           "Write PATH.key and PATH.key_secret, as CZMQ and pyzmq do; without it the pair goes to stdout")
        ->type_name("");
    app->add_flag("--show", flags->shows, "Write the secret key to a terminal, too");
    app->add_flag("--force", flags->replaces, "Replace files that are there, but no authority");
    CLI::Option *from = app->add_option("--public-from", flags->public_source,
                                        "Print the public key of the secret one in this file; - is stdin")
                            ->type_name("FILE");
    app->add_option("--tls", flags->tls_directory,
                    "Make a certificate for each --name in this folder, and an authority (ca.pem, ca.key) "
                    "unless it has one")
        ->type_name("DIR")
        ->excludes(from);
    app->add_option("--name", flags->names, "A host that a certificate is for; localhost, unless it is given")
        ->type_name("HOST")
        ->allow_extra_args(false);
    app->add_option("--days", flags->days, "How long certificates hold")->check(CLI::Range(1, 36500));
    app->callback([flags, &chosen] { chosen = [flags] { return keygen(*flags); }; });
}

}  // namespace command
