// The file, written into one of two places in turn; see numbers_file.hpp. Map: reading and writing
// octets; what is in the way at the path; writing a text; making the file anew; removing it.
#include "metrics/numbers_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zlink::metrics {

namespace {

constexpr std::size_t size_of_head = 128;
constexpr std::size_t least_octets_of_room = 16 * 1024;

/// Reads what is there, up to `most` octets. Throws bad_alloc.
std::string read_beginning(const owned_descriptor &file, std::size_t most) {
    std::string text(most, '\0');
    std::size_t size = 0;
    for (ssize_t more = 1; more > 0 && size < most;
         size += static_cast<std::size_t>(std::max<ssize_t>(more, 0)))
        more = ::read(file.get(), text.data() + size, most - size);
    text.resize(size);
    return text;
}

bool write_at(const owned_descriptor &file, std::string_view text, std::size_t offset,
              int &failure) noexcept {
    while (!text.empty()) {
        const ssize_t size = ::pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(offset));
        if (size <= 0) {
            failure = size < 0 ? errno : ENOSPC;
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(size));
        offset += static_cast<std::size_t>(size);
    }
    return true;
}

/// 0 where nothing is in the way at the path.
int obstacle_at(const std::string &path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(found.st_mode))
        return EEXIST;
    const owned_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file)
        return errno;
    int process = 0;
    std::uint64_t start = 0;
    if (std::sscanf(read_beginning(file, size_of_head).c_str(), "zlink-metrics 1 %d %" SCNu64 " ", &process,
                    &start) != 2)
        return EEXIST;
    // A program that this one has replaced (exec) had the same number and start.
    return process != ::getpid() && start_of_process(process) == start ? EADDRINUSE : 0;
}

}  // namespace

std::uint64_t start_of_process(int process) {
    const std::string path = "/proc/" + std::to_string(process) + "/stat";
    const owned_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return 0;
    const std::string text = read_beginning(file, 4096);
    constexpr int fields_behind_name = 20;  // the name may have blanks, and brackets
    std::size_t at = text.rfind(')');
    for (int left = fields_behind_name; left > 0 && at != text.npos; --left)
        at = text.find(' ', at + 1);
    std::uint64_t start = 0;
    return at != text.npos && std::sscanf(text.c_str() + at, "%" SCNu64, &start) == 1 ? start : 0;
}

numbers_file::numbers_file(std::string path)
    : path_(std::move(path)), process_(::getpid()), start_(start_of_process(process_)) {}

bool numbers_file::write(std::string_view text, std::string_view second, int &failure) {
    std::lock_guard guard(mutex_);
    if (is_removed_)
        return true;
    if (text.size() + second.size() > room_ || !is_still_there())
        return begin(text, second, failure);
    return write_into(file_, text, second, failure);
}

bool numbers_file::write_into(const owned_descriptor &file, std::string_view text, std::string_view second,
                              int &failure) noexcept {
    const std::size_t offset = size_of_head + (sequence_ + 1) % 2 * room_;
    if (!write_at(file, text, offset, failure) || !write_at(file, second, offset + text.size(), failure))
        return false;
    char head[size_of_head + 1];
    const int size =
        std::snprintf(head, sizeof head, "zlink-metrics 1 %d %" PRIu64 " %" PRIu64 " %zu %zu %zu", process_,
                      start_, sequence_ + 1, offset, text.size(), second.size());
    std::memset(head + size, ' ', size_of_head - static_cast<std::size_t>(size));
    head[size_of_head - 1] = '\n';
    if (!write_at(file, {head, size_of_head}, 0, failure))
        return false;
    ++sequence_;
    return true;
}

/// Somebody may have cleared it away. A descriptor that the program has closed is not closed again.
bool numbers_file::is_still_there() noexcept {
    struct stat found {};
    if (file_ && (::fstat(file_.get(), &found) != 0 || !identity_.is(found)))
        (void)file_.release();
    return file_ && found.st_nlink > 0;
}

bool numbers_file::begin(std::string_view text, std::string_view second, int &failure) {
    if ((failure = obstacle_at(path_)) != 0)
        return false;
    const std::string temporary = path_ + '.' + std::to_string(process_);
    (void)::unlink(temporary.c_str());
    owned_descriptor made(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!made) {
        failure = errno;
        return false;
    }
    room_ = std::max(2 * (text.size() + second.size()), least_octets_of_room);
    bool is_there = write_into(made, text, second, failure);
    if (is_there && ::rename(temporary.c_str(), path_.c_str()) != 0) {
        failure = errno;
        is_there = false;
    }
    if (!is_there)
        (void)::unlink(temporary.c_str());
    // After a failure there is no file to write to, and the next text tries again.
    identity_ = is_there ? file_identity(made.get()) : file_identity();
    file_ = is_there ? std::move(made) : owned_descriptor();
    return is_there;
}

void numbers_file::remove() noexcept {
    if (::getpid() != process_)
        return;  // in a child of fork, where the lock may be held for ever
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (int looks = 100; !lock && looks > 0; --looks) {
        (void)::poll(nullptr, 0, 10);
        (void)lock.try_lock();
    }
    if (!lock)
        return;
    is_removed_ = true;
    identity_.remove(path_.c_str());
}

}  // namespace zlink::metrics
