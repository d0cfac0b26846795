// Numbers of a process as tables: what happens in a second, and what is there.

#pragma once

#include "numbers_source.hpp"

#include <string>
#include <vector>

namespace command {

/// A socket or a peer, with what has changed since the look before.
struct row_of_numbers {
    const json_object *of = nullptr;
    double sent_rate = 0, received_rate = 0;  // messages a second
    double queued = 0, dropped = 0, reconnects = 0, failed_handshakes = 0;
    bool loses = false;  // has lost messages since then
};

/// The names that rows can be sorted by.
const std::vector<std::string> &sort_names();

/// The last look at a process, and the one before.
class two_looks {
public:
    void take(numbers next);
    /// There was no answer: what is there is old.
    void take_silence() { last_.is_silent = true; }

    const numbers &last() const { return last_; }
    /// Seconds between both; 0 where there is one.
    double interval() const;
    /// These refer to this object, until it takes another look.
    std::vector<row_of_numbers> sockets(const std::string &sort) const;
    std::vector<row_of_numbers> peers(const std::string &sort) const;

private:
    numbers last_, before_;
};

struct place_for_lines {
    size_t width = 80;
    size_t height = 0;  // 0: as many as there are
    bool has_colour = false;
};

/// A head, a line for each socket, and one for each peer as far as there is room.
std::vector<std::string> lines_of(const two_looks &looks, const std::string &sort,
                                  const place_for_lines &place);

/// All of it, with the rates.
std::string json_of(const two_looks &looks, const std::string &sort);

}  // namespace command
