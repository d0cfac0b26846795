// Holds what an XPUB is told, and an XSUB tells: one octet, and a prefix of topics.
#pragma once

#include <string>

namespace zlink_test {

inline std::string subscription(const std::string &topic) { return '\1' + topic; }
inline std::string cancellation(const std::string &topic) { return '\0' + topic; }

}  // namespace zlink_test
