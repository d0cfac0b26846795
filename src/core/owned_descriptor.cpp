// Closing, and telling of it; see owned_descriptor.hpp.
#include "core/owned_descriptor.hpp"

#include <unistd.h>

#include "core/descriptor_watch.hpp"

namespace zlink {

owned_descriptor::~owned_descriptor() {
    if (descriptor_ < 0)
        return;
    ::close(descriptor_);
    descriptor_watch::note_closed();
}

}  // namespace zlink
