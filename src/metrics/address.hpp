// ZLINK_METRICS: where the numbers of a process can be read.
//
// Syntax:   tcp://HOST:PORT or tcp://HOST:FIRST-LAST (the first port of these that is free), HOST
//           being an IPv4 address, an IPv6 address in brackets or localhost, and behind it
//           ?host=NAME, &host=NAME ..., the names by which it may be asked for, and peers=1, where
//           it tells of peers, too; or unix:PATH; or file:PATH. In all of them %p stands for the
//           number of the process.
// Threads:  any; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::metrics {

struct address {
    std::string host;  // a literal, without brackets; of unix and file empty
    std::uint16_t first_port = 0;
    std::uint16_t last_port = 0;
    std::vector<std::string> names;  // by which it may be asked for, beside literals and localhost
    std::string path;                // of unix, or of a file
    bool is_file = false;
    bool tells_peers = false;
};

/// False, and says why in words, where the text is no such address. `anywhere`: addresses other
/// than the machine's own are allowed. Throws bad_alloc.
bool parse(std::string_view text, int process, bool anywhere, address &out, std::string &why);

}  // namespace zlink::metrics
