// Contract of files that somebody else has read: what stood in each when it was looked at last.
//
// Threads:  any. It waits for no disk.
#pragma once

#include <memory>
#include <string>

#include "core/secret.hpp"

namespace zlink {

class kept_files {
public:
    virtual ~kept_files() = default;
    /// The octets of a file, others as soon as it has changed; null where it is none of those.
    virtual std::shared_ptr<const secret> find(const std::string &path) const noexcept = 0;
};

}  // namespace zlink
