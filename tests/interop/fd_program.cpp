// Shows what makes the descriptor of a socket (ZMQ_FD) readable: one case for each socket type,
// each thing that happens to the socket, the time when the descriptor was asked for, and whether
// ZMQ_EVENTS had been read.
//
//   fd_program TRANSPORT QUIET_MS LONGEST_MS [NAME...]
//
// Prints the file of the library, and a line "NAME readable" or "NAME silent" for each case. All
// cases go on together: the sockets are made and joined, then that rests for QUIET_MS, the events
// are read, the things happen, and LONGEST_MS later the descriptors are looked at; as soon as those
// of all NAMEs are readable, where some are given.
#include <zmq.h>

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

enum class what {
    connects,
    connects_to_nobody,
    connects_and_input_comes,
    binds,
    disconnects,
    unbinds,
    peer_connects,
    peer_binds,
    peer_closes_that_had_connected,
    peer_closes_that_had_bound,
    peer_disconnects,
    input,
    second_input,
    room,
    room_by_mark,
    subscription,
    shutdown
};
constexpr const char *names_of_what[] = {"connects",
                                         "connects to nobody",
                                         "connects and input comes",
                                         "binds",
                                         "disconnects",
                                         "unbinds",
                                         "peer connects",
                                         "peer binds",
                                         "peer closes that had connected",
                                         "peer closes that had bound",
                                         "peer disconnects",
                                         "input",
                                         "second input",
                                         "room",
                                         "room by mark",
                                         "subscription",
                                         "shutdown"};

enum class asked { at_birth, before, after };
constexpr const char *names_of_asked[] = {"descriptor asked for at birth", "descriptor asked for before",
                                          "descriptor asked for after"};

struct kind {
    int type;
    int other;
    const char *name;
    bool receives;
    bool waits_for_room;
};
constexpr kind kinds[] = {
    {ZMQ_PULL, ZMQ_PUSH, "PULL", true, false}, {ZMQ_SUB, ZMQ_PUB, "SUB", true, false},
    {ZMQ_PAIR, ZMQ_PAIR, "PAIR", true, true},  {ZMQ_DEALER, ZMQ_DEALER, "DEALER", true, true},
    {ZMQ_PUSH, ZMQ_PULL, "PUSH", false, true}, {ZMQ_ROUTER, ZMQ_DEALER, "ROUTER", true, false},
    {ZMQ_PUB, ZMQ_SUB, "PUB", false, false},   {ZMQ_XPUB, ZMQ_SUB, "XPUB", false, false},
    {ZMQ_REP, ZMQ_DEALER, "REP", true, false}};

[[noreturn]] void give_up(const std::string &why) {
    std::fprintf(stderr, "fd_program: %s: %s\n", why.c_str(), zmq_strerror(zmq_errno()));
    std::exit(2);
}

void require(bool holds, const std::string &why) {
    if (!holds)
        give_up(why);
}

void rest(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

bool is_readable(int fd) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, 0) == 1;
}

int get(void *socket, int option) {
    int value = 0;
    std::size_t size = sizeof value;
    require(zmq_getsockopt(socket, option, &value, &size) == 0 || zmq_errno() == ETERM, "zmq_getsockopt");
    return value;
}

std::string last_endpoint(void *socket) {
    char text[256];
    std::size_t size = sizeof text;
    require(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text, &size) == 0, "the endpoint");
    return text;
}

class one_case {
public:
    one_case(const kind &of, what happens, asked when, bool reads, std::string transport)
        : kind_(of), what_(happens), when_(when), reads_(reads), transport_(std::move(transport)) {}

    std::string name() const {
        return std::string(kind_.name) + ", " + names_of_what[static_cast<int>(what_)] + ", " +
               names_of_asked[static_cast<int>(when_)] + (reads_ ? ", events read" : ", events not read");
    }

