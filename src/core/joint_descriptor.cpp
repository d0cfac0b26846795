// The one descriptor is an epoll set with both in it; see joint_descriptor.hpp.
#include "core/joint_descriptor.hpp"

#include <cerrno>
#include <sys/epoll.h>

namespace zlink {

error join_descriptors(int first, int second, owned_descriptor &out) noexcept {
    if (first < 0 || second < 0)
        return error::not_supported;
    owned_descriptor joint(::epoll_create1(EPOLL_CLOEXEC));
    if (!joint)
        return from_errno(errno);
    for (const int each : {first, second}) {
        epoll_event what{};
        what.events = EPOLLIN;
        if (::epoll_ctl(joint.get(), EPOLL_CTL_ADD, each, &what) != 0)
            return from_errno(errno);
    }
    out = std::move(joint);
    return error::none;
}

}  // namespace zlink
