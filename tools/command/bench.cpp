// zlink bench: how many messages pass in a second, and how long a round trip takes.
//
// Flow: each run is a process of its own, so that no library meets what another has left, and
// leaves its outcome in memory that both share. The runs of two libraries take turns.

#include "bench_peer.hpp"
#include "bench_report.hpp"
#include "bench_svg.hpp"
#include "interrupts.hpp"
#include "output.hpp"
#include "subcommands.hpp"
#include "text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>

namespace command {

namespace {

struct bench_flags {
    std::vector<std::string> endpoints;
    std::string bound, connected;
    std::vector<std::string> patterns;
    std::vector<size_t> sizes;
    std::uint64_t messages = 0;
    std::optional<milliseconds> duration;
    int clients = 1;
    double rate = 0;
    bool is_round_trip = false;
    int runs = 3;
    std::string against;
    bool is_csv = false, is_json = false, is_quiet = false;
    bool has_curve = false, has_plain = false, has_tls = false;  // with keys that are made for it
    security_flags security;                                     // of one of two hosts
    std::string result_file, picture_file;

    bool is_of_two_hosts() const { return !bound.empty() || !connected.empty(); }
};

bool is_for_tls(const std::string &endpoint) {
    return endpoint.starts_with("tls://") || endpoint.starts_with("wss://");
}

bool is_inproc(const std::string &endpoint) { return endpoint.starts_with("inproc://"); }

bench_security_ptr security_of(const bench_flags &flags) {
    return flags.is_of_two_hosts() ? given_security(flags.security)
           : flags.has_curve       ? made_curve()
           : flags.has_plain       ? made_plain()
           : flags.has_tls         ? made_tls()
                                   : nullptr;
}

/// The format that was asked for, or that the name of the file says.
enum class result_format { picture, csv, json };
result_format format_of_file(const bench_flags &flags) {
    const bool is_csv = flags.result_file.ends_with(".csv");
    const bool is_json = flags.result_file.ends_with(".json") || flags.result_file.ends_with(".jsonl");
    if ((is_csv && flags.is_json) || (is_json && flags.is_csv)) {
        throw CLI::ValidationError("--output", flags.result_file + " has another format");
    }
    return is_csv || flags.is_csv     ? result_format::csv
           : is_json || flags.is_json ? result_format::json
                                      : result_format::picture;
}

/// However they are written; of a link to a file that is not there this does not tell.
bool are_one_file(const std::string &one, const std::string &other) {
    if (one.empty() || other.empty()) {
        return false;
    }
    std::error_code ignored;
    return one == other || std::filesystem::equivalent(one, other, ignored) ||
           std::filesystem::weakly_canonical(std::filesystem::absolute(one), ignored) ==
               std::filesystem::weakly_canonical(std::filesystem::absolute(other), ignored);
}

void write_result(const std::string &path, const std::string &text, bool is_begun) {
    errno = 0;
    std::ofstream file(path, is_begun ? std::ios::trunc : std::ios::app);
    file << text;
    file.close();
    if (!file) {
        throw failure(status::other, fmt::format("{}: {}", path, std::strerror(errno)));
    }
}

/// Draws how many of the runs are over.
std::string progress_bar(size_t done, size_t all, bool draws_with_unicode) {
    constexpr size_t width = 24;
    const size_t filled = all == 0 ? width : done * width / all;
    std::string bar;
    for (size_t i = 0; i < width; ++i) {
        bar += draws_with_unicode ? (i < filled ? "█" : "░") : (i < filled ? "#" : ".");
    }
    return "[" + bar + "]";
}

/// Holds what a run leaves behind.
struct bench_board {
    std::atomic<bool> is_to_stop = false;
    bool is_done = false;
    status code = status::other;
    std::array<char, 64> library{};
    std::array<char, 512> fault{};
    bench_outcome outcome;
};

template <size_t N>
void put(std::array<char, N> &into, const std::string &text) {
    std::memcpy(into.data(), text.data(), std::min(text.size(), N - 1));
}

class shared_board {
public:
    shared_board() {
        void *const at =
            mmap(nullptr, sizeof(bench_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) {
            throw failure(status::other, std::strerror(errno));
        }
        board_ = new (at) bench_board;
    }
    ~shared_board() { munmap(board_, sizeof(bench_board)); }
    shared_board(const shared_board &) = delete;
    shared_board &operator=(const shared_board &) = delete;
    bench_board *operator->() const { return board_; }
    bench_board &operator*() const { return *board_; }

private:
    bench_board *board_;
};

/// In the child.
void run_into(bench_board &board, const bench_case &of, const bench_flags &flags, bool is_against) {
    const bench_stopped is_stopped = [&board] { return board.is_to_stop.load(); };
    try {
        const bench_library library = is_against ? loaded_library(flags.against) : own_library();
        put(board.library, library.name);
        board.outcome = flags.connected.empty()
                            ? run_both_ends(library, of.plan, of.endpoint, is_stopped)
                            : run_with_peer(of.plan, of.endpoint, flags.security, is_stopped);
        board.is_done = true;
    } catch (const failure &error) {
        board.code = error.code();
        put(board.fault, error.what());
    } catch (const std::exception &error) {
        put(board.fault, error.what());
    }
}

class bench {
public:
    explicit bench(const bench_flags &flags) : flags_(flags), cases_(cases_of(flags)) {}