    void prepare(void *shared) {
        const bool ends = what_ == what::shutdown;
        context_ = ends ? own_ = zmq_ctx_new() : shared;
        self_ = make(kind_.type);
        if (when_ == asked::at_birth)
            fd_ = get(self_, ZMQ_FD);
        peer_ = make(kind_.other);
        switch (what_) {
        case what::connects:
        case what::connects_and_input_comes:
        case what::peer_connects:
        case what::binds:
        case what::connects_to_nobody:
        case what::peer_binds:
            break;
        case what::unbinds:
        case what::peer_closes_that_had_connected:
        case what::peer_disconnects:
        case what::shutdown:
            bind(self_);
            connect(peer_);
            break;
        default:
            bind(peer_);
            connect(self_);
        }
        if (what_ == what::connects || what_ == what::connects_and_input_comes)
            bind(peer_);
        if (what_ == what::peer_connects)
            bind(self_);
        if (what_ == what::peer_binds) {
            bind(peer_);
            require(zmq_unbind(peer_, endpoint_.c_str()) == 0, "zmq_unbind");
            rest(1);
            connect(self_);
        }
        if (what_ == what::connects_to_nobody) {
            bind(peer_);
            require(zmq_unbind(peer_, endpoint_.c_str()) == 0, "zmq_unbind");
        }
    }

    /// Does what comes before, once the sockets know each other.
    void go_on() {
        if (what_ == what::room || what_ == what::room_by_mark)
            while (zmq_send(self_, "x", 1, ZMQ_DONTWAIT) == 1)
                rest(1);
        if (what_ == what::second_input)
            send();
    }

    void read_events() {
        if (when_ == asked::before)
            fd_ = get(self_, ZMQ_FD);
        if (what_ == what::second_input)
            receive(self_);
        if (!reads_)
            return;
        do
            (void)get(self_, ZMQ_EVENTS);
        while (fd_ >= 0 && is_readable(fd_));
    }

    void happen() {
        switch (what_) {
        case what::connects:
        case what::connects_to_nobody:
            connect(self_);
            break;
        case what::connects_and_input_comes:
            connect(self_);
            if (kind_.type != ZMQ_SUB)
                send();
            break;
        case what::binds:
            bind(self_);
            break;
        case what::disconnects:
            require(zmq_disconnect(self_, endpoint_.c_str()) == 0, "zmq_disconnect");
            break;
        case what::unbinds:
            require(zmq_unbind(self_, endpoint_.c_str()) == 0, "zmq_unbind");
            break;
        case what::peer_connects:
            connect(peer_);
            break;
        case what::peer_binds:
            require(zmq_bind(peer_, endpoint_.c_str()) == 0, "zmq_bind again");
            break;
        case what::peer_closes_that_had_connected:
        case what::peer_closes_that_had_bound:
            zmq_close(peer_);
            peer_ = nullptr;
            break;
        case what::peer_disconnects:
            require(zmq_disconnect(peer_, endpoint_.c_str()) == 0, "zmq_disconnect of the peer");
            break;
        case what::input:
        case what::second_input:
            send();
            break;
        case what::room:
            receive(peer_);
            break;
        case what::room_by_mark:
            set(self_, ZMQ_SNDHWM, 1000);
            break;
        case what::subscription:
            require(zmq_setsockopt(peer_, ZMQ_SUBSCRIBE, "topic", 5) == 0, "ZMQ_SUBSCRIBE");
            break;
        case what::shutdown:
            zmq_ctx_shutdown(own_);
            break;
        }
        if (when_ == asked::after && what_ != what::shutdown)
            fd_ = get(self_, ZMQ_FD);
    }

    bool is_told() const { return fd_ >= 0 && is_readable(fd_); }

