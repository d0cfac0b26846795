// ROUTER: every message names its peer in front, by routing id (RFC 28). Base of what else does so:
//         see stream.cpp.
//
// Ids:      announced by the peer (in_band::hello), given by the application to a connection of its
//           own, or generated: a zero octet and a counter. An announced id cannot begin with zero,
//           so it never meets a generated one.
// Life:     a pipe is anonymous, and neither read nor written, until its hello is there. Anonymous
//           pipes are always armed. A closed pipe leaves the table at once, so its id is free, and
//           is read to its end under its old id.
#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <string>
#include <unordered_map>

#include "core/keyed_hash.hpp"
#include "pipe/fair_queue.hpp"
#include "socket/pattern.hpp"

namespace zlink {

class router : public plain_pattern {
public:
    explicit router(const pattern_environment &environment)
        : options_(environment.options), host_(environment.host),
          next_id_(static_cast<std::uint32_t>(environment.random.next())),
          peers_(0, keyed_hash(environment.random)), arrivals_(0, keyed_hash(environment.random)) {}

    void attach(const pipe_end_ptr &pipe, bool is_local) override;
    void detach(pipe_end &pipe) noexcept override;
    void on_readable(pipe_end &pipe) override;
    void on_writable(pipe_end &pipe) override { host_.look_at_slow(pipe); }
    void on_closed(pipe_end &pipe) override;

    error send(const outgoing &frame) override {
        return is_sending() ? send_body(frame) : send_address(frame);
    }
    error receive(frame_view &out) override;
    direct_way direct_input() noexcept override;
    direct_way direct_output() noexcept override;
    void resume_input() noexcept override;
    void resume_output() noexcept override;
    bool has_input() override;
    bool drops() const noexcept override { return !waits_for_full(); }
    bool has_output() override;
    bool arm(bool for_input, bool for_output) override;
    bool knows_peer(std::string_view routing_id) const override { return peers_.contains(routing_id); }
    error has_room_for(std::string_view routing_id, bool &out) const override;

    // For the fair queue.
    void on_command(pipe_end &pipe, const frame_view &command);
    void on_end(pipe_end &pipe) { finish(pipe); }

protected:
    bool is_anonymous(const pipe_end &pipe) const noexcept { return pipe.slot.routing_id.empty(); }
    std::string generate_id();
    /// Between the address and the last frame.
    bool is_sending() const noexcept { return sending_ != sending::nothing; }
    error send_address(const outgoing &frame);
    bool waits_for_full() const noexcept {
        return options_.slow_peer == slow_peer_rule::as_type ? options_.router_mandatory
                                                             : options_.slow_peer == slow_peer_rule::block;
    }
    void drop_for(pipe_end &pipe) noexcept;
    error send_body(const outgoing &frame);
    void count_lost_message() noexcept;
    pipe_end *target() const noexcept { return target_; }
    /// Ends the message that is being sent, as if nobody took it.
    void give_up_message() noexcept {
        target_ = nullptr;
        sending_ = sending::nothing;
    }
    /// Nothing goes to this peer any more, and of what it has sent nothing is received but the rest
    /// of a message.
    void dismiss(pipe_end &pipe);

    settings &options_;
    pattern_host &host_;

private:
    // ZMQ_ROUTER_NOTIFY
    static constexpr int notify_connect = 1;
    static constexpr int notify_disconnect = 2;

    enum class sending : std::uint8_t {
        nothing,
        message,
        message_that_lost_its_peer,  // and counts when it is whole
    };
    /// A peer that came without a hello: the first frame of its first message has been read.
    struct early_message {
        pipe_end *pipe;
        frame_view frame;
    };
    /// The news of a peer that the application is told (ZMQ_ROUTER_NOTIFY).
    struct notice {
        std::string routing_id;
        int what;
    };

    bool await_hello(pipe_end &pipe);
    bool take_first();
    bool name(pipe_end &pipe, std::string_view announced);
    void enlist(pipe_end &pipe, std::string routing_id);
    void unname(pipe_end &pipe) noexcept;
    void rename(pipe_end &pipe, std::string_view announced) noexcept;
    void unlist(pipe_end &pipe) noexcept;
    void take_over_from(pipe_end &old);
    void evict(pipe_end &old);
    void end_evicted();
    void finish(pipe_end &pipe);
    bool is_early(pipe_end &pipe) const noexcept {
        return std::any_of(early_.begin(), early_.end(),
                           [&](const early_message &e) { return e.pipe == &pipe; });
    }
    void drop_early(pipe_end &pipe) noexcept;
    void notify(pipe_end &pipe, int what) noexcept;
    void take_notice() noexcept;

    pipe_end *find(std::string_view routing_id) noexcept;
    bool receive_special(frame_view &out);
    bool has_room() noexcept;
    void arm_output() noexcept;
    void hold(frame_view &out, std::string_view routing_id, pipe_end *from) noexcept;
    bool is_receiving_from(pipe_end &pipe) const noexcept {
        return (is_holding_ && held_from_ == &pipe) || incoming_.is_reading(pipe);
    }
    /// Whether the first frame of a message of this pipe was read ahead, and its id has yet to be
    /// given out.
    bool is_in_front(pipe_end &pipe) const noexcept {
        return !incoming_.is_in_message() && incoming_.is_reading(pipe);
    }

    std::uint32_t next_id_;
    // Keys lie in slot.routing_id.
    std::unordered_map<std::string_view, pipe_end *, keyed_hash> peers_;

    // Sending. With no target the frames of a message are dropped.
    sending sending_ = sending::nothing;
    pipe_end *target_ = nullptr;
    pipe_end *last_peer_ = nullptr;  // found last
    pipe_end *blocked_ = nullptr;    // the full one that made the last send wait

    // Receiving. After an id has been given out, the frame behind it is held.
    fair_queue incoming_;
    bool is_holding_ = false;
    frame_view held_;
    pipe_end *held_from_ = nullptr;
    pipe_end *evicted_ = nullptr;  // lost its id in the middle of a message; ends with the message
    std::deque<early_message> early_;
    early_message first_{};  // of an anonymous pipe, read and not yet acted on: memory was short
    std::list<notice> notices_;
    // Those of peers that came, by id; keys lie in the notices.
    std::unordered_map<std::string_view, std::list<notice>::iterator, keyed_hash> arrivals_;
    std::string notified_id_;  // of the notice being received, or of an evicted pipe
};

}  // namespace zlink
