// Owner of a descriptor; closes it, and tells whoever waits for one that it has.
#pragma once

#include <utility>

namespace zlink {

class owned_descriptor {
public:
    owned_descriptor() noexcept = default;
    explicit owned_descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
    owned_descriptor(owned_descriptor &&other) noexcept : descriptor_(other.release()) {}
    owned_descriptor &operator=(owned_descriptor &&other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~owned_descriptor();

    int get() const noexcept { return descriptor_; }
    int release() noexcept { return std::exchange(descriptor_, -1); }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

}  // namespace zlink
