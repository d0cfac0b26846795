#include "certificate_file.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <regex>

namespace command {

namespace {

constexpr size_t key_length = 40;

[[noreturn]] void fail(const std::string &path, const char *what) {
    throw failure(status::other, fmt::format("{}: {}", path, what));
}

}  // namespace

curve_keys new_keys() {
    std::array<char, key_length + 1> public_key{}, secret_key{};
    if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
        throw failure(status::other, fmt::format("no keys of CURVE: {}", zmq_strerror(zmq_errno())));
    }
    return {public_key.data(), secret_key.data()};
}

std::string public_from(const std::string &secret_key) {
    std::array<char, key_length + 1> public_key{};
    if (secret_key.size() != key_length || zmq_curve_public(public_key.data(), secret_key.c_str()) != 0) {
        throw failure(status::usage, "that is no secret key: 40 characters of Z85");
    }
    return public_key.data();
}

curve_keys read_certificate_file(const std::string &path) {
    std::ifstream file(path);
    if (!file) {
        fail(path, std::strerror(errno));
    }
    static const std::regex line_of_key(R"rx(^\s*(public|secret)-key\s*=\s*"([^"]{40})"\s*$)rx");
    curve_keys keys;
    std::smatch found;
    for (std::string line; std::getline(file, line);) {
        if (std::regex_match(line, found, line_of_key)) {
            (found[1] == "public" ? keys.public_key : keys.secret_key) = found[2];
        }
    }
    if (keys.public_key.empty() && !keys.secret_key.empty()) {
        keys.public_key = public_from(keys.secret_key);
    }
    if (keys.public_key.empty()) {
        fail(path, "this is no certificate of CURVE as CZMQ writes it");
    }
    return keys;
}

std::string public_key_of(const std::string &key_or_path) {
    const bool is_file = access(key_or_path.c_str(), F_OK) == 0;
    if (!is_file && key_or_path.size() != key_length) {
        throw failure(
            status::usage,
            fmt::format("{} is neither a key (40 characters of Z85) nor a file with one", key_or_path));
    }
    return is_file ? read_certificate_file(key_or_path).public_key : key_or_path;
}

std::string certificate_text(const curve_keys &keys, const std::map<std::string, std::string> &metadata,
                             bool with_secret) {
    std::string text = with_secret
                           ? "#   ZeroMQ CURVE **Secret** Certificate\n"
                             "#   DO NOT PROVIDE THIS FILE TO OTHER USERS nor change its permissions.\n\n"
                           : "#   ZeroMQ CURVE Public Certificate\n"
                             "#   Exchange securely, or use a secure mechanism to verify the contents\n"
                             "#   of this file after exchange. Store public certificates in your home\n"
                             "#   directory, in the .curve subdirectory.\n\n";
    text += "metadata\n";
    for (const auto &[name, value] : metadata) {
        text += fmt::format("    {} = \"{}\"\n", name, value);
    }
    text += fmt::format("curve\n    public-key = \"{}\"\n", keys.public_key);
    if (with_secret) {
        text += fmt::format("    secret-key = \"{}\"\n", keys.secret_key);
    }
    return text;
}

void write_new_file(const std::string &path, const std::string &text, bool is_public, bool replaces) {
    if (replaces) {
        unlink(path.c_str());  // rights of a file that is there would stay
    }
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_public ? 0644 : 0600);
    if (file < 0) {
        fail(path, errno == EEXIST ? "the file is there already; --force replaces it" : std::strerror(errno));
    }
    size_t written = 0;
    while (written < text.size()) {
        const ssize_t count = write(file, text.data() + written, text.size() - written);
        if (count < 0 && errno != EINTR) {
            const int error = errno;
            close(file);
            unlink(path.c_str());
            fail(path, std::strerror(error));
        }
        written += count > 0 ? static_cast<size_t>(count) : 0;
    }
    if (close(file) != 0) {
        fail(path, std::strerror(errno));
    }
}

}  // namespace command
