// The files that the options of TLS name: certificate, key, and authorities.
//
// Text:     what would stand in a file may be given instead of its path: settings::is_pem() tells which it is.
// Change:   each file is known by what the system says of it, from before it was read.
// Errors:   what cannot be used is `invalid`, and the reason is left (core/reason.hpp); short memory and descriptors are what they are.
// Threads:  any.
#pragma once

#include <ctime>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/error.hpp"
#include "transport/tls_resumption.hpp"

namespace zlink {

class tls_files {
public:
    /// The certificate in a file and those that stand behind it, and the key of that one.
    error load_own(SSL_CTX *into, const std::string &cert, const std::string &key,
                   const std::string &password);
    /// Whom to trust, and the revocation lists that stand beside: where there are any, they count.
    error load_authorities(SSL_CTX *into, const std::string &given);

    /// When the first of the revocation lists runs out.
    std::time_t lists_end() const noexcept { return lists_end_; }

    /// Notes the system's authorities, which OpenSSL reads itself.
    void watch_system();
    /// Watches the files of `others`, too.
    void watch_too(const tls_files &others);
    /// Whether a file is another now. Looks at each, opens none.
    bool have_changed() const noexcept;

private:
    struct stamp {
        bool is_there = false;
        dev_t device = 0;
        ino_t node = 0;
        off_t size = 0;
        std::timespec written{}, changed{};

        bool operator==(const stamp &other) const noexcept;
    };
    struct watched {
        std::string path;
        stamp was;
    };
    static stamp look_at(const std::string &path) noexcept;
    void watch(const std::string &path) {
        if (!watched_)
            watched_ = std::make_shared<std::vector<watched>>();
        watched_->push_back({path, look_at(path)});
    }
    error read(const std::string &path, std::string &out);
    error read_file(const std::string &path, std::string &out);

    std::shared_ptr<std::vector<watched>> watched_;  // the same for copies, which are made when all is read
    std::time_t lists_end_ = resumption_limit::none;
};

}  // namespace zlink
