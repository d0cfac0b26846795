// The waits in the handshake of a connection: for a verdict on its peer, and for its turn. Map: by
// what its stream has shown; by what the conversation has shown; the turn; the verdict; what is
// kept of it.
#include <new>
#include <optional>
#include <utility>

#include "core/finally.hpp"
#include "session/connection.hpp"
#include "zmtp/command.hpp"
#include "zmtp/mechanism.hpp"

namespace zlink {

/// The conversation begins, unless the peer has to be let in first.
void connection::receive_guest() noexcept {
    std::optional<credentials> shown;
    const error reason = stream_->introduce(shown);
    if (!failed(reason) && !shown) {
        begin();
        return;
    }
    if (!failed(reason))
        guest_.reset(new (std::nothrow) guest{std::move(*shown), {}, {}});
    if (!guest_) {
        fail(failed(reason) ? reason : error::no_memory);
        return;
    }
    state_ = state::at_door;
    ask_host();
}

/// `rest` is what the peer has said without waiting for an answer, which it may not.
void connection::await_verdict(byte_span rest) noexcept {
    if (put_off(state::judged, rest))
        ask_host();
}

void connection::await_turn(byte_span rest, bool is_of_stranger) noexcept {
    if (!put_off(state::queued, rest))
        return;
    update_timer();
    if (state_ != state::queued)
        return;
    environment_.io->costly.add(*this,
                                is_of_stranger ? costly_list::rank::stranger : costly_list::rank::goes_on);
    stream_->wait_readable();
}

bool connection::put_off(state why, byte_span rest) noexcept {
    try {
        unjudged_ = std::make_unique<std::vector<std::uint8_t>>(rest.begin(), rest.end());
    } catch (...) {
        fail(error::no_memory);
        return false;
    }
    state_ = why;
    write();
    return true;
}

void connection::ask_host() noexcept {
    update_timer();
    if (state_ != state::at_door && state_ != state::judged)
        return;
    host_.authenticate(*this);
    stream_->wait_readable();
}

void connection::read_unjudged(inbound &in) noexcept {
    const byte_span octets = in.read(environment_.io->scratch, *peer_).handshake;
    try {
        if (!unjudged_)
            unjudged_ = std::make_unique<std::vector<std::uint8_t>>();
        unjudged_->insert(unjudged_->end(), octets.begin(), octets.end());
    } catch (...) {
        fail(error::no_memory);
        return;
    }
    if (in.failure())
        fail(*in.failure());
    else if (unjudged_->size() < most_octets_unjudged)
        stream_->wait_readable();
}

credentials connection::shown() const { return state_ == state::at_door ? guest_->shown : peer_->shown(); }

void connection::on_verdict(const verdict &answer) noexcept {
    if (state_ == state::at_door) {
        on_verdict_on_guest(answer);
        report();
        return;
    }
    if (state_ != state::judged)
        return;
    if (guest_) {
        try {
            guest_->note(answer);
        } catch (...) {
            fail(error::no_memory);
            report();
            return;
        }
    }
    go_on({.kind = conversation::event_kind::verdict, .now = environment_.io->now(), .answer = &answer});
}

/// Its turn.
void connection::run_costly() noexcept {
    if (state_ == state::queued)
        go_on({.kind = conversation::event_kind::turn, .now = environment_.io->now()});
}

void connection::go_on(const conversation::event &with) noexcept {
    state_ = state::live;
    inbound &in = *lease_.reading();
    const auto next = peer_->resume(with);
    if (byte_span rest; take_unjudged(in, rest) && obey(next))
        follow_handshake(in, next, rest);
    if (state_ == state::live && !in.is_paused())
        stream_->wait_readable();
    report();
}

/// Takes what has been read meanwhile, as if it were read now.
bool connection::take_unjudged(inbound &in, byte_span &rest) noexcept {
    if (!unjudged_) {
        rest = {};
        return true;
    }
    std::vector<std::uint8_t> unread = std::move(*unjudged_);
    unjudged_.reset();
    const finally wipe([&] { wipe_octets(unread); });
    rest = in.put(environment_.io->scratch, unread);
    if (rest.size() == unread.size())
        return true;
    fail(error::no_memory);
    return false;
}

void connection::on_verdict_on_guest(const verdict &answer) noexcept {
    try {
        mechanism::outcome meaning = outcome_of(answer, true);
        if (meaning.status == mechanism::progress::failed) {
            guest_->words = std::move(meaning.words);
            // The stream says by itself that it ends, and that is to arrive.
            fail({.failure = meaning.failure, .detail = meaning.detail, .has_answer_for_peer = true});
            return;
        }
        guest_->shown = {};
        guest_->note(answer);
    } catch (...) {
        fail(error::no_memory);
        return;
    }
    if (byte_span rest; take_unjudged(*lease_.reading(), rest))
        begin(rest);
}

// ---- what is said of it ----

/// The last answer holds.
void connection::guest::note(const verdict &by) {
    if (!by.user_id.empty())
        said.user_id = by.user_id;
    said.metadata.insert(said.metadata.begin(), by.metadata.begin(), by.metadata.end());
}

/// The peer's own words must not hide what was said of it.
void connection::add_verdicts() {
    if (!guest_)
        return;
    auto &properties = guest_->said.metadata;
    if (!guest_->said.user_id.empty())
        properties.emplace(properties.begin(), property_name::user_id, std::move(guest_->said.user_id));
    peer_->info().add_in_front(properties);
    guest_.reset();
}

}  // namespace zlink