    status run() {
        for (const std::string &path : {flags_.result_file, flags_.picture_file}) {
            if (!path.empty()) {
                write_result(path, "", false);  // it is known before the work whether that can be
            }
        }
        const int libraries = flags_.against.empty() ? 1 : 2;
        const size_t all = cases_.size() * static_cast<size_t>(flags_.runs * libraries);
        size_t count = 0;
        for (bench_case &each : cases_) {
            each.libraries.resize(static_cast<size_t>(libraries));
        }
        for (bench_case &each : cases_) {
            for (int i = 0; i < flags_.runs * libraries && !is_interrupted_; ++i) {
                tell_progress(each, ++count, all);
                run_once(each, i % libraries == 1);
            }
        }
        clear_progress();
        show();
        return is_interrupted_ ? status::interrupted : status::done;
    }

private:
    static std::vector<bench_case> cases_of(const bench_flags &flags) {
        const bench_security_ptr security = security_of(flags);
        std::vector<bench_case> cases;
        const auto add = [&](const std::string &endpoint, const std::string &pattern) {
            for (const size_t size : flags.sizes) {
                bench_case made;
                made.endpoint = endpoint;
                made.plan.pattern = bench_pattern_of(pattern);
                made.plan.is_round_trip = flags.is_round_trip || !made.plan.pattern->can_go_one_way;
                made.plan.size = size;
                made.plan.messages = flags.messages;
                made.plan.duration = flags.duration.value_or(milliseconds(1000));
                made.plan.clients = flags.clients;
                made.plan.rate = flags.rate;
                made.plan.security = security;
                cases.push_back(made);
            }
        };
        for (const std::string &endpoint : flags.endpoints) {
            for (const std::string &pattern : flags.patterns) {
                add(endpoint, pattern);
            }
        }
        return cases;
    }

    /// To a terminal alone: a bar in its place, or a line where nothing can be written over.
    void tell_progress(const bench_case &of, size_t number, size_t all) const {
        if (isatty(2) == 0 || flags_.is_quiet) {
            return;
        }
        const std::string words =
            fmt::format("run {} of {}: {}, {} octets", number, all, of.plan.pattern->words, of.plan.size);
        if (is_dumb()) {
            fmt::print(stderr, "{}\n", words);
        } else {
            fmt::print(stderr, "\r{} {:50}", progress_bar(number - 1, all, has_unicode()), words);
        }
    }

    static bool is_dumb() {
        const char *kind = std::getenv("TERM");
        return !kind || !*kind || std::strcmp(kind, "dumb") == 0;
    }

    void clear_progress() const {
        if (isatty(2) != 0 && !flags_.is_quiet && !is_dumb()) {
            fmt::print(stderr, "\r{:78}\r", "");
        }
    }

