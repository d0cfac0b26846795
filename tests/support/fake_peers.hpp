// Pipes with nobody behind them: a test plays the peers of a fair queue, a load balancer or a whole
// pattern.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "pipe/in_band.hpp"
#include "pipe/pipe.hpp"

namespace zlink::test {

using frames = std::vector<std::string>;

inline std::string text_of(const frame_view &view) { return std::string(as_text(view.body())); }

/// Writes and publishes one message.
inline void write_message(pipe_end &end, const frames &message) {
    for (std::size_t i = 0; i < message.size(); ++i)
        (void)end.write(i + 1 < message.size() ? frame_flag::more : 0, as_bytes(message[i]));
    end.publish();
}

/// Writes and publishes one in-band command.
inline void write_command(pipe_end &end, std::uint8_t kind, std::string_view body = {}) {
    (void)end.write(frame_flag::command, as_bytes(std::string(1, static_cast<char>(kind)).append(body)));
    end.publish();
}

/// Everything that can be read now, message by message. A command stands as one frame with "!" and
/// its kind in front.
inline std::vector<frames> read_messages(pipe_end &end) {
    std::vector<frames> messages;
    frames message;
    frame_view view;
    while (end.read(view)) {
        if (view.is_command()) {
            messages.push_back({"!" + std::to_string(view.data[0]) + text_of(view).substr(1)});
            continue;
        }
        message.push_back(text_of(view));
        if (!view.has_more())
            messages.push_back(std::exchange(message, {}));
    }
    return messages;
}

/// Takes note of what pipes call out.
class recorded_events : public pipe_events {
public:
    void on_readable(pipe_end &end) noexcept override { readable.push_back(&end); }
    void on_writable(pipe_end &end) noexcept override { writable.push_back(&end); }
    void on_closed(pipe_end &end) noexcept override { closed.push_back(&end); }

    std::vector<pipe_end *> readable;
    std::vector<pipe_end *> writable;
    std::vector<pipe_end *> closed;
};

/// A pipe from the side of the code under test (`near`) to the test (`far`).
struct fake_peer {
    pipe_end_ptr near;
    pipe_end_ptr far;
};

class fake_network {
public:
    fake_peer connect(std::uint64_t outgoing_hwm = 0, std::uint64_t incoming_hwm = 0,
                      end_kind far = end_kind::connection) {
        pipe_options options;
        options.first_to_second_hwm = outgoing_hwm;
        options.second_to_first_hwm = incoming_hwm;
        options.second = far;
        pipe_ends ends = make_pipe(pool, options);
        ends.first->set_events(events);
        return {ends.first, ends.second};
    }

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    std::shared_ptr<recorded_events> events = std::make_shared<recorded_events>();
};

}  // namespace zlink::test
