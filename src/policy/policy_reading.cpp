// Map: the files that are named; keys and users; the whole.
#include "policy/policy_reading.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy_file.hpp"
#include "policy/users_file.hpp"

namespace zlink {

namespace {

using trusted_file::kind;

// ---- the files that are named ----

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
    out.insert_or_assign(path, std::move(kept));
    return true;
}

bool look_at_files(const policy_rules &rules, const std::string &path, const policy_reading::files *before,
                   policy_reading::files &out, std::string &why) {
    for (const auto &each : rules.files) {
        const kind what = each.is_secret ? kind::secret : kind::open;
        if (each.is_kept ? keep_file(each.path, what, before, out, why)
                         : trusted_file::check(each.path, what, why))
            continue;
        why.insert(0, path + ":" + std::to_string(each.line) + ": ");
        return false;
    }
    return true;
}

// ---- keys and users ----

bool read_users_of(policy_entry &entry, std::string &why) {
    if (entry.zap.empty())
        return true;
    secret text;
    return trusted_file::read(entry.zap, kind::secret, text, why) &&
           read_users(text, entry.zap, entry.use, entry.users, why);
}

bool read_certificate(const std::string &path, kind what, curve_certificate &out, std::string &why) {
    secret text;
    if (!trusted_file::read(path, what, text, why) || !read_curve_certificate(text, path, out, why))
        return false;
    const bool is_fitting = (what == kind::secret) == !out.secret_key.empty();
    if (!is_fitting)
        why = path + (what == kind::secret ? " holds no secret-key"
                                           : " holds a secret-key: the public certificate is expected");
    return is_fitting;
}

/// Each is named as its file is, without the .key at its end.
bool read_clients_of(policy_entry &entry, std::string &why) {
    constexpr std::string_view ending = ".key";
    if (entry.curve_dir.empty())
        return true;
    std::vector<std::string> names;
    if (!trusted_file::list(entry.curve_dir, names, why))
        return false;
    for (std::string &name : names) {
        const std::string path = entry.curve_dir + "/" + name;
        if (name.size() <= ending.size() || !name.ends_with(ending))
            continue;
        curve_certificate clients;
        if (!read_certificate(path, kind::open, clients, why))
            return false;
        name.resize(name.size() - ending.size());
        if (!entry.users.curve_keys.emplace(std::move(clients.public_key), std::move(name)).second) {
            why = path + " holds the same key as another file there";
            return false;
        }
    }
    if (entry.users.curve_keys.empty())
        why = "there is no certificate *.key in " + entry.curve_dir;
    return !entry.users.curve_keys.empty();
}

bool read_keys_of(policy_entry &entry, std::string &why) {
    if (!entry.certificate.empty() && !read_certificate(entry.certificate, kind::secret, entry.own_keys, why))
        return false;
    curve_certificate servers;
    if (entry.server_certificate.empty())
        return true;
    if (!read_certificate(entry.server_certificate, kind::open, servers, why))
        return false;
    entry.server_key = std::move(servers.public_key);
    return true;
}

}  // namespace

// ---- the whole ----

policy_reading read_policy_now(const std::string &path, const policy_reading &before) {
    policy_reading now;
    now.kept = before.kept;
    secret text;
    if (!trusted_file::read(path, kind::open, text, now.why)) {
        now.why.insert(0, path + ": ");
        return now;
    }
    auto fresh = std::make_shared<policy_rules>();
    auto kept = std::make_shared<policy_reading::files>();
    if (!read_policy(text, path, *fresh, now.why) ||
        !look_at_files(*fresh, path, before.kept.get(), *kept, now.why))
        return now;
    for (policy_entry &each : fresh->entries)
        if (!read_users_of(each, now.why) || !read_clients_of(each, now.why) ||
            !read_keys_of(each, now.why)) {
            now.why.insert(0, path + ":" + std::to_string(each.line) + ": ");
            return now;
        }
    now.rules = before.rules && *before.rules == *fresh ? before.rules : std::move(fresh);
    now.kept = std::move(kept);
    return now;
}

}  // namespace zlink
