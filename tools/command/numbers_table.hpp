// Numbers of a process as tables: what happens in a second, and what is there.

#pragma once

#include "numbers_source.hpp"

#include <map>
#include <string>
#include <vector>

namespace command {

/// A socket, a peer, or one that has gone, with what has changed since the look before.
struct row_of_numbers {
    const json_object *of = nullptr;
    double sent_rate = 0, received_rate = 0;  // messages a second
    double queued = 0, dropped = 0, reconnects = 0, failed_handshakes = 0;
    bool loses = false;  // has lost messages since then
    double quiet = 0;    // seconds for which nothing has come from a peer, as far as is known
    double times = 0;    // that it has gone, since then
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
    /// Those that have gone, or were not let in: who has done so most since the last look first.
    std::vector<row_of_numbers> gone() const;

private:
    struct heard {
        double received = 0;  // what waits for the application included
        double since = 0;     // the time from which on it is this
    };

    void listen();

    numbers last_, before_;
    std::map<std::string, heard> heard_;  // of each peer, by its identity
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
