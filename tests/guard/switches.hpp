// Says how often each thread of this process has gone to sleep, as the kernel counts it.
#pragma once

#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace guard {

struct switches {
    long application = 0;  // the first thread
    long library = 0;      // all others, taken together
};

inline long voluntary_switches_of(const char *thread) {
    const std::string path = std::string("/proc/self/task/") + thread + "/status";
    std::FILE *file = std::fopen(path.c_str(), "r");
    if (!file)
        return 0;  // it has ended meanwhile
    constexpr char key[] = "voluntary_ctxt_switches:";
    char line[256];
    long count = 0;
    while (std::fgets(line, sizeof line, file))
        if (std::strncmp(line, key, sizeof key - 1) == 0)
            count = std::atol(line + sizeof key - 1);
    std::fclose(file);
    return count;
}

/// Voluntary switches: a thread that works without waiting has none.
inline switches count_switches() {
    switches found;
    DIR *threads = ::opendir("/proc/self/task");
    while (const dirent *entry = threads ? ::readdir(threads) : nullptr) {
        if (entry->d_name[0] == '.')
            continue;
        const long count = voluntary_switches_of(entry->d_name);
        (std::atol(entry->d_name) == ::getpid() ? found.application : found.library) += count;
    }
    if (threads)
        ::closedir(threads);
    return found;
}

}  // namespace guard
