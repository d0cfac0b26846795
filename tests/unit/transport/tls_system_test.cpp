// The system's authorities: read once for all endpoints, and again when they have changed.
#ifdef ZLINK_WITH_TLS
#include "transport/tls_system.hpp"

#include <cstdlib>
#include <filesystem>
#include <future>
#include <sys/wait.h>
#include <thread>

#include "certificates.hpp"
#include "transport/tls_context.hpp"

namespace zlink::test {
namespace {

using zlink_test::certificate_directory;
using zlink_test::file_with;
using zlink_test::good;
using zlink_test::identity;

// A variable of the environment while a test runs.
class environment {
public:
    environment(const char *name, const std::string &value) : name_(name) {
        const char *const was = std::getenv(name);
        had_any_ = was;
        was_ = was ? was : "";
        ::setenv(name, value.c_str(), 1);
    }
    ~environment() { had_any_ ? ::setenv(name_, was_.c_str(), 1) : ::unsetenv(name_); }

private:
    const char *const name_;
    bool had_any_;
    std::string was_;
};

std::string directory(const char *name) {
    const auto path = certificate_directory() / name;
    std::filesystem::create_directories(path);
    return path;
}

class system_authorities : public ::testing::Test {
protected:
    struct endpoint {
        std::shared_ptr<const tls_context> context;
        tls_files files;
        X509_STORE *store = nullptr;
    };
    // A password keeps everything else of an endpoint to itself.
    system_authorities() { options.tls_password = "own"; }
    endpoint open() {
        endpoint out;
        EXPECT_EQ(tls_context::make(as, options, "localhost", out.files, out.context), error::none);
        tls_notes notes;
        SSL *const connection = out.context->make_connection(notes);
        out.store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(connection));
        SSL_free(connection);
        return out;
    }
    static int authorities(const endpoint &of) {
        return sk_X509_OBJECT_num(X509_STORE_get0_objects(of.store));
    }

    const std::string file = file_with("system.pem", good().authority.certificate_pem());
    const std::string first = directory("first"), second = directory("second");
    const environment names_file{"SSL_CERT_FILE", file};
    const environment names_directories{"SSL_CERT_DIR", first + "::" + second};
    settings options;
    tls_context::role as = tls_context::role::client;
};

TEST_F(system_authorities, are_the_same_for_all_endpoints_and_threads) {
    const endpoint one = open();
    EXPECT_EQ(authorities(one), 1);
    EXPECT_EQ(open().store, one.store);
    std::thread([&] { EXPECT_EQ(open().store, one.store); }).join();
    options.tls_password = "";  // what clients have in common has them, too
    EXPECT_EQ(open().store, one.store);
    as = tls_context::role::server;
    options.tls_cert = good().cert;
    options.tls_key = good().key;
    options.tls_require_client_cert = true;
    options.tls_trust_system = 1;
    EXPECT_EQ(open().store, one.store);
}

TEST_F(system_authorities, are_copied_where_others_are_trusted_besides) {
    const endpoint one = open();
    const identity other({.name = "other authority", .is_authority = true});
    options.tls_trust_system = 1;
    options.tls_ca = file_with("others.pem", other.certificate_pem() + other.revocation_list({}));
    const endpoint both = open();
    EXPECT_NE(both.store, one.store);
    EXPECT_EQ(authorities(both), 3);
    EXPECT_EQ(authorities(one), 1);
    EXPECT_FALSE(X509_VERIFY_PARAM_get_flags(X509_STORE_get0_param(one.store)) & X509_V_FLAG_CRL_CHECK);
}

TEST_F(system_authorities, are_kept_while_a_context_that_shares_them_is_there) {
    options.tls_password = "";
    std::vector<endpoint> all;
    all.push_back(open());
    all.push_back(open());
    const X509_STORE *const store = all[0].store;
    all.erase(all.begin());
    options.tls_password = "own";
    EXPECT_EQ(open().store, store);
}

TEST_F(system_authorities, are_read_again_when_the_file_or_any_directory_has_changed) {
    endpoint before = open();
    for (const std::string &name :
         {std::string("system.pem"), std::string("first/a.0"), std::string("second/b.0")}) {
        SCOPED_TRACE(name);
        const identity another({.name = name, .is_authority = true});
        EXPECT_FALSE(before.files.have_changed());
        (void)file_with(name, another.certificate_pem());
        EXPECT_TRUE(before.files.have_changed());
        const endpoint after = open();
        EXPECT_NE(after.store, before.store);
        before = after;
    }
}

TEST_F(system_authorities, are_read_from_where_they_are_now) {
    const endpoint one = open();
    const environment elsewhere("SSL_CERT_FILE",
                                file_with("elsewhere.pem", good().authority.certificate_pem()));
    EXPECT_NE(open().store, one.store);
}

TEST_F(system_authorities, are_not_those_of_the_parent_in_a_child_of_fork) {
    const endpoint one = open();
    options.tls_password = "";
    const endpoint shared = open();
    std::promise<void> is_locked, is_over;
    std::thread another([&] {
        X509_STORE_lock(one.store);
        is_locked.set_value();
        is_over.get_future().wait();
        X509_STORE_unlock(one.store);
    });
    is_locked.get_future().wait();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(10);
        const endpoint own = open();
        const bool differs = own.store != one.store;
        options.tls_password = "own";
        ::_exit(differs && open().store == own.store ? 0 : 1);
    }
    is_over.set_value();
    another.join();
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace zlink::test
#endif
