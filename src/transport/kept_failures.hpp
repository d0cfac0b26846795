// OpenSSL's notes of failures on a thread of the application's, which may look at them still: out of the way while the library calls
// OpenSSL there, and back afterwards. OpenSSL takes the oldest that is noted for the one just now.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <openssl/err.h>
#include <string>

#include "transport/tls_section.hpp"

namespace zlink {

class kept_failures {
public:
    kept_failures() noexcept {
        if (!tls_section::is_over() && __builtin_expect(ERR_peek_error() != 0, 0))
            take();
    }
    ~kept_failures() {
        if (__builtin_expect(list_ != nullptr, 0) && !tls_section::is_over())
            put_back();
    }
    kept_failures(const kept_failures &) = delete;
    kept_failures &operator=(const kept_failures &) = delete;

private:
    struct failure {
        unsigned long code;
        std::string file, function, words;
        int line;
    };
    struct failures {
        std::array<failure, ERR_NUM_ERRORS> all;
        std::size_t count = 0;
    };

    /// They are lost when memory is short.
    void take() noexcept {
        try {
            list_ = std::make_unique<failures>();
            const char *file = nullptr, *function = nullptr, *words = nullptr;
            int line = 0, flags = 0;
            while (list_->count < list_->all.size()) {
                failure &next = list_->all[list_->count];
                next.code = ERR_get_error_all(&file, &line, &function, &words, &flags);
                if (next.code == 0)
                    break;
                next.line = line;
                ++list_->count;
                next.file = file;
                next.function = function;
                next.words = flags & ERR_TXT_STRING ? words : "";
            }
        } catch (const std::bad_alloc &) {
        }
        ERR_clear_error();
    }
    void put_back() noexcept {
        ERR_clear_error();
        for (std::size_t i = 0; i < list_->count; ++i) {
            const failure &each = list_->all[i];
            ERR_new();
            ERR_set_debug(each.file.c_str(), each.line, each.function.c_str());
            if (each.words.empty())
                ERR_set_error(ERR_GET_LIB(each.code), ERR_GET_REASON(each.code), nullptr);
            else
                ERR_set_error(ERR_GET_LIB(each.code), ERR_GET_REASON(each.code), "%s", each.words.c_str());
        }
    }

    std::unique_ptr<failures> list_;
};

}  // namespace zlink
