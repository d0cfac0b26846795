// Whom the file of a policy lets in, and for how long. The files are real; nobody waits for the
// policy's thread: each judgement looks at them.
#include "policy/policy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <vector>

#ifdef ZLINK_WITH_POLICY

namespace zlink {
namespace {

class policy_with_users : public ::testing::Test {
protected:
    policy_with_users() {
        std::string name = (std::filesystem::temp_directory_path() / "zlink-policy-XXXXXX").string();
        folder_ = std::filesystem::canonical(::mkdtemp(name.data()));
    }
    ~policy_with_users() override { std::filesystem::remove_all(folder_); }

    void say(const std::string &file, const std::string &text) {
        const std::string path = folder_ + "/" + file;
        std::ofstream(path + ".new") << text;
        ASSERT_EQ(::chmod((path + ".new").c_str(), 0600), 0);
        std::filesystem::rename(path + ".new", path);
    }
    void say_entry(const std::string &lines) {
        say("policy.toml", "[[entry]]\nside = \"bind\"\nzap = \"users.toml\"\n" + lines);
    }
    /// Looks at the files, too.
    bool judge() {
        if (!policy_)
            policy_ = std::make_unique<policy>(folder_ + "/policy.toml", [] {});
        endpoint_terms terms;
        std::string why;
        const bool is_granted = policy_->judge(
            {.binds = true, .type = socket_type::pull, .scheme = "tcp", .address = "127.0.0.1:*"}, settings(),
            terms, lasts_, why);
        EXPECT_TRUE(is_granted) << why;
        return is_granted;
    }
    void look() {
        endpoint_terms terms;
        std::shared_ptr<standing> unused;
        std::string why;
        (void)policy_->judge(
            {.binds = true, .type = socket_type::pull, .scheme = "tcp", .address = "127.0.0.1:*"}, settings(),
            terms, unused, why);
    }
    /// The permit that is kept of one that has shown these, and was let in as alice.
    std::shared_ptr<permit> let_in(const std::string &mechanism, const std::vector<std::string> &items) {
        credentials shown{mechanism, {}};
        for (const std::string &each : items)
            shown.items.emplace_back(each);
        verdict out;
        EXPECT_EQ(lasts_->opinion_of(shown, out), opinion::accepts);
        EXPECT_EQ(out.user_id, "alice");
        return out.lasts;
    }
    /// Whether `kept` holds once the users are these.
    bool holds(const std::shared_ptr<permit> &kept, const std::string &users) {
        say("users.toml", users);
        look();
        return !kept->is_revoked();
    }

private:
    std::string folder_;
    std::unique_ptr<policy> policy_;
    std::shared_ptr<standing> lasts_;
};

TEST_F(policy_with_users, keeps_who_has_the_same_name_and_password) {
    say("users.toml", "[users]\nalice = \"secret\"\n");
    say_entry("use = \"plain\"\n");
    ASSERT_TRUE(judge());
    const auto kept = let_in("PLAIN", {"alice", "secret"});
    EXPECT_FALSE(kept->is_revoked());
    EXPECT_TRUE(holds(kept, "[users]\nalice = \"secret\"\nbob = \"secret\"\n"));
    EXPECT_FALSE(holds(kept, "[users]\nalice = \"secrets\"\n"));
    EXPECT_FALSE(holds(kept, "[users]\nbob = \"secret\"\n"));
    EXPECT_TRUE(holds(kept, "[users]\nalice = \"secret\"\n"));
    EXPECT_TRUE(holds(kept, "[users]\n")) << "nobody can tell";
}

#ifdef ZLINK_WITH_TLS
TEST_F(policy_with_users, keeps_who_has_the_same_certificate_and_name) {
    const std::string print = "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99:"
                              "aa:bb:cc:dd:ee:f",
                      octets("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff\x00\x11\x22"
                             "\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
                             32);
    const auto users = [&](const std::string &name, const char last) {
        return "[fingerprints]\n" + name + " = \"" + print + last + "\"\n";
    };
    for (const char *const file : {"cert", "key", "ca"})
        say(file, "it is not looked into");
    say("users.toml", users("alice", 'f'));
    say_entry("use = \"tls\"\ncert = \"cert\"\nkey = \"key\"\nca = \"ca\"\n");
    ASSERT_TRUE(judge());
    const auto kept = let_in("TLS", {octets, "CN=alice"});
    EXPECT_FALSE(kept->is_revoked());
    EXPECT_TRUE(holds(kept, users("alice", 'f') + users("bob", 'e').substr(15)));
    EXPECT_FALSE(holds(kept, users("bob", 'f')));
    EXPECT_FALSE(holds(kept, users("alice", 'e')));
}
#endif

TEST_F(policy_with_users, keeps_nobody_whose_entry_is_gone) {
    say("users.toml", "[users]\nalice = \"secret\"\n");
    say_entry("use = \"plain\"\n");
    ASSERT_TRUE(judge());
    const auto kept = let_in("PLAIN", {"alice", "secret"});
    say("policy.toml", "default = \"clear\"\n");
    look();
    EXPECT_TRUE(kept->is_revoked());
}

}  // namespace
}  // namespace zlink

#endif
