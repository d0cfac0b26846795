// Texts of error numbers.
#include "core/error.hpp"

#include <cerrno>
#include <cstring>

namespace zlink {

const char *describe(int number) noexcept {
    switch (number) {
    case EFSM:
        return "Operation cannot be accomplished in current state";
    case ENOCOMPATPROTO:
        return "The protocol is not compatible with the socket type";
    case ETERM:
        return "Context was terminated";
    case EMTHREAD:
        return "No thread available";
    case EHOSTUNREACH:
        return "Host unreachable";  // of a ROUTER: no system's route is meant
    default:
        return std::strerror(number);
    }
}

}  // namespace zlink
