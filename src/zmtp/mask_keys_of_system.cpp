// Keys of masks, all of them from the system's generator: a call of it for 128 keys, where
// mask_keys_of_stream.cpp has one for a writer.
#include "core/platform.hpp"
#include "zmtp/masking.hpp"

namespace zlink {

void mask_keys::draw() noexcept {
    // A system that has started gives some; where it does not, the keys before serve again.
    (void)platform::draw_secret_octets(drawn_.data()->data(), sizeof drawn_);
    used_ = 0;
}

}  // namespace zlink
