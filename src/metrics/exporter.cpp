// The contexts that are told of, and the thread that answers. See exporter.hpp.
//
// Map: the contexts; what is answered; the thread.
#include "metrics/exporter.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/finally.hpp"
#include "core/owned_descriptor.hpp"
#include "core/platform.hpp"
#include "core/tuning.hpp"
#include "core/whole_path.hpp"
#include "metrics/address.hpp"
#include "metrics/file_identity.hpp"
#include "metrics/line_allotment.hpp"
#include "metrics/listener.hpp"
#include "metrics/numbers_file.hpp"
#include "metrics/peers.hpp"
#include "metrics/server.hpp"
#include "metrics/text.hpp"

namespace zlink::metrics {

namespace {

/// The I/O threads are waited for so long, where they are asked for their peers.
constexpr std::chrono::seconds longest_look{1};
/// The first text in a file is waited for so long.
constexpr std::chrono::seconds longest_beginning{1};
/// The time between two texts in a file.
constexpr std::chrono::milliseconds between_texts{1000};

void say(const std::string &what) noexcept {
    try {
        platform::write_error_output("zlink: metrics: " + what + '\n');
    } catch (const std::bad_alloc &) {
    }
}

// ---- The contexts -------------------------------------------------------------------------------

/// The socket at a path, by which a process that has ended would still seem to be there.
struct named_socket {
    std::string path;
    file_identity identity;
    pid_t owner;
};

/// The contexts of one process; lives for ever.
struct registry {
    explicit registry(registry *parents) noexcept : of_parent(parents) {}

