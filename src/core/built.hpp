// What is built into the library, of what may be left out.
#pragma once

namespace zlink {

#ifdef ZLINK_WITH_TLS
inline constexpr bool tls_is_built = true;
#else
inline constexpr bool tls_is_built = false;
#endif
#ifdef ZLINK_WITH_CURVE
inline constexpr bool curve_is_built = true;
#else
inline constexpr bool curve_is_built = false;
#endif

}  // namespace zlink
