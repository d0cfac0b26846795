// The files that the options of TLS name: certificate, key, and authorities.
//
// Text:     what would stand in a file may be given instead of its path: settings::is_pem() tells
//           which it is.
// Kept:     files may come from somebody who has read them (core/kept_files.hpp). Then nothing here
//           waits for a disk.
// Change:   each file is known by what the system says of it, from before it was read; one that is
//           kept by what stands in it.
// Errors:   what cannot be used is `invalid`, and the reason is left (core/reason.hpp); short
//           memory and descriptors are what they are.
// Threads:  any.
#pragma once

#include <ctime>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file_stamp.hpp"
#include "core/kept_files.hpp"
#include "transport/tls_resumption.hpp"

namespace zlink {

class tls_files {
public:
    /// `kept`: null where the files are on the disk.
    explicit tls_files(std::shared_ptr<const kept_files> kept = nullptr) noexcept : kept_(std::move(kept)) {}

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
    struct watched {
        std::string path;
        file_stamp was;
        std::weak_ptr<const secret> kept;  // it need not stay for that
    };
    static file_stamp look_at(const std::string &path) noexcept;
    bool has_changed(const watched &which) const noexcept;
    void watch(watched which) {
        if (!watched_)
            watched_ = std::make_shared<std::vector<watched>>();
        watched_->push_back(std::move(which));
    }
    error read(const std::string &path, std::string &out);
    error read_kept(const std::string &path, std::string &out);
    error read_file(const std::string &path, std::string &out);

    std::shared_ptr<const kept_files> kept_;
    // They are for copies, too, which are made when all is read.
    std::shared_ptr<std::vector<watched>> watched_;
    std::time_t lists_end_ = resumption_limit::none;
};

}  // namespace zlink