    /// Waits for the end of a run, or has it end early.
    void wait_for(pid_t child, int end, bench_board &board) {
        for (bool has_ended = false; !has_ended;) {
            std::array<pollfd, 2> ends{{{end, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}}};
            poll(ends.data(), ends.size(), -1);
            has_ended = ends[0].revents != 0;
            if (ends[1].revents != 0 && signals_.take()) {
                if (is_interrupted_) {
                    kill(child, SIGKILL);
                }
                is_interrupted_ = true;
                board.is_to_stop = true;
            }
        }
        while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

    void run_once(bench_case &of, bool is_against) {
        shared_board board;
        std::array<int, 2> end{};
        if (pipe2(end.data(), O_CLOEXEC) != 0) {
            throw failure(status::other, fmt::format("no pipe: {}", std::strerror(errno)));
        }
        const pid_t parent = getpid();
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent) {
                run_into(*board, of, flags_, is_against);
            }
            _exit(0);
        }
        close(end[1]);
        if (child > 0) {
            wait_for(child, end[0], *board);
        }
        close(end[0]);
        if (board->is_done && board->outcome.messages > 0) {
            bench_figures &figures = of.libraries[is_against ? 1 : 0];
            figures.library = board->library.data();
            figures.add(board->outcome, of.plan.is_round_trip);
        } else if (!is_interrupted_) {
            clear_progress();
            const std::string why = board->fault.data();
            throw failure(board->is_done ? status::timed_out : board->code,
                          board->is_done ? "too few messages to measure: --msgs or --duration is too small"
                          : why.empty()  ? fmt::format("{} has ended the process that measures it",
                                                      is_against ? flags_.against : "zlink")
                                         : why);
        }
    }

    static bool has_unicode() {
        const auto text = [](const char *name) {
            const char *value = std::getenv(name);
            return std::string(value ? value : "");
        };
        std::string locale;
        for (const char *name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
            locale = locale.empty() ? text(name) : locale;
        }
        for (char &c : locale) {
            c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        }
        return text("NO_COLOR").empty() && text("TERM") != "dumb" &&
               (locale.find("UTF-8") != std::string::npos || locale.find("UTF8") != std::string::npos);
    }

    void show() const {
        output to;
        const result_format asked = flags_.is_csv    ? result_format::csv
                                    : flags_.is_json ? result_format::json
                                                     : result_format::picture;
        to.write(result_as(flags_.result_file.empty() ? asked : result_format::picture, has_unicode()));
        to.flush();
        if (!flags_.result_file.empty()) {
            write_result(flags_.result_file, result_as(format_of_file(flags_), true), true);
        }
        if (!flags_.picture_file.empty()) {
            write_result(flags_.picture_file, bench_svg(cases_, how_measured()), true);
        }
    }

    std::string result_as(result_format format, bool draws_with_unicode) const {
        if (format == result_format::csv) {
            return bench_csv(cases_);
        }
        if (format == result_format::json) {
            return bench_json(cases_);
        }
        const std::string picture = bench_picture(cases_, draws_with_unicode);
        return picture + (picture.empty() ? "" : "\n" + how_measured());
    }

    std::string how_measured() const {
        const std::string time =
            flags_.messages > 0
                ? fmt::format("{} messages of each client", flags_.messages)
                : fmt::format("{} s",
                              static_cast<double>(flags_.duration.value_or(milliseconds(1000)).count()) /
                                  1000);
        return fmt::format("Each number is the median of {} run{} of {}; {}.{}\n", flags_.runs,
                           flags_.runs == 1 ? "" : "s", time,
                           flags_.connected.empty() ? "both ends are on this machine"
                                                    : "the other end is at " + flags_.connected,
                           is_interrupted_ ? " It was interrupted: some runs are missing." : "");
    }

