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
/// One that has the status as its body. `field`: one more of the head, or nothing.
std::string refusal(const char *status, const std::string &field = {});

class server {
public:
    static constexpr std::size_t all_connections = 8;

    /// Gives the whole response to a request that may be answered. May throw bad_alloc.
    using answering = std::function<std::string(const http_request &request)>;

    /// `names`: those by which a page may ask, beside addresses in numbers and localhost; none: no
    /// page reaches it, and anybody may ask. Several servers may share one socket, and the
    /// connections that there may be.
    server(owned_descriptor listening, std::optional<std::vector<std::string>> names, answering answer,
           std::size_t most_connections = all_connections);
    ~server();

    /// Returns when the program has closed what it listens with, or something can be read from
    /// `until`, a descriptor: nobody is answered any more then. When memory is short the
    /// connections go, and it goes on.
    void run(int until = -1) noexcept;

private:
    class connection;

    void turn(int until);
    void accept_one();
    void look_whether_closed() noexcept;

    owned_descriptor listening_;
    const file_identity identity_;  // of what it listens with
    const std::optional<std::vector<std::string>> names_;
    const answering answer_;
    const std::size_t most_connections_;
    std::list<connection> connections_;
    bool is_over_ = false;
    bool is_short_ = false;  // of memory or descriptors: waits a moment before it lets in more
};

}  // namespace zlink::metrics
