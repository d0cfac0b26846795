// The tables of a file of users; see users_file.hpp. Map: the words of one user; the marks, each of
// which is one user's alone; all.
#include "policy/users_file.hpp"

#ifdef ZLINK_WITH_POLICY

#include "policy/toml_values.hpp"

namespace zlink {

using namespace toml_text;

namespace {

std::string name_of(const item &user) {
    if (user.key.empty() || user.key.size() > 255)
        fail(user.line(), "a name of 1 to 255 octets is expected");
    return std::string(user.key);
}

void read_password(const item &user, policy_users &out) {
    out.passwords[name_of(user)] = std::string_view(text_of(user));
}

/// One or several of those by which a user is known. None may be another's.
template <class Read>
void read_marks(const item &user, Read read, std::map<std::string, std::string, std::less<>> &out) {
    for (std::string &mark : list_of(user, read))
        if (!out.emplace(std::move(mark), name_of(user)).second)
            fail(user.line(), "what " + name_of(user) + " is known by stands there already");
}

void read_table(const item &table, policy_users &out) {
    const toml::table *const users = table.value.as_table();
    const bool is_known = table.key == "users" || table.key == "curve" || table.key == "fingerprints";
    if (!is_known || !users)
        fail(table.line(), "tables [users], [curve] and [fingerprints] are expected, and nothing else");
    for (const auto &[name, value] : *users) {
        const item user{name.str(), value};
        if (table.key == "users")
            read_password(user, out);
        else if (table.key == "curve")
            read_marks(user, curve_key_of, out.curve_keys);
        else
            read_marks(user, fingerprint_of, out.fingerprints);
    }
}

void check_somebody(protection use, const policy_users &users) {
    if (use == protection::plain && users.passwords.empty())
        fail(1, "there is no user with a password in [users]");
    if (use == protection::curve && users.curve_keys.empty())
        fail(1, "there is no user with a key in [curve]");
    if (use == protection::tls && users.fingerprints.empty())
        fail(1, "there is no user with a certificate in [fingerprints]");
}

}  // namespace

bool read_users(const std::string &text, const std::string &path, protection use, policy_users &out,
                std::string &why) {
    return understands(text, path, why, [&](const toml::table &all) {
        for (const auto &[key, value] : all)
            read_table({key.str(), value}, out);
        check_somebody(use, out);
    });
}

}  // namespace zlink

#else

namespace zlink {

bool read_users(const std::string &, const std::string &path, protection, policy_users &, std::string &why) {
    why = path + ": this library is built without policies (WITH_POLICY)";
    return false;
}

}  // namespace zlink

#endif
