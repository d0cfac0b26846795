// Looks through the memory of this process for what is not to be there. Who asks has it inverted
// only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace zlink_test {

inline std::string inverted(std::string text) {
    for (char &each : text)
        each = static_cast<char>(~each);
    return text;
}

/// One line of /proc/self/smaps, and the flags that belong to it (proc(5), VmFlags).
struct mapping {
    std::uintptr_t from = 0, to = 0;
    bool is_readable = false, is_writable = false, has_file = false, is_main_stack = false;
    std::string flags;

    /// It stands in a core that the process dumps.
    bool is_dumped() const { return !has("dd"); }
    bool is_locked() const { return has("lo"); }
    bool has(const char *flag) const { return flags.find(std::string(" ") + flag) != std::string::npos; }
    bool covers(const void *place) const {
        return from <= reinterpret_cast<std::uintptr_t>(place) &&
               reinterpret_cast<std::uintptr_t>(place) < to;
    }
};

inline std::vector<mapping> mappings() {
    std::vector<mapping> out;
    std::ifstream smaps("/proc/self/smaps");
    for (std::string line; std::getline(smaps, line);) {
        unsigned long from = 0, to = 0, inode = 0;
        char how[5] = "";
        constexpr std::string_view flags = "VmFlags:";
        if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &from, &to, how, &inode) == 4)
            out.push_back({from,
                           to,
                           how[0] == 'r',
                           how[1] == 'w',
                           inode != 0 || line.find("[v") != std::string::npos,
                           line.find("[stack]") != std::string::npos,
                           {}});
        else if (line.compare(0, flags.size(), flags) == 0 && !out.empty())
            out.back().flags = line.substr(flags.size());
    }
    return out;
}

/// That which `place` is in; without an address where there is none.
inline mapping mapping_of(const void *place) {
    for (mapping &each : mappings())
        if (each.covers(place))
            return each;
    return {};
}

/// Whether this process may lock one page more than it has.
inline bool may_lock_memory() {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void *const tried = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // A sanitizer's mlock() does nothing, and says 0.
    const bool is_locked = tried != MAP_FAILED && ::mlock(tried, page) == 0 && mapping_of(tried).is_locked();
    if (tried != MAP_FAILED)
        ::munmap(tried, page);
    return is_locked;
}

/// Reads memory, into memory that is in no core itself.
class memory_reader {
public:
    memory_reader()
        : memory_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)),
          octets_(static_cast<char *>(
              ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        ::madvise(octets_, size, MADV_DONTDUMP);
    }
    ~memory_reader() {
        ::munmap(octets_, size);
        ::close(memory_);
    }
    memory_reader(const memory_reader &) = delete;
    memory_reader &operator=(const memory_reader &) = delete;

    bool is_within(const mapping &where) const { return where.covers(octets_); }

    /// Counts the places there that hold the inversion of `needle`.
    int count(const mapping &where, const std::string &needle) {
        int found = 0;
        for (std::uintptr_t at = where.from; at < where.to;) {
            const ssize_t got =
                ::pread(memory_, octets_, std::min<std::size_t>(size, where.to - at), static_cast<off_t>(at));
            if (got < static_cast<ssize_t>(needle.size()))
                break;
            found += count_in({octets_, static_cast<std::size_t>(got)}, needle);
            at += static_cast<std::size_t>(got) - (needle.size() - 1);
        }
        return found;
    }

private:
    static constexpr std::size_t size = 1 << 20;

    static int count_in(std::string_view octets, const std::string &needle) {
        const char first = static_cast<char>(~needle[0]);
        int found = 0;
        for (std::size_t at = 0; (at = octets.find(first, at)) != std::string_view::npos; ++at) {
            std::size_t same = 0;
            while (same < needle.size() && at + same < octets.size() &&
                   octets[at + same] == static_cast<char>(~needle[same]))
                ++same;
            found += same == needle.size();
        }
        return found;
    }

    const int memory_;
    char *const octets_;
};

template <class Choice>
int count_where(const std::string &needle, Choice choice) {
    memory_reader reader;
    int found = 0;
    for (const mapping &each : mappings())
        if (each.is_readable && (each.is_writable || !each.has_file) && !reader.is_within(each) &&
            choice(each))
            found += reader.count(each, needle);
    return found;
}

/// Counts the places in memory that hold the inversion of `needle`, but for the stack of the main
/// thread.
inline int count_in_memory(const std::string &needle) {
    return count_where(needle, [](const mapping &each) { return !each.is_main_stack; });
}

/// Counts those that would be in a core.
inline int count_in_core(const std::string &needle) {
    return count_where(needle, [](const mapping &each) { return each.is_dumped(); });
}

/// Counts the words of it that would: eight octets, as a register holds them.
inline int count_words_in_core(const std::string &needle) {
    int found = 0;
    for (std::size_t at = 0; at + 8 <= needle.size(); at += 8)
        found += count_in_core(needle.substr(at, 8));
    return found;
}

}  // namespace zlink_test
