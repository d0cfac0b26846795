// The options of a socket: those that concern its settings, and those that it answers itself.
//
// Map: how values are stored; setting; asking; the descriptors that are made when asked for.
#include <utility>

#include "socket/level_pattern.hpp"
#include "socket/options.hpp"
#include "socket/socket.hpp"
#include "zmq.h"

namespace zlink {

namespace {

error store_int(int number, void *value, std::size_t *size) noexcept {
    return store_option({reinterpret_cast<const std::uint8_t *>(&number), sizeof number}, value, size);
}

error store_text(const std::string &text, void *value, std::size_t *size) noexcept {
    return store_option({reinterpret_cast<const std::uint8_t *>(text.c_str()), text.size() + 1}, value, size);
}

}  // namespace

error socket::set_option(int number, const void *value, std::size_t size) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    if (!value && size > 0)
        return error::invalid;
    const byte_span octets{static_cast<const std::uint8_t *>(value), size};
    if (number == ZMQ_SUBSCRIBE)
        return pattern_->subscribe(octets);
    if (number == ZMQ_UNSUBSCRIBE)
        return pattern_->unsubscribe(octets);
    if (number == ZMQ_ROUTER_RAW)
        return set_router_raw(value, size);
    if (const error e = zlink::set_option(options_, number, value, size); failed(e))
        return e;
    if (number == ZMQ_SNDHWM || number == ZMQ_RCVHWM || number == ZLINK_SNDHWM_BYTES ||
        number == ZLINK_RCVHWM_BYTES)
        pipes_.apply_marks();
    if (number == ZLINK_SOCKET_NAME) {
        std::lock_guard guard(label_mutex_);
        label_.given = options_.socket_name;
    }
    if (levels_)
        levels_->look();  // the option may have made room, or taken it
    return error::none;
}

/// Makes another pattern of a ROUTER, which knows nothing of the peers that the one before has.
error socket::set_router_raw(const void *value, std::size_t size) {
    const bool was_raw = options_.router_raw;
    error e = zlink::set_option(options_, ZMQ_ROUTER_RAW, value, size);
    if (failed(e) || options_.router_raw == was_raw)
        return e;
    try {
        if (pipes_.size() == 0) {
            std::unique_ptr<pattern> other = make_pattern();
            if (levels_) {
                levels_->replace(std::move(other));
                return error::none;
            }
            pipes_.set_pattern(*other);
            pattern_ = std::move(other);
            return error::none;
        }
        e = error::invalid;
    } catch (...) {
        e = error::no_memory;
    }
    options_.router_raw = was_raw;
    return e;
}

error socket::get_option(int number, void *value, std::size_t *size) {
    // Asked for after each frame, some of them. A call that does not ask for news takes none in,
    // and the direct ways stay.
    if (pipes_.is_stop_requested())
        return error::terminated;
    if (!value || !size)
        return error::invalid;
    return is_answered_by_socket(number) ? get_option_of_socket(number, value, size)
                                         : zlink::get_option(options_, number, value, size);
}

error socket::get_option_of_socket(int number, void *value, std::size_t *size) {
    switch (number) {
    case ZMQ_RCVMORE:
        return store_int(received_more_, value, size);
    case ZMQ_THREAD_SAFE:
        return store_int(0, value, size);
    case ZMQ_LAST_ENDPOINT:
        return store_text(last_endpoint_, value, size);
    case ZMQ_EVENTS: {
        if (*size < sizeof(int))
            return error::invalid;
        short ready = 0;
        if (const error e = events(ZMQ_POLLIN | ZMQ_POLLOUT, ready, true); failed(e))
            return e;
        return store_int(ready, value, size);
    }
    case ZMQ_FD:
    case ZLINK_EVENT_FD:
    case ZLINK_ROOM_FD: {
        if (*size < sizeof(int))
            return error::invalid;
        int descriptor = -1;
        const int before = descriptors_of_loops();
        const error e = number == ZMQ_FD ? export_descriptor(descriptor) : export_level(number, descriptor);
        if (const int more = descriptors_of_loops() - before; more > 0)
            counts_->add_descriptors(more);
        if (failed(e))
            return e;
        return store_int(descriptor, value, size);
    }
    case ZMQ_TOPICS_COUNT: {
        if (const error e = pipes_.enter_beside(); failed(e))
            return e;
        const int count = pattern_->topics_count();
        return count < 0 ? error::invalid : store_int(count, value, size);
    }
    default:
        return error::invalid;
    }
}

int socket::descriptors_of_loops() const noexcept {
    return (wait_.has_loop() ? 1 : 0) + (levels_ ? levels_->descriptors() : 0);
}

error socket::export_descriptor(int &descriptor) {
    if (const error e = wait_.export_descriptor(descriptor); failed(e))
        return e;
    if (pipes_.tells_changes())
        return error::none;
    pipes_.export_level();
    pipes_.tell_changes();
    pipes_.raise_exported();
    return error::none;
}

/// The levels are right from now on: what waits to be taken in is taken in first.
error socket::export_level(int number, int &descriptor) {
    const wakeup *commands = nullptr;
    if (const error e = wait_level(commands); failed(e))
        return e;
    wait_.leave_loop_alone();
    if (!levels_) {
        pipes_.leave_direct_input();
        pipes_.leave_direct_output();
        auto around = std::make_unique<level_pattern>(std::move(pattern_), pipes_, options_.type);
        levels_ = around.get();
        pattern_ = std::move(around);
        pipes_.set_pattern(*pattern_);
        if (!pipes_.is_exported())
            pipes_.export_level();
    }
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    return number == ZLINK_EVENT_FD ? levels_->input_descriptor(environment_.blocking, *commands, descriptor)
                                    : levels_->room_descriptor(environment_.blocking, *commands, descriptor);
}

std::string socket::take_connect_routing_id() { return std::exchange(options_.connect_routing_id, {}); }

}  // namespace zlink