    void end() {
        zmq_close(self_);
        if (peer_)
            zmq_close(peer_);
        if (own_)
            zmq_ctx_term(own_);
    }

private:
    void *make(int type) {
        void *made = zmq_socket(context_, type);
        require(made, "zmq_socket");
        set(made, ZMQ_LINGER, 0);
        if (what_ == what::room || what_ == what::room_by_mark) {
            set(made, ZMQ_SNDHWM, 1);
            set(made, ZMQ_RCVHWM, 1);
            set(made, ZMQ_SNDBUF, 4096);
            set(made, ZMQ_RCVBUF, 4096);
        }
        if (type == ZMQ_SUB && what_ != what::subscription)
            zmq_setsockopt(made, ZMQ_SUBSCRIBE, "", 0);
        return made;
    }
    static void set(void *socket, int option, int value) {
        require(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "zmq_setsockopt");
    }
    void bind(void *socket) {
        static int number = 0;
        // An address of its own: what one case leaves must be free when it comes back.
        ++number;
        std::string wanted = transport_ + "://127.1." + std::to_string(number / 200) + "." +
                             std::to_string(number % 200 + 1) + ":*";
        if (transport_ == "ipc")
            wanted = "ipc://@fd-program-" + std::to_string(::getpid()) + "-" + std::to_string(number);
        if (transport_ == "inproc")
            wanted = "inproc://" + std::to_string(number);
        require(zmq_bind(socket, wanted.c_str()) == 0, "zmq_bind " + wanted);
        endpoint_ = last_endpoint(socket);
    }
    void connect(void *socket) { require(zmq_connect(socket, endpoint_.c_str()) == 0, "zmq_connect"); }
    void send() {
        if (kind_.type == ZMQ_REP)
            (void)zmq_send(peer_, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        (void)zmq_send(peer_, "x", 1, 0);
    }
    static void receive(void *socket) {
        char octet[16];
        while (zmq_recv(socket, octet, sizeof octet, ZMQ_DONTWAIT) >= 0) {
        }
    }

    const kind &kind_;
    const what what_;
    const asked when_;
    const bool reads_;
    const std::string transport_;
    void *context_ = nullptr;
    void *own_ = nullptr;
    void *self_ = nullptr;
    void *peer_ = nullptr;
    int fd_ = -1;
    std::string endpoint_;
};

bool makes_sense(const kind &of, what happens, asked when, const std::string &transport) {
    switch (happens) {
    case what::connects_and_input_comes:
    case what::input:
        return of.receives;
    case what::second_input:
        return of.receives && of.type != ZMQ_REP;
    case what::room:
    case what::room_by_mark:
        return of.waits_for_room && (happens == what::room || transport == "inproc");
    case what::subscription:
        return of.type == ZMQ_PUB || of.type == ZMQ_XPUB;
    case what::connects_to_nobody:
    case what::peer_binds:
        return transport != "inproc" || happens == what::connects_to_nobody;
    case what::shutdown:
        return of.type == ZMQ_PULL && when != asked::after;
    default:
        return true;
    }
}

void print_library() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (const auto at = line.find('/');
            at != std::string::npos && line.find("libzmq") != std::string::npos) {
            std::printf("library %s\n", line.c_str() + at);
            return;
        }
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fprintf(stderr, "fd_program TRANSPORT QUIET_MS LONGEST_MS [NAME...]\n");
        return 2;
    }
    const std::string transport = argv[1];
    const int quiet_ms = std::atoi(argv[2]);
    const auto longest = std::chrono::milliseconds(std::atoi(argv[3]));
    const std::set<std::string> expected(argv + 4, argv + argc);
    rlimit limit;
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    print_library();
    void *shared = zmq_ctx_new();
    zmq_ctx_set(shared, ZMQ_MAX_SOCKETS, 8192);
    std::vector<one_case> cases;
    for (const kind &of : kinds)
        for (int happens = 0; happens <= static_cast<int>(what::shutdown); ++happens)
            for (const asked when : {asked::at_birth, asked::before, asked::after})
                for (const bool reads : {true, false})
                    if (makes_sense(of, static_cast<what>(happens), when, transport))
                        cases.emplace_back(of, static_cast<what>(happens), when, reads, transport);
    for (one_case &each : cases)
        each.prepare(shared);
    rest(quiet_ms);
    for (one_case &each : cases)
        each.go_on();
    rest(quiet_ms);
    for (one_case &each : cases)
        each.read_events();
    for (one_case &each : cases)
        each.happen();
    const auto end = std::chrono::steady_clock::now() + longest;
    const auto is_done = [&] {
        return !expected.empty() && std::all_of(cases.begin(), cases.end(), [&](const one_case &each) {
            return each.is_told() || !expected.contains(each.name());
        });
    };
    while (std::chrono::steady_clock::now() < end && !is_done())
        rest(10);
    for (one_case &each : cases)
        std::printf("%s %s\n", each.name().c_str(), each.is_told() ? "readable" : "silent");
    for (one_case &each : cases)
        each.end();
    zmq_ctx_term(shared);
    return 0;
}
