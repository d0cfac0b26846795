// Passes messages between two sockets; see proxy.hpp.
//
// Map:      counts of the traffic; the two sides; `proxy`, with its rounds and the commands that
//           steer it.
#include "context/proxy.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "core/finally.hpp"
#include "core/platform.hpp"
#include "socket/poll_set.hpp"

namespace zlink {

namespace {

constexpr int most_messages_one_way = 1000;

/// The traffic through one side, messages of several parts counted once.
struct traffic {
    std::uint64_t messages_in = 0;
    std::uint64_t octets_in = 0;
    std::uint64_t messages_out = 0;
    std::uint64_t octets_out = 0;
};

struct side {
    socket &self;
    traffic passed;
    bool has_input = false;  // as last looked at
};

/// Does not wait for a side that is far behind, as long as that has room: there is another one to
/// serve.
class proxy {
public:
    explicit proxy(const proxy_sockets &sockets) noexcept
        : front_{sockets.frontend, {}}, back_{sockets.backend, {}}, capture_(sockets.capture),
          control_(sockets.control), is_one_socket_(&sockets.frontend == &sockets.backend) {
        set_limits_backlog_of_all(false);
    }
    ~proxy() { set_limits_backlog_of_all(true); }
    proxy(const proxy &) = delete;
    proxy &operator=(const proxy &) = delete;

    error run() {
        while (state_ != state::over) {
            platform::end_if_cancelled();  // also one that never waits
            bool has_moved = false;
            if (const error e = round(has_moved); failed(e))
                return e;
            if (has_moved)
                continue;
            if (const error e = wait(); failed(e))
                return e;
        }
        return error::none;
    }

private:
    void set_limits_backlog_of_all(bool on) noexcept {
        for (socket *each : {&front_.self, &back_.self, capture_}) {
            if (each)
                each->set_limits_backlog(on);
        }
    }

    error round(bool &has_moved) {
        if (control_) {
            if (const error e = obey(has_moved); failed(e))
                return e;
        }
        if (state_ != state::passing)
            return error::none;
        if (is_one_socket_)
            return pass(front_, front_, has_moved);
        if (const error e = pass(front_, back_, has_moved); failed(e))
            return e;
        return pass(back_, front_, has_moved);
    }

    /// Waits for what keeps each way from going on: input, or else room on the other side.
    error wait() {
        std::array<watched, 3> items;
        std::size_t count = 0;
        if (state_ == state::passing) {
            const side &second = is_one_socket_ ? front_ : back_;
            items[count++] = {&front_.self, -1, wanted(front_, second), 0};
            if (!is_one_socket_)
                items[count++] = {&back_.self, -1, wanted(back_, front_), 0};
        }
        if (control_)
            items[count++] = {control_, -1, ZMQ_POLLIN, 0};
        std::size_t ready = 0;
        return wait_for_any({items.data(), count}, -1, ready);
    }

    static short wanted(const side &one, const side &other) noexcept {
        return static_cast<short>((one.has_input ? 0 : ZMQ_POLLIN) | (other.has_input ? ZMQ_POLLOUT : 0));
    }

    // ---- Messages ----

    error pass(side &from, side &to, bool &has_moved) {
        for (int i = 0; i < most_messages_one_way; ++i) {
            short ready = 0;
            if (const error e = from.self.events(ZMQ_POLLIN, ready, false); failed(e))
                return e;
            from.has_input = ready & ZMQ_POLLIN;
            if (!from.has_input)
                return error::none;
            if (!is_one_socket_) {  // a REP can send only once it has received
                if (const error e = to.self.events(ZMQ_POLLOUT, ready, false); failed(e))
                    return e;
                if (!(ready & ZMQ_POLLOUT))
                    return error::none;
            }
            if (const error e = pass_message(from, to); failed(e))
                return e;
            has_moved = true;
        }
        return error::none;
    }

    error pass_message(side &from, side &to) {
        std::uint64_t octets = 0;
        bool is_unwanted = false;
        bool has_more = false;
        // When the proxy ends in the middle of a message, whoever goes on with the socket does not
        // find the rest of it.
        const finally over([&] {
            if (has_more)
                drop_rest(from.self);
        });
        do {
            const error e = is_one_socket_ ? pass_copy(from.self, octets, has_more, is_unwanted)
                                           : pass_frame(from.self, to.self, octets, has_more, is_unwanted);
            if (failed(e))
                return e;
        } while (has_more);
        ++from.passed.messages_in;
        from.passed.octets_in += octets;
        if (!is_unwanted) {
            ++to.passed.messages_out;
            to.passed.octets_out += octets;
        }
        return error::none;
    }

