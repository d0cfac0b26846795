// A run of sockets that keep the newest message only (ZMQ_CONFLATE): values may be missed, but none
// comes after a newer one, and what was sent last arrives last (promise 16).
//
// Flow:     one sender counts, under faults; heal; everybody hears of something sent since; the
//           sender stops, and everybody gets to its last value; the end.
#pragma once

#include <deque>
#include <memory>

#include "stage.hpp"

namespace zlink::sim {

class newest final : private stage {
public:
    newest(std::uint64_t seed, planted plant, const dice &chance, const tuning &knobs);
    verdict run();

private:
    struct receiver {
        int tag = 0;
        std::uint64_t value = 0;  // the newest
        time_point when{};        // it was received
    };

    std::unique_ptr<socket> open(socket_type type, int tag, bool binds);
    void send();
    void receive(receiver &self);
    void judge(receiver &self, byte_span body);
    void conduct();
    octets body_of(std::uint64_t value) const;

    socket_type sends_ = socket_type::push;
    socket_type receives_ = socket_type::pull;
    bool sender_binds_ = false;
    bool is_inproc_ = false;
    bool is_calm_ = false;
    std::deque<receiver> receivers_;
    std::uint64_t last_sent_ = 0;
    bool is_settled_ = false;  // no connection is left over from before
    bool has_stopped_ = false;
    std::size_t largest_ = 40;
    std::uint64_t often_us_ = 0;  // between two values
};

}  // namespace zlink::sim
