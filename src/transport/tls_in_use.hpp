// The contexts that OpenSSL has made of options and files, for all clients of a thread that have
// the same: most of what a connection costs that has nothing to do.
//
// Change:   of a file ends it for those that come later; with the last connection it goes.
// Left out: who has a password, or a key that is not in a file: they would stay here.
// Threads:  each has its own, so that there is no lock that a fork could find taken.
// Fork:     a child makes its own: other threads of the parent may have held the locks of OpenSSL's
//           inside.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/platform.hpp"
#include "core/settings.hpp"
#include "memory/of_thread.hpp"
#include "transport/tls_files.hpp"

namespace zlink {

class tls_in_use {
public:
    /// Null when memory is short.
    static tls_in_use *here() noexcept {
        tls_in_use *const all = of_thread<tls_in_use>::get();
        if (all && all->generation_ != platform::fork_generation())
            *all = {};
        return all;
    }
    /// Empty where nothing is shared.
    static std::string key_of(const settings &options) {
        if (!options.tls_password.empty() || settings::is_pem(options.tls_key) ||
            settings::is_pem(options.tls_cert))
            return {};
        std::string key = std::to_string(options.tls_verify) + std::to_string(options.tls_trust_system);
        if (options.tls_kept)  // no other one comes to stand there while what was made is watched
            key += "/" + std::to_string(reinterpret_cast<std::uintptr_t>(options.tls_kept.get()));
        for (const std::string_view path :
             {std::string_view(options.tls_cert), std::string_view(options.tls_key),
              std::string_view(options.tls_ca), std::string_view(options.tls_groups)})
            key.append("/" + std::to_string(path.size()) + "/").append(path);
        return key;
    }
    /// Null where there is none. `files`: of which it was made.
    std::shared_ptr<SSL_CTX> find(const std::string &key, tls_files &files) const {
        const auto found = all_.find(key);
        std::shared_ptr<SSL_CTX> made = found == all_.end() ? nullptr : found->second.made.lock();
        if (!made || found->second.files.have_changed())
            return nullptr;
        files = found->second.files;
        return made;
    }
    void add(std::string key, const std::shared_ptr<SSL_CTX> &made, const tls_files &files) {
        if (all_.size() >= sweep_at_) {
            std::erase_if(all_, [](const auto &each) { return each.second.made.expired(); });
            sweep_at_ = 2 * all_.size() + first_sweep;
        }
        all_.insert_or_assign(std::move(key), entry{made, files});
    }

private:
    static constexpr std::size_t first_sweep = 16;
    struct entry {
        std::weak_ptr<SSL_CTX> made;
        tls_files files;
    };
    std::map<std::string, entry> all_;
    std::size_t sweep_at_ = first_sweep;
    unsigned generation_ = platform::fork_generation();
};

}  // namespace zlink
