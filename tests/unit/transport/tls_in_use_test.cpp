// Which clients have in common what was made of their options and files.
#ifdef ZLINK_WITH_TLS
#include "transport/tls_in_use.hpp"

#include <functional>
#include <thread>

#include "certificates.hpp"
#include "transport/tls_context.hpp"

namespace zlink::test {
namespace {

using zlink_test::file_with;
using zlink_test::good;

class tls_in_use_by_clients : public ::testing::Test {
protected:
    struct client {
        std::shared_ptr<const tls_context> context;
        tls_files files;
        const SSL_CTX *made = nullptr;
    };
    tls_in_use_by_clients() {
        options.tls_ca = good().ca;
        options.tls_cert = file_with("own.pem", good().server.certificate_pem());
        options.tls_key = file_with("own.key", good().server.key_pem());
    }
    client open(const std::string &peer = "localhost", tls_context::role as = tls_context::role::client) {
        client out;
        EXPECT_EQ(tls_context::make(as, options, peer, out.files, out.context), error::none);
        tls_notes notes;
        SSL *const connection = out.context->make_connection(notes);
        out.made = SSL_get_SSL_CTX(connection);
        SSL_free(connection);
        return out;
    }
    settings options;
};

TEST_F(tls_in_use_by_clients, is_the_same_for_the_same_whomever_they_talk_to) {
    const client first = open();
    EXPECT_EQ(open().made, first.made);
    EXPECT_EQ(open("127.0.0.1").made, first.made);
    EXPECT_NE(open().context, first.context) << "tickets are for one endpoint";
    EXPECT_NE(open("", tls_context::role::server).made, first.made);
    EXPECT_NE(open("", tls_context::role::server).made, open("", tls_context::role::server).made);
}

TEST_F(tls_in_use_by_clients, is_kept_by_nobody_else) {
    client first = open();
    const std::string key = tls_in_use::key_of(options);
    EXPECT_TRUE(tls_in_use::here()->find(key, first.files));
    first.context.reset();
    EXPECT_FALSE(tls_in_use::here()->find(key, first.files));
    EXPECT_TRUE(open().made);
}

TEST_F(tls_in_use_by_clients, differs_where_anything_does_that_it_is_made_of) {
    const std::function<void(settings &)> differences[] = {
        [](settings &s) { s.tls_verify = false; },     [](settings &s) { s.tls_cert = s.tls_key = ""; },
        [](settings &s) { s.tls_ca = good().cert; },   [](settings &s) { s.tls_trust_system = 1; },
        [](settings &s) { s.tls_cert = good().cert; },  // the same in another place
        [](settings &s) { s.tls_groups = "P-256"; },
    };
    std::vector<client> all;
    all.push_back(open());
    for (const auto &make_different : differences) {
        const settings before = options;
        make_different(options);
        all.push_back(open());
        EXPECT_EQ(open().made, all.back().made);
        options = before;
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            EXPECT_NE(all[i].made, all[k].made) << i << " and " << k;
    EXPECT_EQ(open().made, all[0].made);
}

TEST_F(tls_in_use_by_clients, is_not_for_who_has_a_password) {
    options.tls_password = "it would stay here";
    const client first = open();
    EXPECT_NE(open().made, first.made);
}

TEST_F(tls_in_use_by_clients, is_made_anew_when_a_file_has_changed) {
    const client before = open();
    (void)file_with("own.pem", good().server.certificate_pem() + "and a line\n");
    const client after = open();
    EXPECT_NE(after.made, before.made);
    EXPECT_EQ(open().made, after.made);
    EXPECT_FALSE(open().files.have_changed()) << "what it is made of is watched";
    (void)file_with("own.key", "this is none");
    EXPECT_TRUE(after.files.have_changed());
    client none;
    EXPECT_EQ(tls_context::make(tls_context::role::client, options, "localhost", none.files, none.context),
              error::invalid);
}

TEST_F(tls_in_use_by_clients, is_a_matter_of_one_thread) {
    const client first = open();
    std::thread([&] { EXPECT_NE(open().made, first.made); }).join();
}

}  // namespace
}  // namespace zlink::test
#endif
