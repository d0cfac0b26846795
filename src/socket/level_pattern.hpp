// A pattern around that of a socket which tells by levels, for loops that wait on descriptors,
// whether there is input and whether there is room (ZLINK_EVENT_FD, ZLINK_ROOM_FD).
//
// Flow:     each call goes to the pattern within. Behind one that takes a message, and behind
//           commands that may have brought one, the pattern is asked whether there is another; if
//           not, its pipes are armed, as before a sleep. The level says what was found. What comes
//           later is a command first, whose own level stands until a call takes it in: a program
//           waits on both by one descriptor.
// Bodies:   to look for the next message ends the life of the last one, so that one is kept here:
//           by reference, or as a copy.
// Threads:  the socket's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/owned_descriptor.hpp"
#include "core/waiter.hpp"
#include "socket/pattern.hpp"

namespace zlink {

class level_pattern final : public pattern {
public:
    level_pattern(std::unique_ptr<pattern> within, pattern_host &host, socket_type type) noexcept
        : within_(std::move(within)), host_(host),
          takes_turns_(type == socket_type::req || type == socket_type::rep) {}
    ~level_pattern() override { forget_body(); }

    /// The descriptor that is readable while there is input (room), or commands are to be taken in
    /// that may have brought some: those that `commands` is up for. Made on first use.
    error input_descriptor(waiter &how, const wakeup &commands, int &out);
    error room_descriptor(waiter &how, const wakeup &commands, int &out);
    /// The number of descriptors that these two have taken: a level, and what joins it with
    /// `commands`.
    int descriptors() const noexcept { return 2 * (input_.is_asked_for() + room_.is_asked_for()); }

    /// The pattern within gives way to another, while there are no pipes.
    void replace(std::unique_ptr<pattern> within) noexcept {
        within_ = std::move(within);
        look();
    }
    /// Sets the levels to what there is: also where no call of the pattern has changed it, but an
    /// option has.
    void look() noexcept;

    void attach(const pipe_end_ptr &pipe, bool is_local) override;
    void detach(pipe_end &pipe) noexcept override;
    void on_readable(pipe_end &pipe) override;
    void on_writable(pipe_end &pipe) override;
    void on_closed(pipe_end &pipe) override;
    void go_on() override;
    error send(const outgoing &frame) override;
    error receive(frame_view &out) override;
    // There is no direct way around the looks.
    direct_way direct_input() noexcept override { return {}; }
    direct_way direct_output() noexcept override { return {}; }
    void resume_input() noexcept override {}
    void resume_output() noexcept override {}
    bool has_input() override { return within_->has_input(); }
    bool has_output() override { return within_->has_output(); }
    bool drops() const noexcept override { return within_->drops(); }
    bool arm(bool for_input, bool for_output) override { return within_->arm(for_input, for_output); }
    error subscribe(byte_span topic) override;
    error unsubscribe(byte_span topic) override;
    bool knows_peer(std::string_view routing_id) const override { return within_->knows_peer(routing_id); }
    error has_room_for(std::string_view routing_id, bool &out) const override {
        return within_->has_room_for(routing_id, out);
    }
    int topics_count() const override { return within_->topics_count(); }
    int subscribers_count() const override { return within_->subscribers_count(); }

private:
    struct level {
        bool is_asked_for() const noexcept { return own != nullptr; }
        void set(bool up) noexcept;

        std::unique_ptr<wakeup> own;
        owned_descriptor joint;
        bool is_up = false;
    };

    error make(level &which, waiter &how, const wakeup &commands, int &out) noexcept;
    void look_if_asked(level &which) noexcept;
    void look_for(level &which);
    bool keep_body(frame_view &out) noexcept;
    void forget_body() noexcept;

    std::unique_ptr<pattern> within_;
    pattern_host &host_;
    const bool takes_turns_;  // a message that is sent changes whether one can be received
    level input_, room_;
    // The last message given out:
    std::vector<std::uint8_t> copy_;
    block_ref owner_, info_;
    block *lone_ = nullptr;
};

}  // namespace zlink
