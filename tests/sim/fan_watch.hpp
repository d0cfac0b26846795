// Counts for how many peers each message of a publisher was meant when it was sent. Nobody but the
// socket knows that: subscriptions come, and take effect, in the middle of its calls.
//
// Place:    where a pattern gives its messages to pipe/fan_out.hpp; the linker puts this watch
//           there (tests/CMakeLists.txt). A message to the only peer may go past it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace zlink {
class fan_out;
}

namespace zlink::sim {

class fan_watch {
public:
    void note_made(const fan_out &which) noexcept;
    void note_peer(const fan_out &which, int more) noexcept { fans_[&which].peers += more; }
    /// A frame was taken. `matching`: how many wanted the message before, if it is the first.
    void note_frame(const fan_out &which, std::size_t matching, bool more) noexcept;

    std::uint64_t messages() const noexcept { return messages_; }    // that are whole
    std::uint64_t wanted() const noexcept { return wanted_; }        // these, once for each peer
    std::uint64_t to_nobody() const noexcept { return to_nobody_; }  // no peer was there
    /// Sums the peers that wanted messages which never became whole.
    std::uint64_t half_wanted() const noexcept;

private:
    struct fan {
        int peers = 0;
        bool is_in_message = false;
        std::size_t wanted = 0;  // the message under way
    };

    std::map<const fan_out *, fan> fans_;
    std::uint64_t messages_ = 0;
    std::uint64_t wanted_ = 0;
    std::uint64_t to_nobody_ = 0;
    std::uint64_t half_wanted_ = 0;
};

}  // namespace zlink::sim
