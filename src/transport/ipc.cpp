// The scheme ipc: local stream sockets, in the file system or under abstract names.
//
// Forms:    "/path" (up to 107 octets), "@name" (abstract), and for binding "*": a socket in a new
//           directory of its own.
// Files:    binding takes a path over from whoever has a socket there, alive or not, and from
//           nothing else. Closing removes the file, wherever the program has gone meanwhile, unless
//           somebody has taken it over since.
// Order:    addresses; the file of a listening socket; the listener; the dialer; the transport.
#include "transport/transport.hpp"

#include <cstddef>
#include <cstdlib>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/platform.hpp"
#include "core/reason.hpp"
#include "core/whole_path.hpp"
#include "reactor/deferred_call.hpp"
#include "transport/endpoint.hpp"
#include "transport/ipc_stream.hpp"
#include "transport/passed_descriptors.hpp"
#include "transport/socket_listener.hpp"

namespace zlink {

namespace {

struct local_address {
    sockaddr_un address{};
    socklen_t length = 0;
};

/// Leaves the reason of a failure. Throws std::bad_alloc.
error parse(const std::string &text, local_address &out) {
    if (text.empty() || text == "@") {
        reason::leave("there is no name behind the @");
        return error::invalid;
    }
    if (constexpr std::size_t most_octets = sizeof out.address.sun_path - 1; text.size() > most_octets) {
        reason::leave("of the " + std::to_string(text.size()) + " octets of this name a local socket takes " +
                      std::to_string(most_octets));
        return error::name_too_long;
    }
    out.address.sun_family = AF_UNIX;
    text.copy(out.address.sun_path, text.size());
    out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
    if (text[0] == '@')
        out.address.sun_path[0] = '\0';
    else
        ++out.length;  // the terminating zero
    return error::none;
}

const sockaddr *as_sockaddr(const local_address &a) noexcept {
    return reinterpret_cast<const sockaddr *>(&a.address);
}

/// An application that sets the size of the socket's buffer wants that one. A peer that does not
/// speak ZMTP is no zlink.
std::size_t ring_size_for(const settings &options, const batching &sizes) noexcept {
    return options.send_buffer > 0 || options.is_raw() ? 0 : sizes.shared_memory;
}

// The file of a bound socket, and the directory made for it; removed with the object. Not by a
// child of fork.
class socket_file {
public:
    socket_file() noexcept = default;
    ~socket_file() {
        if (generation_ != platform::fork_generation())
            return;
        struct stat now {};
        if (!path_.empty() && ::stat(path_.c_str(), &now) == 0 && now.st_dev == device_ &&
            now.st_ino == inode_)
            ::unlink(path_.c_str());
        if (!directory_.empty())
            ::rmdir(directory_.c_str());
    }
    socket_file(const socket_file &) = delete;
    socket_file &operator=(const socket_file &) = delete;

    /// Makes a directory and returns the path of a socket in it. Leaves the reason of a failure.
    error make_path(const std::string &parent, std::string &path) {
        std::string name = whole_path(parent) + "/tmpXXXXXX";
        if (!::mkdtemp(name.data())) {
            const error e = from_errno(errno);
            reason::leave("cannot make a directory in " + parent + ": " + describe(to_errno(e)));
            return e;
        }
        directory_ = std::move(name);
        path = parent + directory_.substr(directory_.rfind('/')) + "/socket";
        return error::none;
    }

    /// To be called before the socket is bound: what is bound must not be forgotten for lack of
    /// memory.
    void expect(const std::string &path) { path_ = whole_path(path); }
    /// To be called when it is bound. While it is open, no other file has its inode.
    void remember() noexcept {
        struct stat made {};
        if (::stat(path_.c_str(), &made) != 0)
            return;
        device_ = made.st_dev;
        inode_ = made.st_ino;
    }

private:
    const unsigned generation_ = platform::fork_generation();
    std::string directory_;
    std::string path_;
    dev_t device_ = 0;  // with the inode: none, as long as nothing was bound
    ino_t inode_ = 0;
};

class ipc_listener final : public listener {
public:
    ipc_listener(loop &io, owned_descriptor socket, std::string endpoint, std::unique_ptr<socket_file> file,
                 const settings &options, const batching &sizes)
        : accepting_(io, std::move(socket), std::move(endpoint),
                     [options, ring_size = ring_size_for(options, sizes)](loop &at, owned_descriptor accepted,
                                                                          const sockaddr *, socklen_t,
                                                                          std::unique_ptr<stream> &out) {
                         if (!is_ipc_peer_admitted(accepted.get(), options)) {
                             if (!passed_descriptors::are_refused(accepted.get()))
                                 socket_calls::drop_unread(accepted.get());
                             reason::try_leave([] { return "a ZMQ_IPC_FILTER keeps the peer out"; });
                             return error::connection_refused;
                         }
                         return ipc_stream::make(at, std::move(accepted), ring_size, out);
                     }),
          file_(std::move(file)) {}

