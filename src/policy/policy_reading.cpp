// A policy read with all the files that it names. See policy_reading.hpp.
//
// Map: the files that are named; keys and users; the whole.
#include "policy/policy_reading.hpp"

#include <ctime>
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
bool is_settled(const file_stamp &stamp) noexcept {
    constexpr std::time_t seconds = 2;
    return std::time(nullptr) - stamp.changed.tv_sec >= seconds;
}

bool keep_file(const std::string &path, kind what, const policy_reading::files *before,
               policy_reading::files &out, std::string &why) {
    policy_reading::kept_file kept;
    if (before)
        if (const auto found = before->find(path); found != before->end())
            kept = found->second;
    auto fresh = std::make_shared<secret>();
    bool is_fresh = false;
    if (!trusted_file::read_if_changed(path, what, trusted_file::most_octets_of_tls, kept.stamp, is_fresh,
                                       *fresh, why))
        return false;
    if (is_fresh)
        kept.octets = std::move(fresh);
    if (!is_settled(kept.stamp))
        kept.stamp = {};
    out.insert_or_assign(path, std::move(kept));
    return true;
}

/// Those that are read with the policy, by path.
using texts = std::map<std::string, secret>;

bool look_at_files(const policy_rules &rules, const std::string &path, const policy_reading::files *before,
                   policy_reading::files &kept, texts &read, std::string &why) {
    for (const auto &each : rules.files) {
        const kind what = each.is_secret ? kind::secret : kind::open;
        const bool is_good = each.is_kept ? keep_file(each.path, what, before, kept, why)
                                          : trusted_file::read(each.path, what, read[each.path], why);
        if (is_good)
            continue;
        why.insert(0, path + ":" + std::to_string(each.line) + ": ");
        return false;
    }
    return true;
}

// ---- keys and users ----

bool understand_certificate(const std::string &text, const std::string &path, kind what,
                            curve_certificate &out, std::string &why) {
    if (!read_curve_certificate(text, path, out, why))
        return false;
    const bool is_fitting = (what == kind::secret) == !out.secret_key.empty();
    if (!is_fitting)
        why = path + (what == kind::secret ? " holds no secret-key"
                                           : " holds a secret-key: the public certificate is expected");
    return is_fitting;
}

/// A client's key, from before where its file is still the same.
bool read_client(const std::string &path, const file_stamp &stamp, const policy_reading::keys &before,
                 policy_reading::known_key &out, std::string &why) {
    if (const auto found = before.find(path);
        found != before.end() && found->second.stamp.is_there && found->second.stamp == stamp) {
        out = found->second;
        return true;
    }
    secret text;
    bool is_fresh = false;
    curve_certificate read;
    if (!trusted_file::read_if_changed(path, kind::open, trusted_file::most_octets, out.stamp, is_fresh, text,
                                       why) ||
        !understand_certificate(text, path, kind::open, read, why))
        return false;
    if (!is_settled(out.stamp))
        out.stamp = {};
    out.key = std::move(read.public_key);
    return true;
}

/// Each is named as its file is, without the .key at its end.
bool read_clients_of(policy_entry &entry, const policy_reading::keys &before, policy_reading::keys &known,
                     std::string &why) {
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
        policy_reading::known_key client;
        if (!read_client(path, stamp, before, client, why))
            return false;
        if (!entry.users.curve_keys.emplace(client.key, std::move(name)).second) {
            why = path + " holds the same key as another file there";
            return false;
        }
        known.insert_or_assign(path, std::move(client));
    }
    if (entry.users.curve_keys.empty())
        why = "there is no certificate *.key in " + entry.curve_dir;
    return !entry.users.curve_keys.empty();
}

bool read_users_of(policy_entry &entry, const texts &read, std::string &why) {
    return entry.zap.empty() || read_users(read.at(entry.zap), entry.zap, entry.use, entry.users, why);
}

bool read_keys_of(policy_entry &entry, const texts &read, std::string &why) {
    const std::string &own = entry.certificate, &of_server = entry.server_certificate;
    if (!own.empty() && !understand_certificate(read.at(own), own, kind::secret, entry.own_keys, why))
        return false;
    curve_certificate servers;
    if (of_server.empty())
        return true;
    if (!understand_certificate(read.at(of_server), of_server, kind::open, servers, why))
        return false;
    entry.server_key = std::move(servers.public_key);
    return true;
}

}  // namespace

// ---- the whole ----

policy_reading read_policy_now(const std::string &path, const policy_reading &before) {
    policy_reading now;
    now.kept = before.kept;
    now.known = before.known;
    secret text;
    if (!trusted_file::read(path, kind::open, text, now.why)) {
        now.why.insert(0, path + ": ");
        return now;
    }
    auto fresh = std::make_shared<policy_rules>();
    auto kept = std::make_shared<policy_reading::files>();
    auto known = std::make_shared<policy_reading::keys>();
    const policy_reading::keys no_keys;
    texts read;
    if (!read_policy(text, path, *fresh, now.why) ||
        !look_at_files(*fresh, path, before.kept.get(), *kept, read, now.why))
        return now;
    for (policy_entry &each : fresh->entries)
        if (!read_users_of(each, read, now.why) ||
            !read_clients_of(each, before.known ? *before.known : no_keys, *known, now.why) ||
            !read_keys_of(each, read, now.why)) {
            now.why.insert(0, path + ":" + std::to_string(each.line) + ": ");
            return now;
        }
    now.rules = before.rules && *before.rules == *fresh ? before.rules : std::move(fresh);
    now.kept = std::move(kept);
    now.known = std::move(known);
    return now;
}

}  // namespace zlink
