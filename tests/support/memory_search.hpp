// Looks through the memory of this process, but for the stack of the main thread, for what is not
// to be there. Who asks has it inverted only.
#pragma once

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace zlink_test {

inline std::string inverted(std::string text) {
    for (char &each : text)
        each = static_cast<char>(~each);
    return text;
}

/// How often what `needle` is the inversion of stands in memory.
inline int count_in_memory(const std::string &needle) {
    const char first = static_cast<char>(~needle[0]);
    int found = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long from = 0, to = 0;
        char how[5] = "";
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, how) != 3 || how[0] != 'r' ||
            how[1] != 'w' || line.find("[stack]") != std::string::npos)
            continue;
        const char *at = reinterpret_cast<const char *>(from);
        const char *const end = reinterpret_cast<const char *>(to) - needle.size();
        for (; at < end &&
               (at = static_cast<const char *>(std::memchr(at, first, static_cast<std::size_t>(end - at))));
             ++at) {
            std::size_t same = 0;
            while (same < needle.size() && at[same] == static_cast<char>(~needle[same]))
                ++same;
            found += same == needle.size();
        }
    }
    return found;
}

}  // namespace zlink_test
