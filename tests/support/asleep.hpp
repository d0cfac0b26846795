// Whether threads of this process sleep, as the kernel tells it.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace zlink_test {

inline bool is_asleep(long thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    std::FILE *file = std::fopen(path.c_str(), "r");
    char state = '?';
    const bool good = file && std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file)
        std::fclose(file);
    return good && state == 'S';
}

/// True when every thread but the caller's slept as it was looked at.
inline bool others_are_asleep() {
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const long thread = std::atol(entry.path().filename().c_str());
        if (thread != ::gettid() && !is_asleep(thread))
            return false;
    }
    return true;
}

}  // namespace zlink_test
