// Fuzz target: the files of a policy, as text. What is understood means the same when it is read
//              again; what is not names the file and a line.
//
// Input:    form:1 | text, of which each octet is a word of the table below, or itself. The form
//           says which of the two files it is, and for which use the users are.
#include <cstddef>
#include <cstdint>

#include <cstdlib>
#include <iterator>
#include <string>

#include "core/invariant.hpp"
#include "policy/policy_file.hpp"
#include "policy/users_file.hpp"

using namespace zlink;

namespace {

// Those that come most often first.
constexpr const char *words[] = {
    "[[entry]]\n",
    "[[entry]]\nuse = \"clear\"\n",
    "[[entry]]\nuse = \"refuse\"\n",
    "[[entry]]\nuse = \"tls\"\ncert = \"a\"\nkey = \"b\"\nca = \"c\"\n",
    "[[entry]]\nuse = \"plain\"\nside = \"connect\"\nusername = \"u\"\npassword = \"p\"\n",
    "host = [\"a.example\", \"10.0.0.0/8\", \"[::1]\"]\n",
    "port = [5555, \"6000-6010\", \"*\"]\n",
    "scheme = \"tcp\"\n",
    "side = \"bind\"\n",
    "type = [\"PUB\", \"XPUB\"]\n",
    "handshake_limit = \"500ms\"\n",
    "max_message = 4096\n",
    "default = \"clear\"\n",
    "announce = true\n",
    "heartbeat = \"2min\"\n",
    "bind = \"loopback\"\n",
    "allow = [\"10.0.0.0/8\", \"fe80::/10\"]\n",
    "source = \"eth0\"\n",
    "path = \"/run/*\"\n",
    "zap = \"users.toml\"\n",
    "name = \"feed.example\"\n",
    "client_cert = \"none\"\n",
    "fingerprint = \"aa\"\n",
    "alice = \"secret\"\n",
    "port = ",
    "allow = ",
    "max_message = ",
    "heartbeat = ",
    "password = ",
    "\"",
    "'''",
    "[",
    "]",
    ", ",
    "\n",
    "# ",
    " = ",
    "\\u0041",
    "\\",
    "true",
    "-1",
    "1e999",
    "9223372036854775808",
    "1979-05-27",
    "{ a = 1 }",
    "a.b",
    "65536",
    "\"6010-6000\"",
};

std::string spelled_out(const std::uint8_t *data, std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size; ++i)
        if (data[i] % 128 < std::size(words))
            out += words[data[i] % 128];
        else
            out += static_cast<char>(data[i]);
    return out;
}

const std::string path = "/etc/zlink/policy.toml";

void check_fault(const std::string &why) {
    const std::string front = path + ":";
    ZLINK_INVARIANT(why.starts_with(front));
    char *end = nullptr;
    ZLINK_INVARIANT(std::strtol(why.c_str() + front.size(), &end, 10) > 0 && *end == ':');
    ZLINK_INVARIANT(why.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string text = spelled_out(data + 1, size - 1);
    std::string why;
    if (data[0] & 1) {
        constexpr protection uses[] = {protection::plain, protection::tls, protection::curve};
        policy_users users;
        if (!read_users(text, path, uses[data[0] / 2 % std::size(uses)], users, why))
            check_fault(why);
        return 0;
    }
    policy_rules rules, again;
    if (!read_policy(text, path, rules, why)) {
        check_fault(why);
        return 0;
    }
    ZLINK_INVARIANT(read_policy(text, path, again, why) && again == rules);
    for (const auto &file : rules.files)
        ZLINK_INVARIANT(file.path.starts_with('/') && file.line > 0);
    return 0;
}
