// Which file or socket a descriptor stands for: a program that closes all of them, as daemons do,
// gets the number for another one of its own.
//
// Threads:  any.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

namespace zlink::metrics {

class file_identity {
public:
    file_identity() noexcept = default;
    /// Takes that of an open descriptor.
    explicit file_identity(int descriptor) noexcept : is_known_(::fstat(descriptor, &what_) == 0) {}
    explicit file_identity(const struct stat &found) noexcept : what_(found), is_known_(true) {}

    /// Whether the descriptor, which may be closed, still stands for it.
    bool is_at(int descriptor) const noexcept {
        struct stat found {};
        return ::fstat(descriptor, &found) == 0 && is(found);
    }
    bool is(const struct stat &found) const noexcept {
        return is_known_ && found.st_dev == what_.st_dev && found.st_ino == what_.st_ino;
    }
    /// Removes the path, unless something else has come to it.
    void remove(const char *path) const noexcept {
        struct stat found {};
        if (::lstat(path, &found) == 0 && is(found))
            (void)::unlink(path);
    }

private:
    struct stat what_ {};
    bool is_known_ = false;
};

}  // namespace zlink::metrics
