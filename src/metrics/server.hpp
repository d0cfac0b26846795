// A server of HTTP/1.1 for those who look at numbers: one request a connection, GET alone. At most
// 8 connections at once, 8 KiB and 5 s each.
//
// Threads:  one, but for what is said.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "core/owned_descriptor.hpp"
#include "metrics/file_identity.hpp"
#include "metrics/http_request.hpp"

namespace zlink::metrics {

/// A response as it is written.
std::string response(const char *status, const char *type, const std::string &body);
/// One that has the status as its body.
std::string refusal(const char *status);

class server {
public:
    /// Gives the whole response to a request that may be answered. May throw bad_alloc.
    using answering = std::function<std::string(const http_request &request)>;

    /// `names`: those by which a page may ask, beside addresses in numbers and localhost; none: no
    /// page reaches it, and anybody may ask.
    server(owned_descriptor listening, std::optional<std::vector<std::string>> names, answering answer);
    ~server();

    /// Returns when the program has closed what it listens with. When memory is short the
    /// connections go, and it goes on.
    void run() noexcept;

private:
    class connection;

    void turn();
    void accept_one();
    void look_whether_closed() noexcept;

    owned_descriptor listening_;
    const file_identity identity_;  // of what it listens with
    const std::optional<std::vector<std::string>> names_;
    const answering answer_;
    std::list<connection> connections_;
    bool is_closed_ = false;
    bool is_short_ = false;  // of memory or descriptors: waits a moment before it lets in more
};

}  // namespace zlink::metrics
