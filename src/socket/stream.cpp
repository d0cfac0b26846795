// STREAM, and a ROUTER with ZMQ_ROUTER_RAW: peers that do not speak ZMTP. A message is an id and
// octets.
//
// Ids:      generated as soon as a pipe is there, for a connection of the socket's own when it is
//           asked for; or given by the application to one of these.
// News:     an empty message stands in the pipe where a connection was made, and where it broke:
//           the session has put it there.
// Ends:     an empty message ends its connection. Octets sent before go out, as they do when a
//           socket is closed; of what the peer has sent only a message under way is still received.
#include "socket/router.hpp"

namespace zlink {

namespace {

class raw_router final : public router {
public:
    explicit raw_router(const pattern_environment &environment) : router(environment) {
        if (is_stream())
            options_.router_mandatory = true;  // octets for nobody are never dropped in silence
    }

    void attach(const pipe_end_ptr &pipe, bool is_local) override {
        if (is_anonymous(*pipe)) {
            pipe->slot.routing_id = generate_id();
            // The application hears in this way, as in libzmq, of the id of a connection that it
            // has asked for.
            if (is_stream())
                options_.routing_id = pipe->slot.routing_id;
        }
        router::attach(pipe, is_local);
    }
    error send(const outgoing &frame) override {
        return is_sending() ? send_octets(frame) : send_address(frame);
    }
    /// Some of what is sent means more than its octets.
    direct_way direct_output() noexcept override { return {}; }
    /// A STREAM, as in libzmq, does not say that it has no peer with room before somebody sends.
    bool has_output() override { return router::has_output() || is_stream(); }

private:
    bool is_stream() const noexcept { return options_.type == socket_type::stream; }

    /// There is one frame of them, whatever its flag says.
    error send_octets(const outgoing &frame) {
        if (target() && frame.body.empty()) {
            end_connection();
            return error::none;
        }
        outgoing last = frame;
        last.more = false;
        return send_body(last);
    }
    void end_connection() {
        pipe_end &pipe = *target();
        give_up_message();
        // All that was sent before goes out, unless the socket closes first, and does not linger.
        pipe.close(-1);
        dismiss(pipe);
    }
};

}  // namespace

std::unique_ptr<pattern> make_raw_router(const pattern_environment &environment) {
    return std::make_unique<raw_router>(environment);
}

}  // namespace zlink