    registry *const of_parent;  // whom nobody uses any more, or null
    const unsigned generation = platform::fork_generation();
    std::atomic<int> listening{-1};                    // the descriptor
    file_identity listening_as;                        // known before that
    std::atomic<const named_socket *> named{nullptr};  // lives for ever
    std::atomic<numbers_file *> file{nullptr};         // once it is written; lives for ever
    line_allotment lines;
    rest_of_contexts rest;  // for the thread that tells
    std::mutex mutex;       // guards the rest
    stats ended;            // the deeds of contexts without lines that have gone
    std::vector<context *> contexts;
    // By the number of a context, for texts of that alone.
    std::map<std::uint64_t, std::shared_ptr<line_allotment>> lines_of_one;
    const context *looked_at = nullptr;  // by the thread that tells, without the lock
    std::condition_variable was_looked_at;
    bool has_begun = false;
};

/// Shows each context, without the lock: somebody else may make one, or end another, meanwhile. For
/// the thread that tells.
template <class Visitor>
void visit(registry &all, Visitor visitor) {
    std::uint64_t last = 0;
    std::unique_lock lock(all.mutex);
    for (;;) {
        context *next = nullptr;
        for (context *const each : all.contexts)
            if (each->number() > last && (!next || each->number() < next->number()))
                next = each;
        if (!next)
            return;
        last = next->number();
        all.looked_at = next;
        lock.unlock();
        const finally release([&] {
            lock.lock();
            all.looked_at = nullptr;
            all.was_looked_at.notify_all();
        });
        visitor(*next);
    }
}

// ---- What is answered ---------------------------------------------------------------------------

/// Sockets lose their lines until the text is short enough: about as many as stand in what is too
/// much, which is known better the next time.
template <class Look>
std::string within_limit(line_allotment &lines, format how, Look look) {
    for (;;) {
        numbers_of_contexts found;
        look(found);
        std::string text = text_of(found, how);
        if (text.size() <= most_octets_of_text)
            return text;
        const std::size_t too_much = text.size() - most_octets_of_text;
        const std::size_t each = text.size() / std::max<std::size_t>(found.sockets.size(), 1) + 1;
        if (!lines.take_back(too_much / each + 1))
            return text;
    }
}

/// A context that goes meanwhile is in the sum once, because it was looked at, or is missing until
/// the next time.
void look_at_all(registry &all, numbers_of_contexts &to) {
    line sum;
    context_line numbers;
    {
        std::lock_guard guard(all.mutex);
        sum.numbers = all.ended;
    }
    bool is_some_summed = false;
    visit(all, [&](context &each) {
        if (all.lines.admits(each.number())) {
            look_at(each, all.lines, to);
        } else {
            add_to_rest(each, sum, numbers);
            is_some_summed = true;
        }
    });
    if (is_some_summed || all.rest.has_been_shown)
        add_rest(std::move(sum), std::move(numbers), all.rest, to);
}

std::string numbers_as(registry &all, format how) {
    return within_limit(all.lines, how, [&](numbers_of_contexts &to) { look_at_all(all, to); });
}

std::string peers_of(registry &all) {
    std::vector<peers_of_context> found;
    visit(all, [&](context &each) {
        peers_of_context &its = found.emplace_back();
        its.context = std::to_string(each.number());
        its.is_whole = !failed(each.list_all_peers(its.sockets, longest_look));
        its.now = each.clock().now();
    });
    return text_of(std::move(found));
}

std::string answer_to(const http_request &request, registry &all, bool tells_peers) {
    if (request.path == "/healthz")
        return response("200 OK", "text/plain", "ok\n");
    if (request.path == "/peers" && tells_peers)
        return response("200 OK", media_type(format::json), peers_of(all));
    const bool is_json = request.path == "/metrics.json";
    if (!is_json && request.path != "/metrics")
        return refusal("404 Not Found");
    const bool is_open = request.accept.find("application/openmetrics-text") != std::string_view::npos;
    const format how = is_json ? format::json : is_open ? format::open_metrics : format::prometheus;
    return response("200 OK", media_type(how), numbers_as(all, how));
}

// ---- The thread ---------------------------------------------------------------------------------

std::atomic<registry *> current{nullptr};

/// That of this process: a child of fork has its own, since another thread may have held the lock.
registry &contexts() {
    registry *found = current.load(std::memory_order_acquire);
    if (found && found->generation == platform::fork_generation())
        return *found;
    auto made = std::make_unique<registry>(found);
    return current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel) ? *made.release()
                                                                                         : *found;
}

/// The address is the parent's: who starts it again finds it free, although its children live.
void let_go_in_child() noexcept {
    registry *const found = current.load(std::memory_order_acquire);
    if (found && found->generation != platform::fork_generation())
        if (const int number = found->listening.exchange(-1, std::memory_order_relaxed);
            number >= 0 && found->listening_as.is_at(number))
            ::close(number);
}

/// The thread takes no part in the end of the process.
template <class Work>
void start(Work work) {
    platform::stay_loaded();
    const platform::signal_shield shield;
    std::thread([work = std::move(work)] {
        platform::name_this_thread("zlink-metrics");
        work();
    }).detach();
}

/// A socket, or a file. Not that of its parent, in a child.
void remove_what_is_named() noexcept {
    const registry *const found = current.load(std::memory_order_acquire);
    if (!found || found->generation != platform::fork_generation())
        return;
    const named_socket *const socket = found->named.load(std::memory_order_acquire);
    if (socket && socket->owner == ::getpid())
        socket->identity.remove(socket->path.c_str());
    if (numbers_file *const file = found->file.load())
        file->remove();
}

void remove_at_exit(registry &all, const std::string &path) {
    struct stat there {};
    if (::lstat(path.c_str(), &there) != 0)
        return;
    all.named.store(new named_socket{whole_path(path), file_identity(there), ::getpid()},
                    std::memory_order_release);
    (void)std::atexit(remove_what_is_named);
}

void begin_listening(registry &all, const std::string &text, address where) {
    int failure = 0;
    owned_descriptor listening = listen_at(where, failure);
    if (!listening) {
        say("cannot listen at " + text + ": " + describe(failure));
        return;
    }
    (void)platform::in_child_of_fork(let_go_in_child);
    all.listening_as = file_identity(listening.get());
    all.listening.store(listening.get(), std::memory_order_relaxed);
    std::optional<std::vector<std::string>> names;
    if (where.path.empty())
        names = std::move(where.names);
    else
        remove_at_exit(all, where.path);
    const auto made =
        std::make_shared<server>(std::move(listening), std::move(names),
                                 [&all, peers = where.tells_peers](const http_request &request) {
                                     return answer_to(request, all, peers);
                                 });
    try {
        start([made] { made->run(); });
    } catch (const std::exception &) {
        all.listening.store(-1, std::memory_order_relaxed);
        throw;
    }
}

void keep_writing(registry &all, numbers_file &to) noexcept {
    for (int failure = 0;; (void)::poll(nullptr, 0, static_cast<int>(between_texts.count())))
        try {
            (void)to.write(numbers_as(all, format::json), numbers_as(all, format::prometheus), failure);
        } catch (const std::bad_alloc &) {
            // The text before stands, with its time.
        }
}

/// The first text, without the contexts. False where it cannot be written, which is said.
bool begin_file(registry &all, const std::string &text, std::unique_ptr<numbers_file> made) noexcept {
    try {
        int failure = 0;
        const numbers_of_contexts nothing;
        if (!made->write(text_of(nothing, format::json), text_of(nothing, format::prometheus), failure)) {
            say("cannot write " + text + ": " + describe(failure));
            return false;
        }
    } catch (const std::bad_alloc &) {
        say("cannot write " + text + ": " + describe(ENOMEM));
        return false;
    }
    all.file = made.release();
    (void)std::atexit(remove_what_is_named);
    return true;
}

/// Nothing is written on the application's thread, which a signal of a limit would end. It waits
/// for the first text, but not for a disk that hangs.
void begin_writing(registry &all, const std::string &text, const address &where) {
    struct beginning {
        std::string text, path;
        std::promise<void> is_over{};
    };
    const auto shared = std::make_shared<beginning>(beginning{text, whole_path(where.path)});
    auto is_over = shared->is_over.get_future();
    start([&all, shared] {
        const bool has_begun = begin_file(all, shared->text, std::make_unique<numbers_file>(shared->path));
        shared->is_over.set_value();
        if (has_begun)
            keep_writing(all, *all.file.load());
    });
    const platform::cancellation_shield shield;
    (void)is_over.wait_for(longest_beginning);
}

void begin(registry &all) {
    const std::string text = from_environment("ZLINK_METRICS", "");
    if (text.empty())
        return;
    address where;
    std::string why;
    const bool anywhere = from_environment("ZLINK_METRICS_ANY", "") == "1";
    if (!parse(text, ::getpid(), anywhere, where, why)) {
        say("ZLINK_METRICS=" + text + " is ignored: " + why);
        return;
    }
    try {
        if (where.is_file)
            begin_writing(all, text, where);
        else
            begin_listening(all, text, std::move(where));
    } catch (const std::exception &) {
        say("nothing is told at " + text + ": there is no thread for it");
    }
}

/// The lines of a text that is of this context alone. They are kept as long as it is watched.
std::shared_ptr<line_allotment> lines_of_one(context &which) {
    registry &all = contexts();
    std::lock_guard guard(all.mutex);
    if (std::find(all.contexts.begin(), all.contexts.end(), &which) == all.contexts.end())
        return std::make_shared<line_allotment>();
    std::shared_ptr<line_allotment> &kept = all.lines_of_one[which.number()];
    if (!kept)
        kept = std::make_shared<line_allotment>();
    return kept;
}

}  // namespace

void watch(context &which) noexcept {
    try {
        registry &all = contexts();
        std::lock_guard guard(all.mutex);
        all.contexts.push_back(&which);
        if (!std::exchange(all.has_begun, true))
            begin(all);
    } catch (const std::exception &) {
        // There are no numbers of it, then.
    }
}

void forget(context &which) noexcept {
    try {
        registry &all = contexts();
        const platform::cancellation_shield shield;
        std::unique_lock lock(all.mutex);
        if (std::erase(all.contexts, &which) == 0)
            return;
        all.was_looked_at.wait(lock, [&] { return all.looked_at != &which; });
        all.lines_of_one.erase(which.number());
        if (all.lines.is_summed(which.number()))
            all.ended.add(which.get_stats());
        all.lines.forget(which.number());
    } catch (const std::exception &) {
        // Nothing was ever watched.
    }
}

std::string numbers_of(context &which, format how) {
    const std::shared_ptr<line_allotment> lines = lines_of_one(which);
    return within_limit(*lines, how, [&](numbers_of_contexts &to) { look_at(which, *lines, to); });
}

}  // namespace zlink::metrics
