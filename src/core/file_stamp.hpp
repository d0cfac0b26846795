// By which a file is known that nobody has written or replaced: what the system says of it. Of one
// that is not there: nothing.
#pragma once

#include <ctime>
#include <sys/stat.h>

namespace zlink {

struct file_stamp {
    bool is_there = false;
    dev_t device = 0;
    ino_t node = 0;
    off_t size = 0;
    std::timespec written{}, changed{};

    static file_stamp of(const struct stat &facts) noexcept {
        return {true, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim, facts.st_ctim};
    }

    bool operator==(const file_stamp &other) const noexcept {
        const auto same = [](const std::timespec &a, const std::timespec &b) {
            return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
        };
        return is_there == other.is_there && device == other.device && node == other.node &&
               size == other.size && same(written, other.written) && same(changed, other.changed);
    }
};

}  // namespace zlink
