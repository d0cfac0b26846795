// Whom the handler of a policy knows. Pure.
#include "policy/users_file.hpp"

#include <gtest/gtest.h>

#ifdef ZLINK_WITH_POLICY

namespace zlink {
namespace {

const std::string key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
                  other_key = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
const std::string print = "AA:bb" + std::string(60, '0');

bool is_read(const std::string &text, protection use, policy_users &out) {
    std::string why;
    const bool is_good = read_users(text, "/u", use, out, why);
    EXPECT_EQ(why.empty(), is_good);
    EXPECT_EQ(why.substr(0, 3), is_good ? "" : "/u:") << why;
    return is_good;
}

TEST(users_file, names_users_by_password_key_and_certificate) {
    policy_users users;
    const std::string text = "[users]\nalice = \"secret\"\n\"b c\" = \"x\"\n[curve]\nalice = \"" + key +
                             "\"\nbob = [\"" + other_key + "\"]\n[fingerprints]\ncarol = \"" + print + "\"\n";
    for (const protection use : {protection::plain, protection::curve, protection::tls}) {
        users = {};
        ASSERT_TRUE(is_read(text, use, users));
    }
    EXPECT_EQ(users.passwords.at("alice"), "secret");
    EXPECT_EQ(users.passwords.at("b c"), "x");
    ASSERT_EQ(users.curve_keys.size(), 2u);
    std::string octets;
    ASSERT_TRUE(read_curve_key(other_key, octets));
    EXPECT_EQ(users.curve_keys.at(octets), "bob");
    EXPECT_EQ(users.fingerprints.at("\xaa\xbb" + std::string(30, '\0')), "carol");
}

TEST(users_file, that_is_not_understood_is_refused) {
    policy_users unused;
    for (const std::string &text : std::vector<std::string>{
             "", "[users]", "alice = \"secret\"", "users = 1", "[users]\nalice = 1", "[users]\nalice = \"\"",
             "[users]\n\"\" = \"a\"", "[users]\na = \"b\"\n[keys]",
             "[users]\na =", "[users]\na = \"b\"\n[curve]\nb = \"c\"",
             "[users]\na = \"b\"\n[fingerprints]\nb = \"c\"", "[users]\na = \"b\"\n[curve]\nb = []",
             "[users]\na = \"b\"\n[curve]\nb = \"" + key + "\"\nc = \"" + key + "\""}) {
        unused = {};
        EXPECT_FALSE(is_read(text, protection::plain, unused)) << text;
    }
}

TEST(users_file, that_has_nobody_for_its_use_is_refused) {
    policy_users unused;
    EXPECT_FALSE(is_read("[users]\na = \"b\"", protection::curve, unused));
    EXPECT_FALSE(is_read("[users]\na = \"b\"", protection::tls, unused));
    unused = {};
    EXPECT_FALSE(is_read("[curve]\na = \"" + key + "\"", protection::plain, unused));
}

}  // namespace
}  // namespace zlink

#endif
