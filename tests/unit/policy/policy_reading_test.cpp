// The files that a policy reads anew when it is looked at again. They are real; the system
// tells who has read them (inotify).
#include "policy/policy_reading.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/owned_descriptor.hpp"

#if defined(ZLINK_WITH_POLICY) && defined(ZLINK_WITH_CURVE)

namespace zlink {
namespace {

// The pairs of zmq_curve(7).
const std::string server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
                  server_secret = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6",
                  client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
                  client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";

std::string certificate(const std::string &of_public, const std::string &of_secret = "") {
    return "curve\n    public-key = \"" + of_public + "\"\n" +
           (of_secret.empty() ? "" : "    secret-key = \"" + of_secret + "\"\n");
}

class policy_on_disk : public ::testing::Test {
protected:
    policy_on_disk() : watcher_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        std::string name = (std::filesystem::temp_directory_path() / "zlink-policy-XXXXXX").string();
        folder_ = std::filesystem::canonical(::mkdtemp(name.data()));
    }
    ~policy_on_disk() override { std::filesystem::remove_all(folder_); }

    std::string in_folder(const std::string &file) const { return folder_ + "/" + file; }
    void say(const std::string &file, const std::string &text) {
        std::ofstream(in_folder(file) + ".new") << text;
        ASSERT_EQ(::chmod((in_folder(file) + ".new").c_str(), 0600), 0);
        std::filesystem::rename(in_folder(file) + ".new", in_folder(file));
    }
    void say_server() {
        say("policy.toml", "[[entry]]\nscheme = \"tcp\"\nside = \"bind\"\nuse = \"curve\"\n"
                           "certificate = \"server.key_secret\"\ncurve_dir = \"clients\"\n");
        std::filesystem::create_directory(in_folder("clients"));
        say("clients/alice.key", certificate(client_public));
        say("server.key_secret", certificate(server_public, server_secret));
    }
    void say_client() {
        say("policy.toml", "[[entry]]\nscheme = \"tcp\"\nside = \"connect\"\nuse = \"curve\"\n"
                           "certificate = \"alice.key_secret\"\nserver_certificate = \"server.key\"\n");
        say("alice.key_secret", certificate(client_public, client_secret));
        say("server.key", certificate(server_public));
    }
    void count_reads_of(const std::string &file) {
        ASSERT_GE(::inotify_add_watch(watcher_.get(), in_folder(file).c_str(), IN_ACCESS), 0);
    }
    /// Whether any of them was read since the last call.
    bool was_read() const {
        char events[4096];
        bool was = false;
        while (::read(watcher_.get(), events, sizeof events) > 0)
            was = true;
        return was;
    }
    /// A look at the disk when what was just written has been there for a minute.
    policy_reading look(const policy_reading &before) const {
        return look_at(before, std::time(nullptr) + 60);
    }
    policy_reading look_at(const policy_reading &before, std::time_t seconds) const {
        policy_reading now = read_policy_now(in_folder("policy.toml"), before, seconds);
        EXPECT_TRUE(now.rules) << now.why;
        return now;
    }
    /// The page that a secret key stands on, as the rules have it.
    static const char *place_of_key(const policy_reading &of) {
        return std::string_view(of.rules->entries.at(0).own_keys.secret_key).data();
    }
    static const char *known_place(const policy_reading &of, const std::string &path) {
        return std::string_view(of.known->at(path).keys.secret_key).data();
    }

private:
    owned_descriptor watcher_;
    std::string folder_;
};

TEST_F(policy_on_disk, makes_the_keys_of_a_server_once_while_its_certificates_stay) {
    say_server();
    count_reads_of("server.key_secret");
    count_reads_of("clients/alice.key");
    const policy_reading first = look({});
    EXPECT_TRUE(was_read());
    policy_reading last = first;
    for (int i = 0; i < 3; ++i) {
        last = look(last);
        EXPECT_FALSE(was_read());
        EXPECT_EQ(last.rules, first.rules);
        EXPECT_EQ(known_place(last, in_folder("server.key_secret")), place_of_key(first));
    }
}

TEST_F(policy_on_disk, makes_the_keys_of_a_client_once_while_its_certificates_stay) {
    say_client();
    const policy_reading first = look({});
    EXPECT_EQ(first.rules->entries.at(0).server_key.size(), 32u);
    count_reads_of("alice.key_secret");
    count_reads_of("server.key");
    const policy_reading second = look(first);
    EXPECT_FALSE(was_read());
    EXPECT_EQ(second.rules, first.rules);
}

TEST_F(policy_on_disk, keeps_keys_where_the_policy_alone_has_changed) {
    say_client();
    const policy_reading first = look({});
    count_reads_of("alice.key_secret");
    say("policy.toml",
        "[[entry]]\nscheme = \"tcp\"\nside = \"connect\"\nuse = \"curve\"\nhost = \"example.org\"\n"
        "certificate = \"alice.key_secret\"\nserver_certificate = \"server.key\"\n");
    const policy_reading second = look(first);
    EXPECT_NE(second.rules, first.rules);
    EXPECT_FALSE(was_read());
    EXPECT_EQ(place_of_key(second), place_of_key(first));
}

TEST_F(policy_on_disk, takes_the_keys_of_a_certificate_that_was_changed) {
    say_server();
    const policy_reading first = look({});
    say("server.key_secret", certificate(client_public, client_secret));
    say("clients/alice.key", certificate(server_public));
    const policy_reading second = look(first);
    EXPECT_NE(second.rules, first.rules);
    const policy_entry &before = first.rules->entries.at(0), &now = second.rules->entries.at(0);
    EXPECT_NE(now.own_keys.public_key, before.own_keys.public_key);
    EXPECT_EQ(now.own_keys.public_key, before.users.curve_keys.begin()->first);
    EXPECT_EQ(now.users.curve_keys.begin()->first, before.own_keys.public_key);
}

/// Another change might not show, as long as the clock of files may have stood still since.
TEST_F(policy_on_disk, reads_a_certificate_of_just_now_again_and_keeps_its_key) {
    say_server();
    count_reads_of("server.key_secret");
    const policy_reading first = look_at({}, std::time(nullptr) - 60);
    ASSERT_TRUE(was_read());
    const policy_reading second = look_at(first, std::time(nullptr) - 60);
    EXPECT_TRUE(was_read());
    EXPECT_EQ(second.rules, first.rules);
    EXPECT_EQ(known_place(second, in_folder("server.key_secret")), place_of_key(first));
}

TEST_F(policy_on_disk, refuses_a_certificate_that_others_may_read_by_now) {
    say_server();
    const policy_reading first = look({});
    ASSERT_EQ(::chmod(in_folder("server.key_secret").c_str(), 0644), 0);
    const policy_reading second = read_policy_now(in_folder("policy.toml"), first, std::time(nullptr) + 60);
    EXPECT_FALSE(second.rules);
    EXPECT_EQ(second.why, in_folder("policy.toml") + ":5: " + in_folder("server.key_secret") +
                              " holds a secret, and may be read by others");
}

TEST_F(policy_on_disk, refuses_a_secret_certificate_among_those_of_clients_that_it_knows_already) {
    say_server();
    const policy_reading first = look({});
    std::filesystem::create_hard_link(in_folder("server.key_secret"), in_folder("clients/server.key"));
    const policy_reading second = read_policy_now(in_folder("policy.toml"), first, std::time(nullptr) + 60);
    EXPECT_FALSE(second.rules);
    EXPECT_EQ(second.why, in_folder("policy.toml") + ":1: " + in_folder("clients/server.key") +
                              " holds a secret-key: the public certificate is expected");
}

}  // namespace
}  // namespace zlink

#endif
