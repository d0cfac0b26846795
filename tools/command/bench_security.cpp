#include "bench_security.hpp"

#include "certificate_file.hpp"
#include "tls_files.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace command {

namespace {

void set_text(const bench_library &library, void *socket, int option, const std::string &value) {
    if (library.setsockopt(socket, option, value.data(), value.size()) != 0) {
        throw failure(status::usage, fmt::format("{} cannot be protected like this: {}", library.name,
                                                 library.strerror(library.last_errno())));
    }
}

void set_number(const bench_library &library, void *socket, int option, int value) {
    set_text(library, socket, option, {reinterpret_cast<const char *>(&value), sizeof value});
}

class curve_for_once final : public bench_security {
public:
    std::string name() const override { return "CURVE"; }
    void apply(const bench_library &library, void *socket, bool binds) const override {
        const curve_keys &own = binds ? far_ : near_;
        if (binds) {
            set_number(library, socket, ZMQ_CURVE_SERVER, 1);
        } else {
            set_text(library, socket, ZMQ_CURVE_SERVERKEY, far_.public_key);
            set_text(library, socket, ZMQ_CURVE_PUBLICKEY, own.public_key);
        }
        set_text(library, socket, ZMQ_CURVE_SECRETKEY, own.secret_key);
    }

private:
    const curve_keys far_ = new_keys(), near_ = new_keys();
};

class plain_for_once final : public bench_security {
public:
    std::string name() const override { return "PLAIN"; }
    std::unique_ptr<bench_judge> make_judge(const bench_library &library, void *context) const override {
        return std::make_unique<bench_judge>(library, context, std::nullopt);
    }
    void apply(const bench_library &library, void *socket, bool binds) const override {
        if (binds) {
            set_number(library, socket, ZMQ_PLAIN_SERVER, 1);
        } else {
            set_text(library, socket, ZMQ_PLAIN_USERNAME, "bench");
            set_text(library, socket, ZMQ_PLAIN_PASSWORD, "bench");
        }
    }
};

class tls_for_once final : public bench_security {
public:
    tls_for_once() {
        std::string place = (std::filesystem::temp_directory_path() / "zlink-bench-XXXXXX").string();
        if (!mkdtemp(place.data())) {
            throw failure(status::other, fmt::format("{}: {}", place, std::strerror(errno)));
        }
        folder_ = place;
        make_tls_files(folder_, {"localhost"}, 1, false);
    }
    ~tls_for_once() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    tls_for_once(const tls_for_once &) = delete;
    tls_for_once &operator=(const tls_for_once &) = delete;

    std::string name() const override { return "TLS"; }
    void apply(const bench_library &library, void *socket, bool binds) const override {
        if (binds) {
            set_text(library, socket, ZMQ_TLS_CERT, folder_ + "/localhost.pem");
            set_text(library, socket, ZMQ_TLS_KEY, folder_ + "/localhost.key");
        } else {
            set_text(library, socket, ZMQ_TLS_CA, folder_ + "/ca.pem");
            set_text(library, socket, ZMQ_TLS_HOSTNAME, "localhost");
        }
    }

private:
    std::string folder_;
};

class security_of_flags final : public bench_security {
public:
    explicit security_of_flags(security_flags flags) : flags_(std::move(flags)) {}
    std::string name() const override {
        const bool is_curve = flags_.is_curve_server || !flags_.curve_server_key.empty();
        return is_curve ? "CURVE" : flags_.username.empty() ? "" : "PLAIN";
    }
    void apply(const bench_library &, void *handle, bool binds) const override {
        borrowed_socket through(handle);
        if (!binds || flags_.username.empty()) {
            secure(through, flags_);
            return;
        }
        security_flags others = flags_;
        others.username.clear();
        others.password.clear();
        secure(through, others);
        through.set(ZMQ_PLAIN_SERVER, 1);
    }
    std::unique_ptr<bench_judge> make_judge(const bench_library &library, void *context) const override {
        return flags_.username.empty()
                   ? nullptr
                   : std::make_unique<bench_judge>(library, context,
                                                   bench_judge::login{flags_.username, flags_.password});
    }

private:
    const security_flags flags_;
};

}  // namespace

std::unique_ptr<bench_judge> bench_security::make_judge(const bench_library &, void *) const {
    return nullptr;
}

bench_security_ptr made_curve() { return std::make_shared<curve_for_once>(); }
bench_security_ptr made_plain() { return std::make_shared<plain_for_once>(); }
bench_security_ptr made_tls() { return std::make_shared<tls_for_once>(); }
bench_security_ptr given_security(const security_flags &flags) {
    return std::make_shared<security_of_flags>(flags);
}

bench_judge::bench_judge(const bench_library &library, void *context, std::optional<login> shown)
    : library_(library), shown_(std::move(shown)), socket_(library.socket(context, ZMQ_REP)) {
    const int patience_ms = 50;
    if (!socket_ || library.setsockopt(socket_, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms) != 0 ||
        library.bind(socket_, "inproc://zeromq.zap.01") != 0) {
        throw failure(status::other,
                      fmt::format("nobody can judge: {}", library.strerror(library.last_errno())));
    }
    thread_ = std::thread([this] { run(); });
}

bench_judge::~bench_judge() {
    is_to_stop_ = true;
    thread_.join();
    library_.close(socket_);
}

/// RFC 27: version, request id, domain, address, routing id, mechanism, and what that was shown.
bool bench_judge::lets_in(const std::vector<std::string> &request) const {
    constexpr size_t mechanism = 5, name = 6, password = 7;
    if (!shown_ || request.size() <= mechanism || request[mechanism] != "PLAIN") {
        return true;
    }
    return request.size() == password + 1 && request[name] == shown_->name &&
           request[password] == shown_->password;
}

/// The answer repeats the version and the request id.
void bench_judge::run() {
    std::vector<std::string> parts;
    zmq_msg_t part;
    library_.msg_init(&part);
    while (!is_to_stop_) {
        if (library_.msg_recv(&part, socket_, 0) < 0) {
            continue;
        }
        parts.emplace_back(static_cast<const char *>(library_.msg_data(&part)), library_.msg_size(&part));
        if (library_.msg_more(&part) != 0) {
            continue;
        }
        parts.resize(std::max(parts.size(), size_t{2}));
        const bool is_let_in = lets_in(parts);
        const std::array<std::string, 6> answer{parts[0],
                                                parts[1],
                                                is_let_in ? "200" : "400",
                                                is_let_in ? "OK" : "another name or password",
                                                is_let_in ? "bench" : "",
                                                ""};
        for (const std::string &each : answer) {
            library_.send(socket_, each.data(), each.size(), &each == &answer.back() ? 0 : ZMQ_SNDMORE);
        }
        parts.clear();
    }
    library_.msg_close(&part);
}

}  // namespace command