    const bench_flags flags_;
    interrupts signals_;
    std::vector<bench_case> cases_;
    bool is_interrupted_ = false;
};

void complete(bench_flags &flags) {
    if (!flags.bound.empty()) {
        return;
    }
    if (!flags.connected.empty()) {
        flags.endpoints = {flags.connected};
    } else if (flags.endpoints.empty()) {
        flags.endpoints = {flags.has_tls ? "tls://127.0.0.1:*" : "tcp://127.0.0.1:*"};
    }
    flags.has_tls = flags.has_tls || is_for_tls(flags.endpoints[0]);
    if (flags.sizes.empty()) {
        flags.sizes = {64, 1024, 65536};
    }
    if (flags.patterns.empty()) {
        flags.patterns = flags.is_round_trip ? std::vector<std::string>{"req-rep"}
                                             : std::vector<std::string>{"push-pull", "req-rep"};
    }
}

void refuse_keys_that_do_not_fit(const bench_flags &flags) {
    const security_flags &given = flags.security;
    const std::array<const std::string *, 7> texts{
        &given.cert,    &given.key, &given.ca, &given.curve_cert, &given.username, &given.curve_server_key,
        &given.password};
    const bool is_given =
        given.is_curve_server || given.is_insecure ||
        std::any_of(texts.begin(), texts.end(), [](const auto *each) { return !each->empty(); });
    const bool is_made = flags.has_curve || flags.has_plain || flags.has_tls;
    if (is_made && flags.is_of_two_hosts()) {
        throw CLI::ValidationError("--curve, --plain and --tls", "are for both ends here; two hosts have "
                                                                 "--curve-server-key, --cert and the like");
    }
    if (is_given && !is_made && !flags.is_of_two_hosts()) {
        throw CLI::ValidationError("--curve, --plain and --tls",
                                   "protect both ends here; other keys are for --bind and --connect");
    }
    const bool is_of_tls = flags.has_tls || (!flags.endpoints.empty() && is_for_tls(flags.endpoints[0]));
    const bool leaves_no_process = std::any_of(flags.endpoints.begin(), flags.endpoints.end(), is_inproc);
    if (leaves_no_process && (flags.has_curve || flags.has_plain || flags.has_tls)) {
        throw CLI::ValidationError(
            "--curve, --plain and --tls",
            "are not for inproc://, which nothing protects: it does not leave the process");
    }
    if (is_inproc(flags.bound) || is_inproc(flags.connected)) {
        throw CLI::ValidationError("--bind and --connect",
                                   "are for two processes, and inproc:// does not leave one");
    }
    for (const std::string &each : flags.endpoints) {
        if (is_for_tls(each) != is_of_tls || (is_of_tls && (flags.has_curve || flags.has_plain))) {
            throw CLI::ValidationError("--tls", "is for tls:// and wss://, and for these alone");
        }
    }
}

void refuse_what_does_not_fit(const bench_flags &flags) {
    const int places =
        (flags.endpoints.empty() ? 0 : 1) + (flags.bound.empty() ? 0 : 1) + (flags.connected.empty() ? 0 : 1);
    if (places > 1) {
        throw CLI::ValidationError("ENDPOINT",
                                   "is for both ends here; --bind or --connect is for one of two hosts");
    }
    if (!flags.against.empty() && places > 0 && flags.endpoints.empty()) {
        throw CLI::ValidationError("--against", "measures with both ends here");
    }
    refuse_keys_that_do_not_fit(flags);
    (void)format_of_file(flags);
    if (are_one_file(flags.result_file, flags.picture_file)) {
        throw CLI::ValidationError("--svg", flags.picture_file + " is the file of --output, too");
    }
    if (flags.messages > 0 && flags.duration) {
        throw CLI::ValidationError("--msgs", "and --duration: one of them ends a run");
    }
    for (const std::string &name : flags.patterns) {
        if (flags.is_round_trip && !bench_pattern_of(name)->can_return) {
            throw CLI::ValidationError("--lat",
                                       name + " goes one way; req-rep, dealer-router and pair return");
        }
        if (name == "pair" && flags.clients > 1) {
            throw CLI::ValidationError("--clients", "a PAIR has one peer");
        }
    }
}

void add_flags_of_ends(CLI::App &app, bench_flags &flags) {
    app.add_option("ENDPOINT", flags.endpoints,
                   "Measure here with both ends: tcp://127.0.0.1:*, ipc://*, inproc://name; tcp without any")
        ->check(not_empty("ENDPOINT"))
        ->type_name("");
    app.add_option(
           "-b,--bind", flags.bound,
           "Be the other end for a --connect of another host; anybody there may have it work, so it "
           "is for networks that are trusted, or with keys or a password. The messages take a port of "
           "their own")
        ->check(not_empty("--bind"))
        ->type_name("EP");
    app.add_option("-c,--connect", flags.connected, "Measure to the --bind of another host")
        ->check(not_empty("--connect"))
        ->type_name("EP");
}

void add_flags_of_runs(CLI::App &app, bench_flags &flags) {
    std::vector<std::string> names;
    for (const bench_pattern &each : bench_patterns()) {
        names.push_back(each.name);
    }
    app.add_option("-p,--pattern", flags.patterns,
                   "push-pull, pub-sub, pair, dealer-router, req-rep; several with commas between them; "
                   "push-pull and req-rep, unless it is set")
        ->delimiter(',')
        ->check(CLI::IsMember(names))
        ->type_name("NAME")
        ->allow_extra_args(false);
    app.add_option("-s,--size", flags.sizes, "Octets of a message, several with commas; 64,1024,65536")
        ->delimiter(',')
        ->check(CLI::Range(size_t{0}, size_t{1} << 30))
        ->type_name("OCTETS")
        ->allow_extra_args(false);
    app.add_flag("--lat,--latency", flags.is_round_trip,
                 "Measure round trips, with req-rep unless --pattern says otherwise");
    app.add_option("-n,--msgs", flags.messages, "Messages of each client in a run")
        ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{1} << 40))
        ->type_name("COUNT");
    add_duration(app, "-d,--duration", flags.duration, "Time of a run; 1s, unless it or --msgs is set");
    app.add_option("--clients", flags.clients, "Sockets that connect, a thread each; 1, unless it is set")
        ->check(CLI::Range(1, 1000))
        ->type_name("COUNT");
    app.add_option(
           "--rate", flags.rate,
           "Messages a second of each client, at most; a round trip is then timed from when it was due")
        ->check(CLI::Range(0.001, 1e9))
        ->type_name("NUMBER");
    app.add_option("--runs", flags.runs, "Runs of each kind, whose median is printed; 3, unless it is set")
        ->check(CLI::Range(1, 1000))
        ->type_name("COUNT");
}

