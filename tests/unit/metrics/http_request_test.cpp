#include "metrics/http_request.hpp"

#include <gtest/gtest.h>

#include <array>

namespace zlink::metrics {
namespace {

TEST(a_request_for_metrics, is_read_as_it_comes) {
    const std::string whole =
        "GET /metrics?x=1 HTTP/1.1\r\nhost: localhost:9464\r\nACCEPT:\t text/plain \r\n\r\n";
    http_request request;
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(read(std::string_view(whole).substr(0, size), request), http_progress::incomplete);
    ASSERT_EQ(read(whole, request), http_progress::complete);
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(request.path, "/metrics");
    EXPECT_EQ(request.host, "localhost:9464");
    EXPECT_EQ(request.accept, "text/plain");
}

TEST(a_request_for_metrics, is_refused_where_it_is_none) {
    for (const char *text :
         {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / FTP/1.1\r\n\r\n", "GET x HTTP/1.1\r\n\r\n",
          " / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
          "GET / HTTP/1.1\r\nHost:\r\n\r\n"}) {
        http_request request;
        EXPECT_EQ(read(text, request), http_progress::malformed) << text;
    }
}

TEST(a_request_for_metrics, counts_where_no_page_of_a_stranger_can_have_sent_it) {
    const std::array<std::string, 1> names{"node-7"};
    const auto is_taken = [&](std::string_view host) {
        http_request request;
        request.host = host;
        return is_asked_by_name(request, names);
    };
    for (const char *host : {"", "127.0.0.1", "127.0.0.1:9464", "10.0.0.1:1", "[::1]:9464", "[::1]",
                             "localhost", "LocalHost:1", "node-7:80"})
        EXPECT_TRUE(is_taken(host)) << host;
    for (const char *host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                             "node-7.evil.example", "xnode-7", "[evil", "127.1"})
        EXPECT_FALSE(is_taken(host)) << host;
}

}  // namespace
}  // namespace zlink::metrics
