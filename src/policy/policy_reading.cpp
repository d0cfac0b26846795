// A policy read with all the files that it names. See policy_reading.hpp.
//
// Map: the files that are named; keys and users; the whole.
#include "policy/policy_reading.hpp"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy_file.hpp"
#include "policy/users_file.hpp"

namespace zlink {

namespace {

using trusted_file::kind;

// ---- the files that are named ----

/// Whether a file that is changed again will show it: a clock of files stands still for some
/// milliseconds.
bool is_settled(const file_stamp &stamp, std::time_t seconds_now) noexcept {
    constexpr std::time_t seconds = 2;
    return seconds_now - stamp.changed.tv_sec >= seconds;
}

/// One look at the disk.
struct one_look {
    const policy_reading &before;
    std::time_t seconds;
    std::map<std::string, secret> texts;  // those that are read with the policy, or are fresh
    policy_reading::files kept;
    policy_reading::certificates known;
};

bool keep_file(const std::string &path, kind what, one_look &look, std::string &why) {
    policy_reading::kept_file kept;
    if (look.before.kept)
        if (const auto found = look.before.kept->find(path); found != look.before.kept->end())
            kept = found->second;
    auto fresh = std::make_shared<secret>();
    bool is_fresh = false;
    if (!trusted_file::read_if_changed(path, what, trusted_file::most_octets_of_tls, kept.stamp, is_fresh,
                                       *fresh, why))
        return false;
    if (is_fresh)
        kept.octets = std::move(fresh);
    if (!is_settled(kept.stamp, look.seconds))
        kept.stamp = {};
    look.kept.insert_or_assign(path, std::move(kept));
    return true;
}

const policy_reading::known_keys *known_before(const std::string &path, const one_look &look) {
    if (!look.before.known)
        return nullptr;
    const auto found = look.before.known->find(path);
    return found == look.before.known->end() ? nullptr : &found->second;
}

/// The keys of one that has changed are still to be made of its text.
bool keep_certificate(const std::string &path, kind what, one_look &look, std::string &why) {
    policy_reading::known_keys kept;
    if (const auto *const before = known_before(path, look))
        kept = *before;
    secret text;
    bool is_fresh = false;
    if (!trusted_file::read_if_changed(path, what, trusted_file::most_octets, kept.stamp, is_fresh, text,
                                       why))
        return false;
    if (is_fresh) {
        kept.keys = {};
        look.texts.insert_or_assign(path, std::move(text));
    }
    if (!is_settled(kept.stamp, look.seconds))
        kept.stamp = {};
    look.known.insert_or_assign(path, std::move(kept));
    return true;
}

bool look_at_file(const policy_rules::named_file &which, one_look &look, std::string &why) {
    const kind what = which.is_secret ? kind::secret : kind::open;
    switch (which.holds) {
    case policy_rules::content::for_tls:
        return keep_file(which.path, what, look, why);
    case policy_rules::content::curve_keys:
        return keep_certificate(which.path, what, look, why);
    case policy_rules::content::text:
        break;
    }
    return trusted_file::read(which.path, what, look.texts[which.path], why);
}

bool look_at_files(const policy_rules &rules, const std::string &path, one_look &look, std::string &why) {
    for (const auto &each : rules.files) {
        if (look_at_file(each, look, why))
            continue;
        why.insert(0, path + ":" + std::to_string(each.line) + ": ");
        return false;
    }
    return true;
}

// ---- keys and users ----

/// Those that say the same as before stay what they were.
bool make_keys(const std::string &path, const std::string &text, const one_look &look,
               policy_reading::known_keys &out, std::string &why) {
    curve_certificate fresh;
    if (!read_curve_certificate(text, path, fresh, why))
        return false;
    const auto *const before = known_before(path, look);
    out.keys = before && before->keys == fresh ? before->keys : std::move(fresh);
    return true;
}

bool is_fitting(const curve_certificate &keys, const std::string &path, kind what, std::string &why) {
    const bool fits = (what == kind::secret) == !keys.secret_key.empty();
    if (!fits)
        why = path + (what == kind::secret ? " holds no secret-key"
                                           : " holds a secret-key: the public certificate is expected");
    return fits;
}

/// The keys of a certificate that was looked at; null: `why`.
const curve_certificate *keys_of(const std::string &path, kind what, one_look &look, std::string &why) {
    policy_reading::known_keys &kept = look.known.at(path);
    if (kept.keys.public_key.empty() && !make_keys(path, look.texts.at(path), look, kept, why))
        return nullptr;
    return is_fitting(kept.keys, path, what, why) ? &kept.keys : nullptr;
}

/// A client's key, from before where its file is still the same.
bool read_client(const std::string &path, const file_stamp &stamp, const one_look &look,
                 policy_reading::known_keys &out, std::string &why) {
    if (const auto *const before = known_before(path, look);
        before && before->stamp.is_there && before->stamp == stamp) {
        out = *before;
        return is_fitting(out.keys, path, kind::open, why);
    }
    secret text;
    bool is_fresh = false;
    if (!trusted_file::read_if_changed(path, kind::open, trusted_file::most_octets, out.stamp, is_fresh, text,
                                       why) ||
        !make_keys(path, text, look, out, why) || !is_fitting(out.keys, path, kind::open, why))
        return false;
    if (!is_settled(out.stamp, look.seconds))
        out.stamp = {};
    return true;
}

/// Each is named as its file is, without the .key at its end.
bool read_clients_of(policy_entry &entry, one_look &look, std::string &why) {
    constexpr std::string_view ending = ".key";
    if (entry.curve_dir.empty())
        return true;
    std::vector<trusted_file::listed> all;
    if (!trusted_file::list(entry.curve_dir, ending, all, why))
        return false;
    for (auto &[name, stamp] : all) {
        const std::string path = entry.curve_dir + "/" + name;
        name.resize(name.size() - ending.size());
        if (name.empty())
            continue;
        policy_reading::known_keys client;
        if (!read_client(path, stamp, look, client, why))
            return false;
        if (!entry.users.curve_keys.emplace(client.keys.public_key, std::move(name)).second) {
            why = path + " holds the same key as another file there";
            return false;
        }
        look.known.insert_or_assign(path, std::move(client));
    }
    if (entry.users.curve_keys.empty())
        why = "there is no certificate *.key in " + entry.curve_dir;
    return !entry.users.curve_keys.empty();
}

bool read_users_of(policy_entry &entry, const one_look &look, std::string &why) {
    return entry.zap.empty() || read_users(look.texts.at(entry.zap), entry.zap, entry.use, entry.users, why);
}

bool read_keys_of(policy_entry &entry, one_look &look, std::string &why) {
    if (!entry.certificate.empty()) {
        const curve_certificate *const own = keys_of(entry.certificate, kind::secret, look, why);
        if (!own)
            return false;
        entry.own_keys = *own;
    }
    if (!entry.server_certificate.empty()) {
        const curve_certificate *const servers = keys_of(entry.server_certificate, kind::open, look, why);
        if (!servers)
            return false;
        entry.server_key = servers->public_key;
    }
    return true;
}

}  // namespace

// ---- the whole ----

policy_reading read_policy_now(const std::string &path, const policy_reading &before, std::time_t seconds) {
    policy_reading now;
    now.kept = before.kept;
    now.known = before.known;
    secret text;
    if (!trusted_file::read(path, kind::open, text, now.why)) {
        now.why.insert(0, path + ": ");
        return now;
    }
    auto fresh = std::make_shared<policy_rules>();
    one_look look{before, seconds, {}, {}, {}};
    if (!read_policy(text, path, *fresh, now.why) || !look_at_files(*fresh, path, look, now.why))
        return now;
    for (policy_entry &each : fresh->entries)
        if (!read_users_of(each, look, now.why) || !read_clients_of(each, look, now.why) ||
            !read_keys_of(each, look, now.why)) {
            now.why.insert(0, path + ":" + std::to_string(each.line) + ": ");
            return now;
        }
    now.rules = before.rules && *before.rules == *fresh ? before.rules : std::move(fresh);
    now.kept = std::make_shared<policy_reading::files>(std::move(look.kept));
    now.known = std::make_shared<policy_reading::certificates>(std::move(look.known));
    return now;
}

}  // namespace zlink