void add_flags_of_result(CLI::App &app, bench_flags &flags) {
    app.add_option("--against", flags.against,
                   "Measure this libzmq in turn, such as /usr/lib/x86_64-linux-gnu/libzmq.so.5, and print "
                   "how zlink compares")
        ->check(not_empty("--against"))
        ->type_name("FILE");
    auto *csv = app.add_flag("--csv", flags.is_csv, "Print a line of CSV for each library, size and pattern");
    app.add_flag("--json", flags.is_json, "Print a line of JSON for each library, size and pattern")
        ->excludes(csv);
    app.add_option(
           "-o,--output", flags.result_file,
           "Write the result into this file, too: as CSV or JSON where it ends with .csv or .json, or "
           "where that flag is set")
        ->check(not_empty("--output"))
        ->type_name("FILE");
    app.add_option("--svg", flags.picture_file, "Draw the result into this file, for a browser or a page")
        ->check(not_empty("--svg"))
        ->type_name("FILE");
    app.add_flag("-q,--quiet", flags.is_quiet, "Draw no bar of progress on stderr, where that is a terminal");
}

void add_flags_of_security(CLI::App &app, bench_flags &flags) {
    const std::string group = "Security";
    auto *curve =
        app.add_flag("--curve", flags.has_curve, "Both ends here: CURVE, with keys that are made for it");
    auto *plain = app.add_flag("--plain", flags.has_plain, "Both ends here: PLAIN, with any password");
    auto *tls = app.add_flag("--tls", flags.has_tls,
                             "Both ends here: tls://127.0.0.1:*, with a certificate that is made for it, as "
                             "for any endpoint of tls:// and wss://");
    plain->excludes(curve);
    tls->excludes(curve)->excludes(plain);
    for (auto *each : {curve, plain, tls}) {
        each->group(group);
    }
    add_security_flags(app, flags.security);
}

}  // namespace

void add_bench(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("bench", "Measure messages a second, and the time of round trips");
    auto flags = std::make_shared<bench_flags>();
    add_flags_of_ends(*app, *flags);
    add_flags_of_runs(*app, *flags);
    add_flags_of_result(*app, *flags);
    add_flags_of_security(*app, *flags);
    app->footer(
        "NO_COLOR, TERM=dumb and a locale without UTF-8 have it draw with ASCII. Exit status: 0; 2 for "
        "what cannot be measured; 3 where messages stop coming; 4 where an end cannot bind, or nobody "
        "answers; 5 where the other host refuses; 130 where it was interrupted, with what was measured until "
        "then.");
    app->callback([flags, &chosen] {
        refuse_what_does_not_fit(*flags);
        complete(*flags);
        chosen = [flags] {
            return flags->bound.empty() ? bench(*flags).run() : serve_bench(flags->bound, flags->security);
        };
    });
}

}  // namespace command
