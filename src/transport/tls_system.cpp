// The one store, and how it is known to be current; see tls_system.hpp.
#include "transport/tls_system.hpp"

#include <mutex>
#include <utility>

#include "core/platform.hpp"
#include "core/tuning.hpp"
#include "transport/tls_section.hpp"

namespace zlink {

namespace {

using system_ptr = std::shared_ptr<const tls_system>;

/// The authorities that were read last.
struct last_read {
    std::mutex mutex;  // guards the rest
    std::weak_ptr<const tls_system> system;

    /// Never destroyed: I/O threads may outlive main().
    static last_read &of_process() {
        static auto &last = *new last_read;
        return last;
    }
};

std::string paths() {
    return from_environment(X509_get_default_cert_file_env(), X509_get_default_cert_file()) + '\n' +
           from_environment(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
}

}  // namespace

tls_system::tls_system(std::string paths, X509_STORE *store) noexcept
    : store_(store), paths_(std::move(paths)), generation_(platform::fork_generation()) {}

tls_system::~tls_system() {
    const tls_section inside;
    openssl_delete<X509_STORE_free>()(store_);
}

bool tls_system::is_current(const std::string &paths) const noexcept {
    return generation_ == platform::fork_generation() && paths_ == paths && !files_.have_changed();
}

system_ptr tls_system::read(tls_files &files) {
    last_read &last = last_read::of_process();
    system_ptr found;
    {
        const std::lock_guard guard(last.mutex);
        found = last.system.lock();
    }
    std::string where = paths();
    if (!found || !found->is_current(where)) {
        // Two threads that come at once both read: nobody waits for the disk with the lock.
        const std::shared_ptr<tls_system> fresh(new tls_system(std::move(where), X509_STORE_new()));
        fresh->files_.watch_system();
        if (!fresh->store_ || X509_STORE_set_default_paths(fresh->store_) != 1)
            return nullptr;
        found = fresh;
        // With what was there it goes without the lock.
        std::weak_ptr<const tls_system> spare(found);
        const std::lock_guard guard(last.mutex);
        last.system.swap(spare);
    }
    files.watch_too(found->files_);
    return found;
}

void tls_system::share(SSL_CTX *into) const noexcept { SSL_CTX_set1_cert_store(into, store_); }

bool tls_system::copy(SSL_CTX *into) const noexcept {
    X509_STORE *const store = SSL_CTX_get_cert_store(into);
    X509_LOOKUP *const directories = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());
    if (!directories || X509_LOOKUP_add_dir(directories, nullptr, X509_FILETYPE_DEFAULT) != 1 ||
        X509_STORE_lock(store_) != 1)
        return false;
    const STACK_OF(X509_OBJECT) *const all = X509_STORE_get0_objects(store_);
    bool is_whole = true;
    for (int i = 0; is_whole && i < sk_X509_OBJECT_num(all); ++i) {
        const X509_OBJECT *const each = sk_X509_OBJECT_value(all, i);
        if (X509 *const certificate = X509_OBJECT_get0_X509(each))
            is_whole = X509_STORE_add_cert(store, certificate) == 1;
        else if (X509_CRL *const list = X509_OBJECT_get0_X509_CRL(each))
            is_whole = X509_STORE_add_crl(store, list) == 1;
    }
    X509_STORE_unlock(store_);
    return is_whole;
}

}  // namespace zlink
