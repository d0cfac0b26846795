// A file that has the numbers of the process, for others to read while it hangs, and when it has
// ended without a farewell.
//
// Layout:   a head of 128 octets, "zlink-metrics 1 PROCESS START SEQUENCE OFFSET SIZE SECOND\n" and
//           blanks: the number of the process, its start in ticks of the system since that has
//           started (proc(5): stat), the texts written so far, where the last one stands, and the
//           octets of a second one right behind it. There are two places for such pairs: the one
//           that the head does not name is written, and then the head. Who has read a text, and
//           finds the head as it was before, has read it whole.
// Begins:   it is made anew beside its path, for the user alone, and then gets its name: nobody
//           sees half of it. A text that has no room makes another file in its place.
// Ends:     it is removed with the process, if that can do something then. One that is left over is
//           known by its process and start.
// Threads:  any; one lock inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "core/owned_descriptor.hpp"
#include "metrics/file_identity.hpp"

namespace zlink::metrics {

class numbers_file {
public:
    /// The file comes with the first text. Throws bad_alloc.
    explicit numbers_file(std::string path);

    /// Replaces the texts. False where the system does not take it, and why as an errno: EADDRINUSE
    /// where a process that lives has a file of this kind there, EEXIST where a file of another
    /// kind is. What was before, if anything, stays as it is. Throws bad_alloc.
    bool write(std::string_view text, std::string_view second, int &failure);
    /// Takes it away, if it still is what was written here, by this process. No file comes back.
    /// It is left over, after a second, where a disk hangs while something is written.
    void remove() noexcept;

private:
    bool write_into(const owned_descriptor &file, std::string_view text, std::string_view second,
                    int &failure) noexcept;
    bool begin(std::string_view text, std::string_view second, int &failure);
    bool is_still_there() noexcept;

    const std::string path_;
    const int process_;
    const std::uint64_t start_;
    std::mutex mutex_;  // guards the rest
    owned_descriptor file_;
    file_identity identity_;  // of the file
    std::size_t room_ = 0;    // of each of the two places
    std::uint64_t sequence_ = 0;
    bool is_removed_ = false;
};

/// The start of a process in ticks, 0 where there is none.
std::uint64_t start_of_process(int process);

}  // namespace zlink::metrics
