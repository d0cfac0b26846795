// The policy that a process is under, as its file has it now. See policy.hpp.
//
// Map: the state, which the thread shares; who was let in; what was granted; the policy.
#include "policy/policy.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/keyed_hash.hpp"
#include "core/platform.hpp"
#include "policy/match.hpp"
#include "policy/policy_reading.hpp"

namespace zlink {

namespace {

constexpr std::chrono::seconds between_looks{1};

using rules_ptr = std::shared_ptr<const policy_rules>;

}  // namespace

// ---- the state ----

struct policy::state final : kept_files {
    explicit state(std::string where, std::function<void()> call)
        : path(std::move(where)), hash(fresh_hash()), on_change(std::move(call)) {}

    /// The rules that count now.
    struct view {
        unsigned long edition;
        rules_ptr rules;
        std::string why;
    };
    view current() {
        const std::lock_guard guard(mutex);
        return {edition, rules, why};
    }
    rules_ptr current_rules() noexcept {
        const std::lock_guard guard(mutex);
        return rules;
    }

    /// The text of a file for TLS. Nothing from before stays in memory for that.
    std::shared_ptr<const secret> find(const std::string &file) const noexcept override {
        const std::lock_guard guard(mutex);
        if (!kept)
            return nullptr;
        const auto found = kept->find(file);
        return found == kept->end() ? nullptr : found->second.octets;
    }

    /// True when something else counts from now on.
    bool look() {
        const std::lock_guard only_one(looking);
        policy_reading now;
        try {
            now = read_policy_now(path, last, std::time(nullptr));
        } catch (const std::bad_alloc &) {
            now.kept = last.kept;  // there may be no memory for words
            now.known = last.known;
        }
        last = std::move(now);
        const std::lock_guard guard(mutex);
        const bool has_changed = edition == 0 || rules != last.rules;
        rules = last.rules;
        kept = last.kept;
        why = std::move(last.why);  // nothing may fail between the rules and their number
        if (has_changed)
            ++edition;
        return has_changed;
    }

    /// Whoever still holds this needs no keys any more.
    void forget() noexcept {
        const std::lock_guard only_one(looking);
        last = {};
        const std::lock_guard guard(mutex);
        rules.reset();
        kept.reset();
    }

    void announce_once(const policy_rules &which) {
        if (which.announces && !has_announced.exchange(true))
            std::fprintf(stderr, "zlink: the policy %s is in force: %zu entries, others are %s\n",
                         path.c_str(), which.entries.size(), which.clears_others ? "clear" : "refused");
    }

    const std::string path;
    const keyed_hash hash;  // by which a password that was changed is known

    std::atomic<bool> has_announced{false};

    std::mutex looking;  // held by who looks at the files; guards the next
    policy_reading last;

    mutable std::mutex mutex;  // guards the rest
    std::condition_variable news;
    unsigned long edition = 0;
    rules_ptr rules;
    std::shared_ptr<const policy_reading::files> kept;
    std::string why;
    enum class phase : std::uint8_t { not_begun, going_on, over };
    phase watching = phase::not_begun;  // by a thread
    std::mutex calling;                 // held while on_change runs
    std::function<void()> on_change;

