// The pattern around another one that keeps two levels up to date. See level_pattern.hpp.
//
// Map: the descriptors; calls of the socket; looking; the body that is kept.
#include "socket/level_pattern.hpp"

#include "core/joint_descriptor.hpp"

namespace zlink {

namespace {
constexpr std::size_t kept_by_reference_from = 4096;
constexpr int most_looks = 8;
}  // namespace

// ---- the descriptors ----

error level_pattern::make(level &which, waiter &how, const wakeup &commands, int &out) noexcept {
    if (!which.is_asked_for()) {
        std::unique_ptr<wakeup> own;
        if (const error e = how.make_wakeup(own); failed(e))
            return e;
        if (const error e = join_descriptors(commands.descriptor(), own->descriptor(), which.joint);
            failed(e))
            return e;
        which.own = std::move(own);
        look();
    }
    out = which.joint.get();
    return error::none;
}

error level_pattern::input_descriptor(waiter &how, const wakeup &commands, int &out) {
    return make(input_, how, commands, out);
}

error level_pattern::room_descriptor(waiter &how, const wakeup &commands, int &out) {
    return make(room_, how, commands, out);
}

void level_pattern::level::set(bool up) noexcept {
    if (!own || up == is_up)
        return;
    is_up = up;
    if (up)
        own->signal();
    else
        (void)own->clear();
}

// ---- calls of the socket ----

void level_pattern::attach(const pipe_end_ptr &pipe, bool is_local) {
    within_->attach(pipe, is_local);
    look();
}

void level_pattern::detach(pipe_end &pipe) noexcept {
    within_->detach(pipe);
    look();
}

void level_pattern::on_readable(pipe_end &pipe) {
    within_->on_readable(pipe);
    look();
}

void level_pattern::on_writable(pipe_end &pipe) {
    within_->on_writable(pipe);
    look_if_asked(room_);
}

void level_pattern::on_closed(pipe_end &pipe) {
    within_->on_closed(pipe);
    look();
}

void level_pattern::go_on() {
    within_->go_on();
    look();
}

error level_pattern::send(const outgoing &frame) {
    const error e = within_->send(frame);
    if (e == error::again)
        room_.set(false);  // whoever has called arms what it waits for
    if (failed(e) || frame.more)
        return e;
    if (takes_turns_)
        look();
    else
        look_if_asked(room_);
    return e;
}

error level_pattern::receive(frame_view &out) {
    forget_body();
    const error e = within_->receive(out);
    if (!input_.is_asked_for()) {
        if (takes_turns_)
            look_if_asked(room_);
        return e;
    }
    if (!failed(e) && out.has_more())
        input_.set(true);
    else if (failed(e) || keep_body(out))
        look();
    else
        host_.go_on_later();  // without memory the next call looks
    return e;
}

error level_pattern::subscribe(byte_span topic) {
    const error e = within_->subscribe(topic);
    look();
    return e;
}

error level_pattern::unsubscribe(byte_span topic) {
    const error e = within_->unsubscribe(topic);
    look();
    return e;
}

// ---- looking ----

/// Without memory the next call looks.
void level_pattern::look() noexcept {
    look_if_asked(input_);
    look_if_asked(room_);
}

void level_pattern::look_if_asked(level &which) noexcept {
    try {
        if (which.is_asked_for())
            look_for(which);
    } catch (...) {
        host_.go_on_later();
    }
}

void level_pattern::look_for(level &which) {
    const bool is_input = &which == &input_;
    const auto found = [&] { return is_input ? within_->has_input() : within_->has_output(); };
    bool is_there = found();
    for (int looks = 1; !is_there && within_->arm(is_input, !is_input); ++looks) {
        is_there = found();
        if (looks == most_looks) {
            host_.go_on_later();
            break;
        }
    }
    which.set(is_there);
}

// ---- the body that is kept ----

/// False when memory is short: it is where it was.
bool level_pattern::keep_body(frame_view &out) noexcept {
    if (out.info)
        info_ = block_ref::share(out.info);
    if (out.lone_owner && *out.lone_owner) {
        lone_ = std::exchange(*out.lone_owner, nullptr);
        out.lone_owner = &lone_;
        return true;
    }
    out.lone_owner = nullptr;
    if (out.owner && out.size >= kept_by_reference_from) {
        owner_ = block_ref::share(out.owner);
        return true;
    }
    try {
        copy_.assign(out.data, out.data + out.size);
    } catch (...) {
        return false;
    }
    out.data = copy_.data();
    out.owner = nullptr;
    return true;
}

void level_pattern::forget_body() noexcept {
    owner_ = {};
    info_ = {};
    if (lone_)
        std::exchange(lone_, nullptr)->release();
    if (copy_.capacity() > kept_by_reference_from)
        std::vector<std::uint8_t>().swap(copy_);
}

}  // namespace zlink
