#include "zmtp/masking.hpp"

#include <sodium.h>

namespace zlink {

void mask_keys::draw() noexcept {
    randombytes_buf(drawn_.data(), sizeof drawn_);
    used_ = 0;
}

}  // namespace zlink
