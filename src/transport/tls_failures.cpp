// The notes of failures are moved as a whole: only so do the marks between them stay, which no call
// tells of. See tls_failures.hpp.
//
// OpenSSL 4: has taken that way away, and keeps the failures without their marks.
#include "transport/tls_failures.hpp"

#include <new>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <utility>

namespace zlink {

#if OPENSSL_VERSION_MAJOR < 4
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

void tls_failures::take() noexcept {
    list_ = ERR_get_state();
    if (!list_ || __builtin_expect(list_->top == list_->bottom, 1))
        return;
    kept_ = new (std::nothrow) err_state_st(*list_);
    if (kept_)
        *list_ = {};
    else
        ERR_clear_error();
}

void tls_failures::put_back() noexcept {
    err_state_st *const list = std::exchange(list_, nullptr);
    if (!list || __builtin_expect(!kept_ && list->top == list->bottom, 1))
        return;
    ERR_clear_error();
    if (!kept_)
        return;
    for (int i = 0; i < ERR_NUM_ERRORS; ++i)
        if (list->err_data_flags[i] & ERR_TXT_MALLOCED)  // an emptied list keeps them for later
            OPENSSL_free(list->err_data[i]);
    *list = *kept_;
    delete std::exchange(kept_, nullptr);
}

#pragma GCC diagnostic pop
#else

void tls_failures::take() noexcept {
    is_taken_ = true;
    if (__builtin_expect(ERR_peek_error() == 0, 1))
        return;
    kept_ = OSSL_ERR_STATE_new();
    if (kept_)
        OSSL_ERR_STATE_save(kept_);
    ERR_clear_error();
}

void tls_failures::put_back() noexcept {
    if (!std::exchange(is_taken_, false) || __builtin_expect(!kept_ && ERR_peek_error() == 0, 1))
        return;
    ERR_clear_error();
    if (!kept_)
        return;
    OSSL_ERR_STATE_restore(kept_);
    OSSL_ERR_STATE_free(std::exchange(kept_, nullptr));
}

#endif

void tls_failures::give_up() noexcept { *this = {}; }

}  // namespace zlink
