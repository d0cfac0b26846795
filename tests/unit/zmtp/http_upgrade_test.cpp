// The HTTP that a WebSocket begins with: what is asked for, what is accepted, and what is refused.
#include "zmtp/http_upgrade.hpp"

#include <gtest/gtest.h>

#include <set>

#include "web_script.hpp"

namespace zlink {
namespace {

using namespace testing;

const std::vector<std::string> both_protocols{"ZWS2.0/NULL", "ZWS2.0"};
const std::vector<std::string> no_protocols;

/// The status that a server answers these octets with; 0 where it waits for more.
int status_of(std::string_view request, const std::vector<std::string> &supported = both_protocols,
              std::string_view path = "/socket", std::string_view origins = {}) {
    http_head head;
    const std::size_t taken = head.take(as_bytes(request));
    if (head.status() == http_head::state::unfinished)
        return 0;
    if (head.status() == http_head::state::refused)
        return head.refusal();
    EXPECT_EQ(head.text(), request.substr(0, taken));
    return judge_request(head.text(), path, origins, supported).status;
}

std::string protocol_chosen(std::string_view request,
                            const std::vector<std::string> &supported = both_protocols) {
    const auto judged = judge_request(request, "/socket", {}, supported);
    return judged.status == 101 ? judged.protocol : "refused " + std::to_string(judged.status);
}

const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";  // of RFC 6455, section 1.3

bool is_accepted(std::string_view answer, const std::vector<std::string> &offered = both_protocols) {
    http_head head;
    head.take(as_bytes(answer));
    return head.status() == http_head::state::whole && judge_answer(head.text(), key, offered).is_good;
}

// ---- requests, as a client sends them ----

TEST(http_upgrade, request_is_that_of_the_standard) {
    EXPECT_EQ(make_request(a_place, "", key, both_protocols), web_request());
    EXPECT_EQ(make_request(a_place, "", key, no_protocols), web_request(""));
    EXPECT_EQ(make_request(a_place, "https://example.org", key, both_protocols),
              web_request("ZWS2.0/NULL,ZWS2.0", "/socket", "Origin: https://example.org\r\n"));
}

TEST(http_upgrade, request_names_host_and_path_as_they_were_given) {
    const std::pair<const char *, const char *> places[] = {
        {"localhost", "/"},
        {"localhost:80", "/"},
        {"127.0.0.1:5555", "/"},
        {"[::1]:8080", "/"},
        {"[::1]", "/a"},
        {"EXAMPLE.org", "/A"},
        {"example.org", "/a/b/c"},
        {"example.org", "/a//b"},
        {"example.org", "//"},
        {"example.org", "/a/../b"},
        {"example.org", "/./"},
        {"example.org", "/a%20b"},
        {"example.org", "/%2e%2E/"},
        {"example.org", "/a?b=c"},
        {"example.org", "/?"},
        {"example.org", "/a;b=c"},
        {"example.org", "/~a"},
        {"example.org", "/a+b"},
        {"example.org", "/@:!$&'"},
        {"xn--bcher-kva.example", "/"},
    };
    for (const auto &[host, path] : places) {
        const web_place place{host, path};
        EXPECT_TRUE(is_sound(place, ""));
        const std::string request = make_request(place, "", key, both_protocols);
        EXPECT_EQ(request.substr(0, request.find('\r')), std::string("GET ") + path + " HTTP/1.1");
        EXPECT_NE(request.find(std::string("\r\nHost: ") + host + "\r\n"), request.npos);
        EXPECT_EQ(status_of(request, both_protocols, path), 101) << path;
    }
}

TEST(http_upgrade, request_cannot_be_made_with_what_would_be_another_line) {
    for (const char *bad : {"", "a\r\nX: y", "a\n", "a b", "a\tb",
                            "b\xc3\xa4"
                            "d"}) {
        EXPECT_FALSE(is_sound({bad, "/"}, "")) << bad;
        EXPECT_FALSE(is_sound({"a", std::string("/").append(bad[0] ? bad : "\n")}, "")) << bad;
        EXPECT_FALSE(is_sound({"a", "/"}, bad[0] ? bad : " ")) << bad;
    }
    EXPECT_FALSE(is_sound({"a", "no/slash"}, ""));
    EXPECT_FALSE(is_sound({"a", "/#fragment"}, ""));
}

TEST(http_upgrade, keys_are_16_octets_and_new_each_time) {
    std::set<std::string> seen;
    for (int i = 0; i < 10000; ++i) {
        const std::string one = make_web_key();
        EXPECT_EQ(one.size(), 24u);
        EXPECT_EQ(one.substr(22), "==");
        EXPECT_EQ(status_of(replaced(web_request(), key, one)), 101);
        EXPECT_TRUE(seen.insert(one).second);
    }
}

// ---- requests, as a server takes them ----

TEST(http_upgrade, good_request_is_answered_with_the_digest_of_the_standard) {
    const auto judged = judge_request(web_request(), "/socket", "", both_protocols);
    EXPECT_EQ(judged.status, 101);
    EXPECT_EQ(judged.key, key);
    EXPECT_EQ(judged.protocol, "ZWS2.0/NULL");
    EXPECT_EQ(make_answer(key, "ZWS2.0/NULL"), web_answer());
    EXPECT_EQ(make_answer(key, ""), web_answer(""));
}

TEST(http_upgrade, bad_requests_are_refused_with_the_status_that_says_why) {
    const octets good = web_request();
    const auto without = [&](std::string_view name) {
        const std::size_t at = good.find("\r\n" + octets(name) + ":");
        EXPECT_NE(at, good.npos);
        return good.substr(0, at) + good.substr(good.find("\r\n", at + 2));
    };
    const std::pair<octets, int> requests[] = {
        {replaced(good, "GET", "POST"), 405},
        {replaced(good, "GET", "HEAD"), 405},
        {replaced(good, "GET", "CONNECT"), 405},
        {replaced(good, "GET", "get"), 400},
        {replaced(good, "HTTP/1.1", "HTTP/1.0"), 400},
        {replaced(good, "HTTP/1.1", "HTTP/2.0"), 400},
        {replaced(good, " HTTP/1.1", ""), 400},
        {replaced(good, "GET /socket", "GET socket /"), 400},
        {replaced(good, "/socket", "/other"), 404},
        {without("Host"), 400},
        {replaced(good, "Host: ", "Host: a\r\nHost: "), 400},
        {without("Upgrade"), 426},
        {replaced(good, "websocket", "h2c"), 426},
        {replaced(good, "websocket", "websockets"), 426},
        {without("Connection"), 426},
        {replaced(good, "Connection: Upgrade", "Connection: keep-alive"), 426},
        {without("Sec-WebSocket-Key"), 400},
        {replaced(good, key, ""), 400},
        {replaced(good, key, "dGhlIHNhbXBsZSBub25jZQ"), 400},
        {replaced(good, key, "dGhlIHNhbXBsZSBub25j"), 400},
        {replaced(good, key, "dGhlIHNhbXBsZSBub25jZSEhISEh"), 400},
        {replaced(good, key, "dGhlIHNhbXBsZSBub25jZ*=="), 400},
        {replaced(good, "Sec-WebSocket-Key",
                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Key"),
         400},
        {without("Sec-WebSocket-Version"), 426},
        {replaced(good, "Version: 13", "Version: 8"), 426},
        {replaced(good, "Version: 13", "Version: 13, 8"), 426},
        {replaced(good, "Version: 13", "Version: 13\r\nSec-WebSocket-Version: 13"), 426},
        {replaced(good, "Version: 13", "Version: 13\r\nContent-Length: 1"), 400},
        {replaced(good, "Version: 13", "Version: 13\r\nTransfer-Encoding: chunked"), 400},
        {without("Sec-WebSocket-Protocol"), 400},
        {replaced(replaced(good, "GET", "POST"), "Version: 13", "Version: 13\r\nContent-Length: 3"), 405},
        {replaced(replaced(good, "GET", "PUT"), "Version: 13", "Version: 13\r\nContent-Length: 123456789"),
         405},
        {replaced(replaced(good, "GET", "POST"), "Version: 13", "Version: 13\r\nTransfer-Encoding: chunked"),
         405},
        {replaced(good, "Version: 13", "Version: 13\r\nContent-Length: 123456789"), 400},
        {replaced(good, "Version: 13", "Version: 13\r\nContent-Length: x"), 400},
    };
    for (const auto &[request, status] : requests)
        EXPECT_EQ(status_of(request), status) << request;
    EXPECT_EQ(status_of(replaced(good, "Version: 13", "Version: 13\r\nContent-Length: 0")), 101);
}

TEST(http_upgrade, refusals_say_in_words_and_in_fields_what_would_be_right) {
    EXPECT_EQ(make_refusal(404, "There is nothing at this path."),
              "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
              "31\r\n\r\n"
              "There is nothing at this path.\n");
    EXPECT_NE(make_refusal(426, "x").find("HTTP/1.1 426 Upgrade Required\r\n"), octets::npos);
    EXPECT_NE(make_refusal(426, "x").find("\r\nSec-WebSocket-Version: 13\r\n"), octets::npos);
    EXPECT_NE(make_refusal(426, "x").find("\r\nConnection: close, Upgrade\r\n"), octets::npos);
    EXPECT_NE(make_refusal(426, "x").find("\r\nUpgrade: websocket\r\n"), octets::npos);
    EXPECT_NE(make_refusal(405, "x").find("\r\nAllow: GET\r\n"), octets::npos);
    for (const int status : {400, 403, 404, 405, 426, 431})
        EXPECT_EQ(make_refusal(status, "x").find("Unknown"), octets::npos);
}

TEST(http_upgrade, head_that_is_not_strictly_one_is_refused) {
    const octets good = web_request();
    const octets bad[] = {
        replaced(good, "Upgrade: websocket\r\n", "Upgrade:\r\n websocket\r\n"),  // folded
        replaced(good, "Upgrade: websocket\r\n", "Upgrade:\r\n\twebsocket\r\n"),
        replaced(good, "Host: ", "Host: b\xc3\xa4"),  // beyond ASCII
        replaced(good, "/socket", "/b\xe4"),
        replaced(good, "\r\nHost", "\nHost"),  // a lone line feed
        replaced(good, "websocket\r\n", "websocket\n"),
        replaced(good, "\r\n\r\n", "\n\n"),
        replaced(good, "Host: ", "Host: a\rb"),  // a lone return
        replaced(good, "websocket\r\n", "websocket\r\r\n"),
        replaced(good, "Host: ", octets("Host: \0", 7)),
        replaced(good, "/socket", octets("/\0", 2)),
        replaced(good, "Host: ", "Host: \x1b"),
        replaced(good, "Host: ", "Host: \x7f"),
        replaced(good, "Host:", "Host :"),
        replaced(good, "Host:", ":"),
        replaced(good, "Host: ", "Host "),
        replaced(good, "Host", "Ho(st"),
        replaced(good, "GET /", "GET  /"),
        replaced(good, "GET /", "GET\t/"),
        replaced(good, "HTTP/1.1", "HTTP/1.1 x"),
        replaced(good, "HTTP/1.1", "HTTP/1.11"),
        "\r\n" + good,
        " " + good,
    };
    for (const octets &request : bad)
        EXPECT_EQ(status_of(request), 400) << request;
    // Without waiting for more.
    for (const octets &begun : {octets("GET / HTTP/1.1\rH"), octets("GET / HTTP/1.1\n"), octets("GET /\0", 6),
                                octets("GET /\x80"), octets("GET / HTTP/1.1\r\nHost: a\r\n ")}) {
        EXPECT_EQ(status_of(begun.substr(0, begun.size() - 1)), 0) << begun;
        EXPECT_EQ(status_of(begun), 400) << begun;
    }
}

TEST(http_upgrade, what_is_no_http_is_refused_with_the_first_octet) {
    for (const octets &other : {octets("\x16\x03\x01"), greeting(), octets("\0", 1), octets("\x82\x80"),
                                octets(" "), octets("{"), octets("\r\n")})
        EXPECT_EQ(status_of(other.substr(0, 1) == "\r" ? other : other.substr(0, 1)), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", both_protocols, "/"), 426);
}

TEST(http_upgrade, head_is_bounded_in_octets_and_in_fields) {
    const octets good = web_request();
    const octets endless_line = "GET /" + octets(64 * 1024, 'a');
    EXPECT_EQ(status_of(endless_line), 431);
    octets fields = good.substr(0, good.size() - 2);
    for (int i = 0; i < 10000; ++i)
        fields += "a:\r\n";
    EXPECT_EQ(status_of(fields), 431);
    http_head head;
    EXPECT_LE(head.take(as_bytes(endless_line)), http_head::most_octets + 1);
    EXPECT_LE(head.text().size(), http_head::most_octets);

    const auto padded = [&](std::size_t size) {
        return replaced(good, "Host", "X: " + octets(size - good.size() - 5, 'x') + "\r\nHost");
    };
    EXPECT_EQ(padded(8192).size(), 8192u);
    EXPECT_EQ(status_of(padded(8192)), 101);
    EXPECT_EQ(status_of(padded(8193)), 431);
    const auto with_fields = [&](int count) {
        octets out = good.substr(0, good.size() - 2);
        for (int have = 6; have < count; ++have)
            out += "a:\r\n";
        return out + "\r\n";
    };
    EXPECT_EQ(status_of(with_fields(100)), 101);
    EXPECT_EQ(status_of(with_fields(101)), 431);
}

TEST(http_upgrade, head_ends_at_its_empty_line_wherever_it_is_cut) {
    const octets whole = web_request() + "\x82\x85";
    const std::size_t end = whole.size() - 2;
    for (std::size_t at = 0; at <= end; ++at) {
        http_head head;
        EXPECT_EQ(head.take(as_bytes(whole.substr(0, at))), at);
        EXPECT_EQ(head.status() == http_head::state::whole, at == end);
        EXPECT_EQ(head.take(as_bytes(whole.substr(at))), end - at);
        EXPECT_EQ(head.status(), http_head::state::whole);
        EXPECT_EQ(head.text(), web_request());
    }
}

TEST(http_upgrade, names_do_not_know_case_and_values_no_space_around_them) {
    octets shouted = web_request();
    for (const char *name : {"Host", "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
                             "Sec-WebSocket-Protocol"}) {
        octets upper = name;
        for (char &c : upper)
            c = static_cast<char>(std::toupper(c));
        shouted = replaced(shouted, octets("\n") + name, "\n" + upper);
    }
    EXPECT_EQ(status_of(shouted), 101);
    octets spaced = web_request();
    for (const char *value : {"websocket", "Upgrade\r", "dGhlIHNhbXBsZSBub25jZQ==", "13", "ZWS2.0/NULL"})
        spaced = replaced(spaced, octets(" ") + value, octets(" \t  ") + value);
    spaced = replaced(replaced(spaced, "13\r", "13 \t\r"), "Q==\r", "Q==  \r");
    EXPECT_EQ(status_of(spaced), 101);
    EXPECT_EQ(status_of(replaced(web_request(), "websocket", "WebSocket")), 101);
    EXPECT_EQ(status_of(replaced(web_request(), "Upgrade: websocket", "Upgrade: h2c, websocket")), 101);
    EXPECT_EQ(status_of(replaced(web_request(), "n: Upgrade", "n: keep-alive,upgrade")), 101);
    EXPECT_EQ(status_of(replaced(web_request(), "n: Upgrade", "n: keep-alive\r\nConnection: upgrade")), 101);
}

TEST(http_upgrade, one_of_the_protocols_offered_is_chosen_the_first_that_is_spoken) {
    const std::pair<octets, octets> offers[] = {
        {"ZWS2.0/NULL", "ZWS2.0/NULL"},
        {"ZWS2.0", "ZWS2.0"},
        {"ZWS2.0,ZWS2.0/NULL", "ZWS2.0"},
        {"ZWS2.0/NULL , ZWS2.0", "ZWS2.0/NULL"},
        {" \tZWS2.0/NULL\t", "ZWS2.0/NULL"},
        {"mqtt, ZWS2.0/CURVE,ZWS2.0/NULL", "ZWS2.0/NULL"},
        {",, ZWS2.0,,", "ZWS2.0"},
        {"mqtt\r\nSec-WebSocket-Protocol: ZWS2.0", "ZWS2.0"},
        {"\r\nsec-websocket-protocol: chat , ZWS2.0/NULL\r\nSEC-WEBSOCKET-PROTOCOL: ZWS2.0", "ZWS2.0/NULL"},
        {"zws2.0/null", "refused 400"},
        {"ZWS2.0/PLAIN", "refused 400"},
        {"ZWS2.0/", "refused 400"},
        {"ZWS2.0/NULLx", "refused 400"},
        {"ZWS2.0 ZWS2.0/NULL", "refused 400"},
        {"ZWS1.0", "refused 400"},
    };
    for (const auto &[offered, chosen] : offers)
        EXPECT_EQ(protocol_chosen(web_request(offered)), chosen) << offered;
    // Security is asked for: that without a mechanism is not among those supported.
    const std::vector<std::string> secure{"ZWS2.0/CURVE"};
    EXPECT_EQ(protocol_chosen(web_request(), secure), "refused 400");
    EXPECT_EQ(protocol_chosen(web_request("ZWS2.0,ZWS2.0/NULL,ZWS2.0/CURVE"), secure), "ZWS2.0/CURVE");
    // Whoever does not speak ZMTP does without.
    EXPECT_EQ(protocol_chosen(web_request(""), no_protocols), "");
    EXPECT_EQ(protocol_chosen(web_request("chat"), no_protocols), "");
}

TEST(http_upgrade, path_has_to_be_the_same_octets_and_a_query_is_no_part_of_it) {
    const auto finds = [](std::string_view bound, std::string_view asked_for) {
        const int status = status_of(web_request("ZWS2.0", asked_for), both_protocols, bound);
        EXPECT_TRUE(status == 101 || status == 404) << status;
        return status == 101;
    };
    for (const char *path : {"/", "/a", "/a/b", "/a/", "/a%20b", "/a.b", "/~", "/a;b"})
        EXPECT_TRUE(finds(path, path)) << path;
    EXPECT_TRUE(finds("/a", "/a?"));
    EXPECT_TRUE(finds("/a", "/a?b=/../c"));
    EXPECT_TRUE(finds("/a?x", "/a?y"));
    EXPECT_TRUE(finds("/a", "http://example.org/a"));
    EXPECT_TRUE(finds("/a", "WS://example.org:8080/a?b"));
    EXPECT_TRUE(finds("/", "http://example.org"));
    EXPECT_TRUE(finds("/", "http://example.org?a"));
    for (const char *other :
         {"/", "/A", "/a/", "//a", "/a/.", "/./a", "/b/../a", "/%61", "/a%00", "/a%2f", "/aa", "/a;b", "/a#b",
          "/a&b", "/a%3f", "*", "http://example.org/b", "ftp://example.org/a"})
        EXPECT_FALSE(finds("/a", other)) << other;
}

TEST(http_upgrade, origins_are_free_until_some_are_named) {
    const auto comes_from = [](std::string_view fields, std::string_view allowed) {
        return status_of(web_request("ZWS2.0", "/socket", fields), both_protocols, "/socket", allowed);
    };
    EXPECT_EQ(comes_from("", ""), 101);
    EXPECT_EQ(comes_from("Origin: http://anywhere\r\n", ""), 101);
    const char *const some = "https://example.org, http://localhost:8000";
    EXPECT_EQ(comes_from("Origin: https://example.org\r\n", some), 101);
    EXPECT_EQ(comes_from("origin: HTTPS://Example.Org\r\n", some), 101);
    EXPECT_EQ(comes_from("Origin: http://localhost:8000\r\n", some), 101);
    for (const char *bad :
         {"http://example.org", "https://example.org.evil", "https://example.org/", "null", "",
          "https://example.org, http://localhost:8000", "https://example.org\r\nOrigin: https://example.org"})
        EXPECT_EQ(comes_from(octets("Origin: ") + bad + "\r\n", some), 403) << bad;
    EXPECT_EQ(comes_from("", some), 101);  // no web page
}

// ---- answers ----

TEST(http_upgrade, good_answers_are_accepted) {
    EXPECT_TRUE(is_accepted(web_answer()));
    EXPECT_TRUE(is_accepted(web_answer("ZWS2.0")));
    EXPECT_TRUE(is_accepted(web_answer(""), no_protocols));
    EXPECT_TRUE(is_accepted(replaced(web_answer(), "Switching Protocols", "")));
    EXPECT_TRUE(is_accepted(replaced(web_answer(), "Upgrade: websocket", "UPGRADE:  WebSocket ")));
    EXPECT_TRUE(is_accepted(replaced(web_answer(), "n: Upgrade", "n: keep-alive, upgrade")));
    EXPECT_TRUE(is_accepted(replaced(web_answer(), "Upgrade:", "Server: x\r\nDate: y\r\nUpgrade:")));
    EXPECT_EQ(judge_answer(web_answer("ZWS2.0"), key, both_protocols).protocol, "ZWS2.0");
    EXPECT_EQ(judge_answer(web_answer("ZWS2.0"), key, both_protocols).status, 101);
    EXPECT_EQ(judge_answer(make_refusal(400, "no"), key, both_protocols).status, 400);
    EXPECT_EQ(judge_answer("HTTP/2.0 400 Bad Request\r\n\r\n", key, both_protocols).status, 0);
}

TEST(http_upgrade, bad_answers_are_refused) {
    const octets good = web_answer();
    const octets accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    const octets protocol = "Sec-WebSocket-Protocol: ZWS2.0/NULL";
    const octets bad[] = {
        replaced(good, "101", "200"),
        replaced(good, "101", "100"),
        replaced(good, "101", "302"),
        replaced(good, "101", "401"),
        replaced(good, "101", "1O1"),
        replaced(good, "HTTP/1.1", "HTTP/1.0"),
        replaced(good, "HTTP/1.1", "XTTP/1.1"),
        replaced(good, "Upgrade: websocket\r\n", ""),
        replaced(good, "Upgrade: websocket", "Upgrade: h2c"),
        replaced(good, "Upgrade: websocket", "Upgrade: websocket, h2c"),
        replaced(good, "Upgrade: websocket", "Upgrade: websocket\r\nUpgrade: h2c"),
        replaced(good, "Connection: Upgrade\r\n", ""),
        replaced(good, "Connection: Upgrade", "Connection: close"),
        replaced(good, "Sec-WebSocket-Accept: " + accept + "\r\n", ""),
        replaced(good, accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOp="),
        replaced(good, accept, "S3PPLMBITXAQ9KYGZZHZRBK+XOO="),
        replaced(good, accept, key),
        replaced(good, accept, accept + "\r\nSec-WebSocket-Accept: " + accept),
        replaced(good, protocol, protocol + "\r\nSec-WebSocket-Extensions: permessage-deflate"),
        replaced(good, protocol, "Sec-WebSocket-Protocol: ZWS2.0/CURVE"),
        replaced(good, protocol, "Sec-WebSocket-Protocol: zws2.0"),
        replaced(good, protocol, "Sec-WebSocket-Protocol: ZWS2.0/NULL, ZWS2.0"),
        replaced(good, protocol, protocol + "\r\nSec-WebSocket-Protocol: ZWS2.0"),
        replaced(good, protocol, protocol + "\r\n" + protocol),
        replaced(good, protocol + "\r\n", ""),
        replaced(good, protocol, protocol + "\r\nTransfer-Encoding: chunked"),
        replaced(good, protocol, protocol + "\r\n folded"),
        replaced(good, "Upgrade:", "X: " + octets(9000, 'x') + "\r\nUpgrade:"),
        make_refusal(404, "no"),
    };
    for (const octets &answer : bad)
        EXPECT_FALSE(is_accepted(answer)) << answer;
    EXPECT_FALSE(is_accepted(good, no_protocols));
    EXPECT_FALSE(is_accepted(web_answer("ZWS2.0"), {"ZWS2.0/NULL"}));
}

}  // namespace
}  // namespace zlink