    static keyed_hash fresh_hash() {
        const std::unique_ptr<random_source> random = platform::make_random_source();
        if (!random)
            throw std::bad_alloc();
        return keyed_hash(*random);
    }
    static void watch(const std::shared_ptr<state> &shared) noexcept;
};

/// A disk that does not answer keeps this thread, and nobody else.
void policy::state::watch(const std::shared_ptr<state> &shared) noexcept {
    for (;;) {
        {
            std::unique_lock lock(shared->mutex);
            if (shared->news.wait_for(lock, between_looks, [&] { return shared->watching == phase::over; }))
                break;
        }
        if (!shared->look())
            continue;
        const std::lock_guard guard(shared->calling);
        if (shared->on_change)
            shared->on_change();
    }
    shared->forget();
}

namespace {

/// Does zlink::judge(); TLS gets its files from what was read.
bool judge_by(const std::shared_ptr<const kept_files> &files, const policy_rules &rules,
              const endpoint_request &what, const settings &program, endpoint_terms &out, std::string &why,
              int &line) {
    if (!zlink::judge(rules, what, program, out, why, line))
        return false;
    if (out.is_inside_tls)
        out.options.tls_kept = files;
    return true;
}

}  // namespace

// ---- who was let in ----

namespace {

using marks = std::map<std::string, std::string, std::less<>>;

const marks &marks_of(const policy_users &users, std::string_view mechanism) noexcept {
    return mechanism == "CURVE" ? users.curve_keys : users.fingerprints;
}

/// Null where nobody is known by that.
const std::string *name_of(const marks &all, std::string_view mark) noexcept {
    const auto found = all.find(mark);
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace

/// It keeps how a user is known, but of a password a hash.
class policy::admitted final : public permit {
public:
    admitted(std::shared_ptr<state> by, const endpoint_request &where, const credentials &shown,
             const std::string &user)
        : by_(std::move(by)), where_(where), mechanism_(shown.mechanism), user_(user),
          mark_(is_by_password() ? std::string() : std::string(shown.items.front())),
          hash_of_password_(is_by_password() ? by_->hash(shown.items[1]) : 0) {}

    bool is_revoked() noexcept override {
        const rules_ptr rules = by_->current_rules();
        if (!rules)
            return false;
        try {
            const policy_entry *const entry = first_match(*rules, where_);
            return !entry || !is_known_to(entry->users);
        } catch (const std::bad_alloc &) {
            return true;  // as of the endpoint, below
        }
    }

private:
    bool is_by_password() const noexcept { return mechanism_ == "PLAIN"; }

    bool is_known_to(const policy_users &users) const {
        if (is_by_password()) {
            const auto found = users.passwords.find(user_);
            return found != users.passwords.end() && by_->hash(found->second) == hash_of_password_;
        }
        const std::string *const name = name_of(marks_of(users, mechanism_), mark_);
        return name && *name == user_;
    }

    const std::shared_ptr<state> by_;
    const endpoint_request where_;
    const std::string mechanism_;
    const std::string user_;
    const std::string mark_;  // a key, or a fingerprint
    const std::size_t hash_of_password_;
};

// ---- what was granted ----

class policy::lasting final : public standing {
public:
    lasting(std::shared_ptr<state> by, unsigned long edition, endpoint_request what, settings program,
            endpoint_terms granted)
        : by_(std::move(by)), what_(std::move(what)), program_(std::move(program)),
          granted_(std::move(granted)), edition_(edition) {}

    bool holds(std::string &why) noexcept override {
        try {
            const std::lock_guard guard(mutex_);
            look();
            if (words_.empty())
                return true;
            why = words_;
        } catch (const std::bad_alloc &) {
            // It is not known that it holds.
        }
        return false;
    }

    bool is_revoked() noexcept override {
        try {
            const std::lock_guard guard(mutex_);
            look();
            return is_usable_ && !words_.empty();
        } catch (const std::bad_alloc &) {
            return true;  // it is asked once for each change; a connection that may stay comes back
        }
    }

    opinion opinion_of(const credentials &shown, verdict &out) noexcept override {
        if (shown.mechanism != granted_.judged_mechanism)
            return opinion::none;
        try {
            const rules_ptr rules = by_->current_rules();
            if (!rules)
                return opinion::cannot_tell;
            const policy_entry *const entry = first_match(*rules, what_);
            if (!entry || !knows(entry->users, shown, out.user_id))
                return opinion::refuses;
            out.lasts = std::make_shared<admitted>(by_, what_, shown, out.user_id);
            return opinion::accepts;
        } catch (const std::bad_alloc &) {
            return opinion::cannot_tell;
        }
    }

private:
    static bool knows(const policy_users &users, const credentials &shown, std::string &user_id) {
        if (shown.items.empty())
            return false;
        const std::string &proof = shown.items.front();
        if (shown.mechanism == "PLAIN") {
            const auto found = users.passwords.find(proof);
            user_id = proof;
            return shown.items.size() == 2 && found != users.passwords.end() &&
                   is_same(found->second, shown.items[1]);
        }
        const std::string *const name = name_of(marks_of(users, shown.mechanism), proof);
        if (name)
            user_id = *name;
        return name != nullptr;
    }

    /// In a time that tells nothing of how much of it is right.
    static bool is_same(std::string_view right, std::string_view given) noexcept {
        unsigned difference = right.size() != given.size();
        for (std::size_t i = 0; i < given.size(); ++i)
            difference |=
                static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(right[i % right.size()]);
        return difference == 0;
    }

    void look() {
        const state::view now = by_->current();
        if (now.edition == edition_)
            return;
        words_ = now.rules ? words_of_change(*now.rules) : "the policy cannot be used: " + now.why;
        is_usable_ = now.rules != nullptr;
        edition_ = now.edition;
    }

    std::string words_of_change(const policy_rules &rules) const {
        endpoint_terms terms;
        std::string why;
        int line = 0;
        if (!judge_by(by_, rules, what_, program_, terms, why, line))
            return "the policy has changed: " + why;
        return terms == granted_ ? std::string()
                                 : "the policy has changed for " + what_.endpoint() +
                                       ", which has to be bound or connected again";
    }

    const std::shared_ptr<state> by_;
    const endpoint_request what_;
    const settings program_;
    const endpoint_terms granted_;
    std::mutex mutex_;  // guards the rest
    unsigned long edition_;
    std::string words_;  // why it does not hold; empty: it does
    bool is_usable_ = true;
};

// ---- the policy ----

policy::policy(std::string path, std::function<void()> on_change)
    : state_(std::make_shared<state>(std::move(path), std::move(on_change))) {}

policy::~policy() {
    {
        const std::lock_guard guard(state_->calling);
        state_->on_change = nullptr;
    }
    const std::lock_guard guard(state_->mutex);
    state_->watching = state::phase::over;
    state_->news.notify_all();
}

bool policy::judge(const endpoint_request &what, const settings &program, endpoint_terms &out,
                   std::shared_ptr<standing> &lasts, std::string &why) {
    if (state_->look()) {
        const std::lock_guard guard(state_->calling);
        if (state_->on_change)
            state_->on_change();
    }
    const state::view now = state_->current();
    if (!now.rules) {
        why = now.why;
        return false;
    }
    state_->announce_once(*now.rules);
    int line = 0;
    if (!judge_by(state_, *now.rules, what, program, out, why, line)) {
        why.insert(0, state_->path + (line > 0 ? ":" + std::to_string(line) : "") + ": ");
        return false;
    }
    lasts = std::make_shared<lasting>(state_, now.edition, what, program, out);
    const std::lock_guard guard(state_->mutex);
    if (state_->watching == state::phase::not_begun) {
        platform::stay_loaded();
        const platform::signal_shield shield;
        std::thread([shared = state_] {
            platform::name_this_thread("ZMQbg/policy");
            state::watch(shared);
        }).detach();
        state_->watching = state::phase::going_on;
    }
    return true;
}

bool policy::is_usable(const std::string &path, std::string &why) {
    policy_reading now = read_policy_now(path, {}, std::time(nullptr));
    why = std::move(now.why);
    return now.rules != nullptr;
}

}  // namespace zlink
