// The way to a file, and the file, judged by descriptors; see trusted_file.hpp. Map: a folder; a
// file; the way; opening; reading, which is done again where the file has changed meanwhile;
// listing.
#include "policy/trusted_file.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "core/error.hpp"
#include "core/finally.hpp"
#include "core/owned_descriptor.hpp"

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

/// The folder that a path ends in, by way of folders that are all judged; `from`: where the name in
/// it begins.
bool follow(const std::string &path, owned_descriptor &folder, std::size_t &from, std::string &why) {
    if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos)
        return refuse(why, "a path from the root is expected, not '" + path + "'");
    folder = owned_descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    from = 1;
    for (;;) {
        if (folder.get() < 0)
            return refuse(why, words_of_no_way(path.substr(0, from)));
        if (!check_folder(folder.get(), path.substr(0, from), why))
            return false;
        const std::size_t slash = path.find('/', from);
        if (slash == std::string::npos)
            return true;
        const std::string next = path.substr(from, slash - from);
        if (next == "..")
            return refuse(why, path + " leads back by ..");
        from = slash + 1;
        if (!next.empty() && next != ".")
            folder = owned_descriptor(
                ::openat(folder.get(), next.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
}

bool open(const std::string &path, kind what, owned_descriptor &out, struct stat &facts, std::string &why) {
    owned_descriptor folder;
    std::size_t from = 0;
    if (!follow(path, folder, from, why))
        return false;
    out = owned_descriptor(::openat(folder.get(), path.c_str() + from,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (out.get() < 0)
        return refuse(why, words_of_no_way(path));
    if (::fstat(out.get(), &facts) != 0)
        return refuse(why, "cannot look at " + path + ": " + describe(errno));
    return check_file(facts, path, what, why);
}

std::string words_of_size(const std::string &path, std::size_t most) {
    return path + " is larger than " + std::to_string(most >> 20) + " MiB";
}

/// Reads what was opened, up to its end.
bool read_whole(int file, const std::string &path, std::size_t most, std::string &out, std::string &why) {
    char octets[16 * 1024];
    const finally wipe([&] { ::explicit_bzero(octets, sizeof octets); });
    for (;;) {
        const ssize_t count = ::read(file, octets, sizeof octets);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return refuse(why, "cannot read " + path + ": " + describe(errno));
        if (count == 0)
            return true;
        out.append(octets, static_cast<std::size_t>(count));
        if (out.size() > most)
            return refuse(why, words_of_size(path, most));
    }
}

/// Does read_if_changed() once. `is_torn`: it became another file meanwhile.
bool read_once(const std::string &path, kind what, std::size_t most, file_stamp &seen, bool &is_fresh,
               bool &is_torn, std::string &out, std::string &why) {
    owned_descriptor file;
    struct stat before, after;
    if (!open(path, what, file, before, why))
        return false;
    if (file_stamp::of(before) == seen)
        return true;
    if (static_cast<std::size_t>(before.st_size) > most)
        return refuse(why, words_of_size(path, most));
    out.clear();
    out.reserve(static_cast<std::size_t>(before.st_size) + 1);
    if (!read_whole(file.get(), path, most, out, why))
        return false;
    is_torn = ::fstat(file.get(), &after) != 0 || !(file_stamp::of(before) == file_stamp::of(after)) ||
              out.size() != static_cast<std::size_t>(after.st_size) || after.st_nlink == 0;
    if (is_torn)
        return refuse(why, path + " is being written");
    seen = file_stamp::of(after);
    is_fresh = true;
    return true;
}

}  // namespace

bool read(const std::string &path, kind what, std::string &out, std::string &why) {
    file_stamp none;
    bool is_fresh = false;
    return read_if_changed(path, what, most_octets, none, is_fresh, out, why);
}

bool read_if_changed(const std::string &path, kind what, std::size_t most, file_stamp &seen, bool &is_fresh,
                     std::string &out, std::string &why) {
    // Another file may have taken its place: then that is read.
    constexpr int attempts = 3;
    is_fresh = false;
    for (int left = attempts;; --left) {
        bool is_torn = false;
        why.clear();
        if (read_once(path, what, most, seen, is_fresh, is_torn, out, why))
            return true;
        if (!is_torn || left == 1)
            return false;
    }
}

bool list(const std::string &path, std::string_view ending, std::vector<listed> &out, std::string &why) {
    owned_descriptor folder;
    std::size_t from = 0;
    if (!follow(path + "/", folder, from, why))
        return false;
    const int descriptor = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const all = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
    if (!all) {
        const int number = errno;
        if (descriptor >= 0)
            ::close(descriptor);
        return refuse(why, "cannot read the folder " + path + ": " + describe(number));
    }
    const finally close_it([&] { ::closedir(all); });
    for (const dirent *each; (each = ::readdir(all)) != nullptr;) {
        if (!std::string_view(each->d_name).ends_with(ending))
            continue;
        if (out.size() == most_files_in_folder)
            return refuse(why, "there are too many files in " + path);
        struct stat facts;
        const bool is_there = ::fstatat(descriptor, each->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0;
        out.push_back({each->d_name, is_there ? file_stamp::of(facts) : file_stamp{}});
    }
    return true;
}

}  // namespace zlink::trusted_file
