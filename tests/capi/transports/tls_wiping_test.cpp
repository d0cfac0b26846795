// Keys and passwords do not stay in memory once the sockets that used them are gone.
//
// Method: a child makes key and password, and hands them over inverted, so that they stand nowhere
//         but where the library puts them. The memory of the process, but for the stack of the main
//         thread, is looked through for the password, for the key's text, and for the end of its
//         secret number as DER has it: the C library writes on the begin of what is freed. OpenSSL
//         has the number the other way round.
#define ZMQ_BUILD_DRAFT_API
#include "certificates.hpp"
#include "memory_search.hpp"
#include "sockets.hpp"

#include <cstring>
#include <fstream>
#include <openssl/core_names.h>
#include <sys/wait.h>
#include <vector>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

using namespace zlink_test;

std::string contents_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Holds what was made for a server, by a child. Of secrets, their inversions.
struct made {
    std::string directory, line, password, number, number_of_rsa;
    std::string path(const char *name) const { return directory + "/" + name; }
};

/// Returns octets of what is secret in the key, from the middle to the end.
std::string secret_of(EVP_PKEY *key, const char *name) {
    BIGNUM *number = nullptr;
    EVP_PKEY_get_bn_param(key, name, &number);
    std::string octets(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
    BN_bn2bin(number, reinterpret_cast<unsigned char *>(octets.data()));
    return octets.substr(octets.size() - 16);
}

void make_files(const std::string &directory) {
    const auto write = [&](const char *name, const std::string &text) {
        std::ofstream(directory + "/" + name, std::ios::binary) << text;
    };
    const identity whom({.name = "localhost"});
    const std::string pem = whom.key_pem(), password = "a password " + pem.substr(60, 20);
    const identity other({.name = "localhost"}, nullptr, rsa_key(2048));
    write("cert", whom.certificate_pem());
    write("key", pem);
    write("locked", whom.key_pem(password.c_str()));
    write("rsa.cert", other.certificate_pem());
    write("rsa.key", other.key_pem());
    write("rsa.locked", other.key_pem(password.c_str()));
    const auto write_older = [&](const char *name, const char *with, const identity &of) {
        std::FILE *const file = std::fopen((directory + "/" + name).c_str(), "w");
        BIO *const out = BIO_new_fp(file, BIO_CLOSE);
        PEM_write_bio_PrivateKey_traditional(out, of.key(), with ? EVP_aes_256_cbc() : nullptr, nullptr, 0,
                                             nullptr, const_cast<char *>(with));
        BIO_free(out);
    };
    write_older("older", nullptr, whom);
    write_older("older.locked", password.c_str(), whom);
    write_older("rsa.older", nullptr, other);
    write_older("rsa.older.locked", password.c_str(), other);
    write("inverted.number", inverted(secret_of(whom.key(), OSSL_PKEY_PARAM_PRIV_KEY)));
    write("inverted.number_of_rsa", inverted(secret_of(other.key(), OSSL_PKEY_PARAM_RSA_FACTOR1)));
    write("inverted.line", inverted(pem.substr(pem.find('\n') + 1, 64)));
    write("inverted.password", inverted(password));
}

class secrets_of_tls : public ::testing::Test {
protected:
    void SetUp() override {
        it.directory = certificate_directory().string();
        const pid_t child = ::fork();
        if (child == 0) {
            make_files(it.directory);
            ::_exit(0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
        it.line = contents_of(it.path("inverted.line"));
        it.password = contents_of(it.path("inverted.password"));
        it.number = contents_of(it.path("inverted.number"));
        it.number_of_rsa = contents_of(it.path("inverted.number_of_rsa"));
        ASSERT_EQ(it.line.size(), 64u);
        ASSERT_EQ(it.number.size() + it.number_of_rsa.size(), 32u);
    }
    /// Sets it, and leaves nothing of it here.
    static void set(void *socket, int option, std::string secret) {
        ASSERT_EQ(zmq_setsockopt(socket, option, secret.data(), secret.size()), 0);
        ::explicit_bzero(secret.data(), secret.size());
    }
    void set_from_file(void *socket, int option, const char *name) {
        std::vector<char> text(8192);
        std::FILE *const file = std::fopen(it.path(name).c_str(), "r");
        ASSERT_NE(file, nullptr);
        std::setvbuf(file, nullptr, _IONBF, 0);
        const std::size_t size = std::fread(text.data(), 1, text.size(), file);
        std::fclose(file);
        ASSERT_EQ(zmq_setsockopt(socket, option, text.data(), size), 0);
        ::explicit_bzero(text.data(), text.size());
    }
    void set_password(void *socket) {
        std::string plain = inverted(it.password);
        ASSERT_EQ(zmq_setsockopt(socket, ZMQ_TLS_PASSWORD, plain.data(), plain.size()), 0);
        ::explicit_bzero(plain.data(), plain.size());
    }
    /// A connection that works, to a server that `equip` has given its key.
    template <class Equip>
    void use(Equip equip) {
        void *const context = zmq_ctx_new();
        void *const server = zmq_socket(context, ZMQ_PULL), *const client = zmq_socket(context, ZMQ_PUSH);
        equip(server);
        const int off = 0;
        ASSERT_EQ(zmq_setsockopt(client, ZMQ_TLS_VERIFY, &off, sizeof off), 0);
        ASSERT_EQ(zmq_bind(server, "tls://127.0.0.1:*"), 0) << zmq_strerror(zmq_errno());
        expect_no_der();  // before others use that memory again
        char where[256], body[8];
        std::size_t size = sizeof where;
        ASSERT_EQ(zmq_getsockopt(server, ZMQ_LAST_ENDPOINT, where, &size), 0);
        ASSERT_EQ(zmq_connect(client, where), 0);
        ASSERT_EQ(zmq_send(client, "hello", 5, 0), 5);
        ASSERT_EQ(zmq_recv(server, body, sizeof body, 0), 5);
        while_used();
        zmq_close(client);
        zmq_close(server);
        zmq_ctx_term(context);
    }
    void while_used() {
        lines_in_use = count_in_memory(it.line);
        passwords_in_use = count_in_memory(it.password);
        expect_no_der();
    }
    void expect_no_der() {
        EXPECT_EQ(count_in_memory(it.number), 0) << "of the number in DER";
        EXPECT_EQ(count_in_memory(it.number_of_rsa), 0) << "of the number in DER";
    }
    void expect_nothing_left() {
        EXPECT_EQ(count_in_memory(it.line), 0) << "of the key's text";
        EXPECT_EQ(count_in_memory(it.password), 0) << "of the password";
        expect_no_der();
    }

    made it;
    int lines_in_use = 0, passwords_in_use = 0;
};

TEST_F(secrets_of_tls, of_a_file_are_gone_with_the_sockets_and_its_text_before) {
    use([&](void *server) {
        set(server, ZMQ_TLS_CERT, it.path("cert"));
        set(server, ZMQ_TLS_KEY, it.path("key"));
    });
    EXPECT_EQ(lines_in_use, 0);
    expect_nothing_left();
}

TEST_F(secrets_of_tls, of_a_locked_file_are_gone_with_the_sockets) {
    use([&](void *server) {
        set(server, ZMQ_TLS_CERT, it.path("cert"));
        set(server, ZMQ_TLS_KEY, it.path("locked"));
        set_password(server);
        set_password(server);
    });
    EXPECT_GT(passwords_in_use, 0) << "the search finds nothing";
    expect_nothing_left();
}

TEST_F(secrets_of_tls, of_files_of_the_older_kind_are_gone_with_the_sockets) {
    for (const char *name : {"older", "older.locked"})
        use([&](void *server) {
            set(server, ZMQ_TLS_CERT, it.path("cert"));
            set(server, ZMQ_TLS_KEY, it.path(name));
            set_password(server);
        });
    expect_nothing_left();
}

TEST_F(secrets_of_tls, of_rsa_are_gone_with_the_sockets) {
    for (const char *name : {"rsa.key", "rsa.locked", "rsa.older", "rsa.older.locked"}) {
        use([&](void *server) {
            set(server, ZMQ_TLS_CERT, it.path("rsa.cert"));
            set(server, ZMQ_TLS_KEY, it.path(name));
            set_password(server);
        });
        expect_nothing_left();
    }
}

TEST_F(secrets_of_tls, that_were_given_as_text_are_gone_with_the_sockets) {
    use([&](void *server) {
        set_from_file(server, ZMQ_WSS_CERT_PEM, "cert");
        set_from_file(server, ZMQ_WSS_KEY_PEM, "key");
        set_from_file(server, ZMQ_WSS_KEY_PEM, "key");
    });
    EXPECT_GT(lines_in_use, 0) << "the search finds nothing";
    expect_nothing_left();
}

}  // namespace

#endif