    void start(accept_handler handler) noexcept override { accepting_.start(std::move(handler)); }
    void go_on() noexcept override { accepting_.go_on(); }
    const std::string &endpoint() const noexcept override { return accepting_.endpoint(); }
    int descriptor() const noexcept override { return accepting_.descriptor(); }

private:
    socket_listener accepting_;
    const std::unique_ptr<socket_file> file_;  // goes before the socket is closed
};

// Connecting to a local socket succeeds or fails at once, so an attempt is one task.
class ipc_dialer final : public dialer {
public:
    ipc_dialer(const local_address &to, const settings &options, const batching &sizes, loop &io)
        : to_(to), options_(options), ring_size_(ring_size_for(options, sizes)), loop_(io),
          attempt_(io, [this] { connect_and_report(); }) {}

    void dial(dial_handler handler) noexcept override {
        handler_ = std::move(handler);
        attempt_.schedule();
    }
    int descriptor() const noexcept override { return descriptor_; }

private:
    error connect(std::unique_ptr<stream> &out) noexcept {
        owned_descriptor socket;
        if (error e = open_socket(AF_UNIX, loop_.sheddables, socket); failed(e))
            return e;
        set_up_ipc_socket(socket.get(), options_);
        descriptor_ = socket.get();
        if (::connect(socket.get(), as_sockaddr(to_), to_.length) != 0)
            return from_errno(errno);  // again: the queue of the listener is full
        return ipc_stream::make(loop_, std::move(socket), ring_size_, out);
    }

    void leave_reason(error why) const noexcept {
        reason::try_leave([&] {
            return "cannot connect to " + print_endpoint(as_sockaddr(to_), to_.length) + ": " +
                   describe(to_errno(why));
        });
    }

    // The owner may destroy this object in the call.
    void connect_and_report() {
        std::unique_ptr<stream> connected;
        const error failure = connect(connected);
        if (failed(failure))
            leave_reason(failure);
        dial_handler call = std::exchange(handler_, nullptr);
        call(std::move(connected), failure);
    }

    const local_address to_;
    const settings options_;
    const std::size_t ring_size_;
    loop &loop_;
    deferred_call attempt_;
    dial_handler handler_;
    int descriptor_ = -1;
};

bool is_socket(const std::string &path) noexcept {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

/// Why the system refuses to bind to it.
std::string words_of_no_bind(const std::string &path, error failure) {
    if (failure == error::address_in_use) {
        if (path[0] == '@')
            return path + " is in use by another socket";
        return path + (is_socket(path) ? " is there already, and cannot be removed"
                                       : " is there already, and is no socket");
    }
    return (path[0] == '@' ? "cannot bind to " : "cannot make the file ") + path + ": " +
           describe(to_errno(failure));
}

/// Leaves the reason of a failure.
error bind_and_listen(const std::string &path, const settings &options, socket_file &file,
                      owned_descriptor &out) {
    local_address local;
    if (error e = parse(path, local); failed(e))
        return e;
    owned_descriptor socket;
    if (error e = open_socket(AF_UNIX, socket); failed(e)) {
        reason::leave("cannot make a socket for " + path + ": " + describe(to_errno(e)));
        return e;
    }
    set_up_ipc_socket(socket.get(), options);
    const bool has_file = path[0] != '@';
    if (has_file) {
        file.expect(path);
        if (is_socket(path))
            ::unlink(path.c_str());
    }
    bool is_done = ::bind(socket.get(), as_sockaddr(local), local.length) == 0;
    if (is_done && has_file)
        file.remember();
    is_done = is_done && ::listen(socket.get(), options.backlog) == 0;
    if (!is_done) {
        const error e = from_errno(errno);
        reason::leave(words_of_no_bind(path, e), socket.get());
        return e;
    }
    out = std::move(socket);
    return error::none;
}

class ipc_transport final : public transport {
public:
    constexpr ~ipc_transport() override {}
    const char *scheme() const noexcept override { return "ipc"; }

    batching sizes(const tuning &knobs, const settings &options) const noexcept override {
        batching result = knobs.ipc;
        override_batch_sizes(result, options.in_batch_size, options.out_batch_size);
        return result;
    }

    error check_connect(const std::string &address, const settings &) const noexcept override {
        try {
            local_address parsed;
            return parse(address, parsed);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    error make_dialer(const std::string &address, const settings &options, const batching &sizes, loop &io,
                      std::unique_ptr<dialer> &out) const noexcept override {
        try {
            local_address to;
            if (error e = parse(address, to); failed(e))
                return e;
            out = std::make_unique<ipc_dialer>(to, options, sizes, io);
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    error make_listener(const std::string &address, const settings &options, const tuning &knobs, loop &io,
                        std::unique_ptr<listener> &out) const noexcept override {
        try {
            std::string path = address;
            owned_descriptor socket;  // closed after its file is gone
            auto file = std::make_unique<socket_file>();
            if (options.use_fd >= 0) {
                if (error e = adopt_bound_socket(options.use_fd, socket); failed(e))
                    return e;
                passed_descriptors::refuse(socket.get());
            } else {
                if (address == "*")
                    if (error e = file->make_path(knobs.temporary_directory, path); failed(e))
                        return e;
                if (error e = bind_and_listen(path, options, *file, socket); failed(e))
                    return e;
            }
            out = std::make_unique<ipc_listener>(io, std::move(socket), "ipc://" + path, std::move(file),
                                                 options, knobs.ipc);
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }
};

}  // namespace

const transport &ipc() noexcept {
    static constexpr ipc_transport instance;  // never destroyed: I/O threads may outlive main()
    return instance;
}

}  // namespace zlink
