// A request of HTTP/1.1 (RFC 9112), as far as somebody who reads numbers sends one: the method, the
// path, and two header fields.
//
// Threads:  any; pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace zlink::metrics {

struct http_request {
    std::string_view method;
    std::string_view path;    // without a query
    std::string_view host;    // empty: none was sent
    std::string_view accept;  // the same
};

/// The judgement of the octets that have come so far.
enum class http_progress { incomplete, complete, malformed };

/// Reads a request; `out` refers to `octets`.
http_progress read(std::string_view octets, http_request &out) noexcept;

/// Whether a page of another host, whose name somebody has led here, may not have sent it: the host
/// is an address in numbers, localhost, or one of the names; or there is none, which no browser
/// leaves out.
bool is_asked_by_name(const http_request &request, std::span<const std::string> names) noexcept;

}  // namespace zlink::metrics
