#include "policy/trusted_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "core/error.hpp"
#include "transport/socket_options.hpp"

namespace zlink::trusted_file {

namespace {

bool refuse(std::string &why, std::string words) {
    why = std::move(words);
    return false;
}

bool is_trusted(uid_t owner) noexcept { return owner == 0 || owner == ::geteuid(); }

bool is_read_only(int folder) noexcept {
    struct statvfs facts;
    return ::fstatvfs(folder, &facts) == 0 && (facts.f_flag & ST_RDONLY);
}

constexpr mode_t others_write = S_IWGRP | S_IWOTH;
constexpr mode_t others_read = S_IRGRP | S_IROTH;

bool check_folder(int folder, const std::string &path, std::string &why) {
    struct stat facts;
    if (::fstat(folder, &facts) != 0)
        return refuse(why, "cannot look at " + path + ": " + describe(errno));
    const bool is_safe =
        (facts.st_mode & others_write) == 0 || ((facts.st_mode & S_ISVTX) && facts.st_uid == 0);
    if ((is_trusted(facts.st_uid) && is_safe) || is_read_only(folder))
        return true;
    return refuse(why,
                  "the folder " + path +
                      (is_safe ? " belongs to neither root nor this user" : " may be written by others"));
}

bool check_file(const struct stat &facts, const std::string &path, kind what, std::string &why) {
    if (!S_ISREG(facts.st_mode))
        return refuse(why, path + " is no regular file");
    if (!is_trusted(facts.st_uid))
        return refuse(why, path + " belongs to neither root nor this user");
    if (facts.st_mode & others_write)
        return refuse(why, path + " may be written by others");
    if (what == kind::secret && (facts.st_mode & others_read))
        return refuse(why, path + " holds a secret, and may be read by others");
    return true;
}

std::string words_of_no_way(const std::string &to) {
    const int number = errno;
    return number == ELOOP || number == ENOTDIR
               ? to + " is a symbolic link, or leads through one, or through what is no folder"
               : "cannot open " + to + ": " + describe(number);
}

/// Opens the file by way of folders that are all judged.
bool open(const std::string &path, kind what, owned_descriptor &out, struct stat &facts, std::string &why) {
    if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos)
        return refuse(why, "a path from the root is expected, not '" + path + "'");
    owned_descriptor folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::size_t from = 1;
    for (;;) {
        if (folder.get() < 0)
            return refuse(why, words_of_no_way(path.substr(0, from)));
        if (!check_folder(folder.get(), path.substr(0, from), why))
            return false;
        const std::size_t slash = path.find('/', from);
        if (slash == std::string::npos)
            break;
        const std::string next = path.substr(from, slash - from);
        if (next == "..")
            return refuse(why, path + " leads back by ..");
        from = slash + 1;
        if (!next.empty() && next != ".")
            folder = owned_descriptor(
                ::openat(folder.get(), next.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    out = owned_descriptor(::openat(folder.get(), path.c_str() + from,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (out.get() < 0)
        return refuse(why, words_of_no_way(path));
    if (::fstat(out.get(), &facts) != 0)
        return refuse(why, "cannot look at " + path + ": " + describe(errno));
    return check_file(facts, path, what, why);
}

bool is_same(const struct stat &a, const struct stat &b) noexcept {
    return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
           a.st_mtim.tv_nsec == b.st_mtim.tv_nsec && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
           a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

}  // namespace

bool check(const std::string &path, kind what, std::string &why) {
    owned_descriptor file;
    struct stat facts;
    return open(path, what, file, facts, why);
}

bool read(const std::string &path, kind what, std::string &out, std::string &why) {
    owned_descriptor file;
    struct stat before, after;
    if (!open(path, what, file, before, why))
        return false;
    if (static_cast<std::size_t>(before.st_size) > most_octets)
        return refuse(why, path + " is larger than a MiB");
    out.clear();
    out.reserve(static_cast<std::size_t>(before.st_size) + 1);
    char octets[16 * 1024];
    for (;;) {
        const ssize_t count = ::read(file.get(), octets, sizeof octets);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return refuse(why, "cannot read " + path + ": " + describe(errno));
        if (count == 0)
            break;
        out.append(octets, static_cast<std::size_t>(count));
        if (out.size() > most_octets)
            return refuse(why, path + " is larger than a MiB");
    }
    ::explicit_bzero(octets, sizeof octets);
    if (::fstat(file.get(), &after) != 0 || !is_same(before, after) ||
        out.size() != static_cast<std::size_t>(after.st_size))
        return refuse(why, path + " is being written");
    return true;
}

}  // namespace zlink::trusted_file