    static void drop_rest(socket &from) noexcept {
        const platform::cancellation_shield shield;
        frame_view frame;
        while (!failed(from.receive(frame, ZMQ_DONTWAIT)) && frame.has_more()) {
        }
    }

    /// Passes one frame on from where it lies.
    error pass_frame(socket &from, socket &to, std::uint64_t &octets, bool &has_more, bool &is_unwanted) {
        frame_view frame;
        has_more = false;
        if (const error e = from.receive(frame, ZMQ_DONTWAIT); failed(e))
            return e;
        octets += frame.size;
        has_more = frame.has_more();
        outgoing onward;
        onward.body = frame.body();
        onward.owner = frame.owner;
        onward.more = has_more;
        if (capture_) {
            if (const error e = capture_->send(onward, 0); failed(e))
                return e;
        }
        return is_unwanted ? error::none : checked(to.send(onward, 0), is_unwanted);
    }

    /// Does pass_frame() between a socket and itself: the frame does not stay while the socket
    /// sends.
    error pass_copy(socket &self, std::uint64_t &octets, bool &has_more, bool &is_unwanted) {
        held part;
        has_more = false;
        if (const error e = self.receive(part.held_message, ZMQ_DONTWAIT); failed(e))
            return e;
        octets += part.held_message.size();
        has_more = part.held_message.has_more();
        const int flags = has_more ? ZMQ_SNDMORE : 0;
        if (capture_) {
            held copy;
            (void)copy.held_message.copy_from(part.held_message);
            if (const error e = capture_->send(copy.held_message, flags); failed(e))
                return e;
        }
        return is_unwanted ? error::none : checked(self.send(part.held_message, flags), is_unwanted);
    }

    static error checked(error e, bool &is_unwanted) noexcept {
        is_unwanted = e == error::host_unreachable;
        return is_unwanted ? error::none : e;
    }

    struct held {
        held() noexcept { held_message.init(); }
        ~held() { (void)held_message.close(); }
        held(const held &) = delete;
        held &operator=(const held &) = delete;
        message held_message;
    };

    // ---- Control ----

    /// Does what the control socket says, if anything.
    error obey(bool &has_moved) {
        short ready = 0;
        if (const error e = control_->events(ZMQ_POLLIN, ready, false); failed(e))
            return e;
        if (!(ready & ZMQ_POLLIN))
            return error::none;
        held command;
        if (const error e = receive_command(command.held_message); failed(e))
            return e;
        has_moved = true;
        const std::string_view word = as_text(command.held_message.body());
        if (word == "STATISTICS")
            return report();
        if (word == "PAUSE")
            state_ = state::paused;
        else if (word == "RESUME")
            state_ = state::passing;
        else if (word == "TERMINATE")
            state_ = state::over;
        return control_->type() == socket_type::rep ? control_->send(byte_span{}, 0) : error::none;
    }

    /// The first part counts; others are thrown away.
    error receive_command(message &out) {
        if (const error e = control_->receive(out, ZMQ_DONTWAIT); failed(e))
            return e;
        frame_view rest;
        for (bool has_more = out.has_more(); has_more; has_more = rest.has_more()) {
            if (const error e = control_->receive(rest, ZMQ_DONTWAIT); failed(e))
                return e;
        }
        return error::none;
    }

    error report() {
        const traffic &f = front_.passed;
        const traffic &b = is_one_socket_ ? front_.passed : back_.passed;
        const std::array<std::uint64_t, 8> numbers = {f.messages_in,  f.octets_in,   f.messages_out,
                                                      f.octets_out,   b.messages_in, b.octets_in,
                                                      b.messages_out, b.octets_out};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::uint8_t octets[sizeof numbers[i]];
            std::memcpy(octets, &numbers[i], sizeof octets);
            const error e = control_->send(byte_span{octets}, i + 1 < numbers.size() ? ZMQ_SNDMORE : 0);
            // A control socket that cannot send gets no answer.
            if (failed(e))
                return e == error::not_supported ? error::none : e;
        }
        return error::none;
    }

    side front_;
    side back_;
    socket *const capture_;
    socket *const control_;
    const bool is_one_socket_;
    enum class state { passing, paused, over };
    state state_ = state::passing;
};

}  // namespace

error run_proxy(const proxy_sockets &sockets) { return proxy(sockets).run(); }

}  // namespace zlink
