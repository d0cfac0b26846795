// The parts that a build may leave out, and whether they are in this one.
#pragma once

namespace zlink {

#ifdef ZLINK_WITH_TLS
inline constexpr bool tls_is_built = true;
#else
inline constexpr bool tls_is_built = false;
#endif
#ifdef ZLINK_WITH_WS
inline constexpr bool ws_is_built = true;
inline constexpr bool wss_is_built = tls_is_built;
#else
inline constexpr bool ws_is_built = false;
inline constexpr bool wss_is_built = false;
#endif
#ifdef ZLINK_WITH_CURVE
inline constexpr bool curve_is_built = true;
#else
inline constexpr bool curve_is_built = false;
#endif

}  // namespace zlink
