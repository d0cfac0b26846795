// The states of a conversation: not started, greeting, handshake (and waiting for a verdict or a
// turn) or identity, traffic, closed; see peer.hpp.
//
// Order:    handshake commands; the state; start and greeting; older peers; handshake; time;
//           commands in traffic; the functions of peer.hpp.
#include "zmtp/peer.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/frame.hpp"
#include "zmtp/command.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/framing_curve.hpp"
#include "zmtp/greeting.hpp"
#include "zmtp/heartbeat.hpp"
#include "zmtp/mechanism.hpp"

namespace zlink {

namespace {

using action = peer::action;
using time_point = conversation::time_point;
using first_words = peer::first_words;

// The octets of a greeting that may be taken once there are `have`: no more than tell what comes
// next, for with an older peer that is something else.
constexpr std::size_t end_of_greeting_part(std::size_t have) noexcept {
    for (const std::size_t end :
         {std::size_t{1}, signature_size, partial_greeting_size, zmtp_2_0_greeting_size})
        if (have < end)
            return end;
    return greeting_size;
}

// Octets that wait to be written: the PONGs of a hundred PINGs and more that arrive together.
constexpr std::size_t most_octets_before_pong = 4096;
// Steps of memory for a frame under way. A step costs a copy of what is there, and what is free of
// it is all that a peer can have beyond what it sends.
constexpr std::size_t step_of_frame = 1024;

/// Moves what has come of a frame of `whole` octets.
void take_into(std::vector<std::uint8_t> &frame, byte_span &in, std::size_t whole) {
    const std::size_t count = std::min(in.size(), whole - frame.size());
    if (const std::size_t sum = frame.size() + count; sum > frame.capacity())
        frame.reserve(std::min(whole, (sum + step_of_frame - 1) / step_of_frame * step_of_frame));
    frame.insert(frame.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count));
    in = in.subspan(count);
}

/// The limits of what a peer may send, as whoever walks it has them.
curve_limits limits_of(const settings &options) noexcept {
    curve_limits limits{.max_command = max_command_size};
    if (options.most_in_frame() >= 0)
        limits.max_body = static_cast<std::uint64_t>(options.most_in_frame());
    if (options.has_subscribers())
        limits.max_command = std::max(limits.max_command, limits.max_body);
    return limits;
}

bool is_handshake_command(std::string_view name) noexcept {
    return name == command_name::ready || name == command_name::error || name == command_name::hello ||
           name == command_name::welcome || name == command_name::initiate;
}

}  // namespace

struct peer::state {
    enum class stage : std::uint8_t {
        fresh,
        greeting,
        identity,
        handshake,
        put_off,  // `before_->frame` is a whole command that takes long
        waiting,
        traffic,
        closed
    };
    /// The version that the peer is spoken to in.
    enum class dialect : std::uint8_t {
        zmtp_3,
        zmtp_2,  // there are no commands
        zmtp_1   // nor versions
    };
    enum class ending : std::uint8_t {
        usual,
        for_good,  // another attempt would end so, too
        short_of_memory
    };

    state(peer &self, const settings &options, bool is_server, first_words first,
          const zlink::framing *carrier)
        : self_(self), options_(options), first_words_(first), carrier_(carrier),
          before_(new before_traffic{.security = make_mechanism(options, is_server)}),
          heartbeat_(options.heartbeat_interval_ms, options.heartbeat_timeout_ms, options.heartbeat_ttl_ms) {}

    action resume(const event &what);
    time_point deadline() const noexcept;

    action start();
    action on_octets(byte_span in);
    action on_verdict(const verdict &answer);
    action on_turn();
    void take_octets(byte_span &in);
    byte_span behind_frame(byte_span in) const noexcept;
    action next_of_handshake();
    void forget_frame() noexcept;
    action on_time();
    action on_traffic_command(byte_span body);

    bool take_greeting(byte_span &in);
    bool take_command(byte_span &in, byte_span &body);
    /// Peers without a mechanism: where one is asked for, they are strangers.
    bool accepts_older_peers() const noexcept { return options_.takes_anybody(); }
    void greet_unversioned_peer(byte_span behind);
    void greet_2_0_peer();
    void on_2_0_greeting();
    bool take_identity(byte_span &in);
    void on_identity();
    void on_greeting();
    std::string words_of_other_mechanism(const greeting_view &received) const;
    bool is_put_off(byte_span body);
    void on_handshake_command(byte_span body);
    void follow(const mechanism::outcome &outcome);
    void enter_traffic();
    action on_ping(byte_span data);
    std::chrono::nanoseconds on_pong(byte_span context) noexcept;
    action on_subscription(action_kind kind, byte_span topic) const;
    action on_gap(byte_span data);
    void send_greeting(std::size_t up_to);
    /// The place where commands of traffic go.
    std::vector<std::uint8_t> &words() noexcept {
        return self_.framing_->numbers_frames() ? self_.commands_ : self_.output_;
    }
    void forget_written() noexcept {
        if (!self_.has_words())
            is_ping_pending_ = false;
    }
    void enter(stage next) noexcept {
        stage_ = next;
        self_.is_established_ = next == stage::traffic;
    }
    action fail(failure_kind failure, protocol_error detail, bool may_retry = true);
    action fail(protocol_error detail) { return fail(failure_kind::protocol, detail); }
    /// The output may hold a part of what was to be said.
    action fail_for_memory() {
        fail(failure_kind::none, 0);
        ending_ = ending::short_of_memory;
        return closing();
    }
    action closing() const noexcept {
        action result{action_kind::close};
        result.failure = failure_;
        result.detail = detail_;
        result.may_retry = ending_ != ending::for_good;
        result.is_short_of_memory = ending_ == ending::short_of_memory;
        result.has_clear_rest = result.is_short_of_memory && !carrier_ && self_.framing_->is_identity() &&
                                options_.mechanism != mechanism_kind::curve;
        return result;
    }
    void refuse_stranger(protocol_error detail, byte_span first, byte_span behind);

    // Constant after construction
    peer &self_;  // what the driver asks for stands there
    const settings &options_;
    const first_words first_words_;
    const zlink::framing *const carrier_;  // or null

    std::unique_ptr<framing_curve> sealed_;  // where the mechanism seals traffic
    stage stage_ = stage::fresh;
    dialect dialect_ = dialect::zmtp_3;

    /// The memory that no conversation needs once there is traffic.
    struct before_traffic {
        /// Part of a HELLO may be a password.
        ~before_traffic() { wipe_octets(frame); }

        std::unique_ptr<mechanism> security;  // null when the one asked for is not built in
        time_point end = time_point::max();   // of the time for it
        std::size_t greeting_sent = 0;        // octets of ours
        greeting_octets greeting{};           // the peer's
        std::size_t have = 0;                 // octets of it
        std::vector<std::uint8_t> frame{};    // an unfinished one, header included
        bool is_of_stranger = false;          // put off
        std::string words{};                  // for a person, of a failure
    };
    std::unique_ptr<before_traffic> before_;  // null once there is traffic
    time_point now_{};                        // the latest we were told
    heartbeat heartbeat_;

    // The answer of every resume() once closed
    failure_kind failure_ = failure_kind::none;
    protocol_error detail_ = 0;
    ending ending_ = ending::usual;

    bool is_ping_pending_ = false;  // the output holds one that is not written yet
};

action peer::state::fail(failure_kind failure, protocol_error detail, bool may_retry) {
    enter(stage::closed);
    failure_ = failure;
    detail_ = detail;
    ending_ = may_retry ? ending::usual : ending::for_good;
    return closing();
}

/// `first` and what stands `behind` it are how the peer began, which is no way that ZMTP begins.
void peer::state::refuse_stranger(protocol_error detail, byte_span first, byte_span behind) {
    std::array<std::uint8_t, greeting_size> start;
    std::size_t size = 0;
    for (const byte_span each : {first, behind})
        for (const std::uint8_t octet : each.first(std::min(each.size(), start.size() - size)))
            start[size++] = octet;
    before_->words = describe_stranger(byte_span(start).first(size));
    fail(detail);
}

action peer::state::resume(const event &what) {
    now_ = std::max(now_, what.now);
    if (stage_ == stage::closed)
        return closing();
    switch (what.kind) {
    case event_kind::start:
        return stage_ == stage::fresh ? start() : action{};
    case event_kind::octets:
        return on_octets(what.bytes);
    case event_kind::command:
        return stage_ == stage::traffic ? on_traffic_command(what.bytes) : action{};
    case event_kind::time:
        return on_time();
    case event_kind::verdict:
        return on_verdict(*what.answer);
    case event_kind::turn:
        return on_turn();
    }
    return {};
}

action peer::state::start() {
    if (!before_->security) {
        before_->words = "the security mechanism that this socket asks for is not in this library";
        return fail(failure_kind::mechanism_mismatch, protocol_errors::mechanism_mismatch, false);
    }
    if (options_.handshake_interval_ms > 0)
        before_->end = now_ + std::chrono::milliseconds(options_.handshake_interval_ms);
    switch (first_words_) {
    case first_words::greeting:
        enter(stage::greeting);
        send_greeting(accepts_older_peers() ? signature_size : greeting_size);
        break;
    case first_words::handshake:
        enter(stage::handshake);
        follow(before_->security->start(self_.output_));
        break;
    case first_words::identity:
        enter(stage::identity);
        dialect_ = dialect::zmtp_2;
        self_.framing_ = &framing_of_zmtp_2_0();
        self_.framing_->encode(0, as_bytes(options_.routing_id), self_.output_);
        break;
    }
    return next_of_handshake();
}

void peer::state::send_greeting(std::size_t up_to) {
    const greeting_octets whole =
        make_greeting(before_->security->name(), before_->security->as_server(), options_.routing_id.size());
    if (up_to > before_->greeting_sent)
        self_.output_.insert(self_.output_.end(),
                             whole.begin() + static_cast<std::ptrdiff_t>(before_->greeting_sent),
                             whole.begin() + static_cast<std::ptrdiff_t>(up_to));
    before_->greeting_sent = std::max(before_->greeting_sent, up_to);
}

// Octets before traffic. Uses up no more than the handshake needs: the rest is traffic, for the
// driver to walk.
action peer::state::on_octets(byte_span in) {
    byte_span rest = in;
    action result;
    if (stage_ == stage::waiting || stage_ == stage::put_off)
        return result;
    try {
        take_octets(rest);
    } catch (const std::bad_alloc &) {
        rest = behind_frame(rest);
        fail_for_memory();
    }
    if (rest.size() != in.size() || stage_ != stage::traffic)
        result = next_of_handshake();
    result.consumed = in.size() - rest.size();
    return result;
}

void peer::state::take_octets(byte_span &in) {
    if (stage_ == stage::greeting && take_greeting(in))
        on_greeting();
    if (stage_ == stage::identity && take_identity(in))
        on_identity();
    byte_span body;
    while (stage_ == stage::handshake && take_command(in, body) && !is_put_off(body)) {
        on_handshake_command(body);
        forget_frame();
    }
}

/// The rest of `in`, which goes on with the command under way, behind that: messages, behind a
/// READY. Nothing behind another frame, after which no messages may come, or where it cannot be
/// told.
byte_span peer::state::behind_frame(byte_span in) const noexcept {
    const byte_span frame = before_->frame;
    std::array<std::uint8_t, long_header_size + 1 + command_name::ready.size()> start;
    const std::size_t known = std::min(frame.size(), start.size());
    const std::size_t more = std::min(in.size(), start.size() - known);
    std::copy_n(frame.begin(), known, start.begin());
    std::copy_n(in.begin(), more, start.begin() + known);
    frame_header header;
    if (stage_ != stage::handshake || !get_frame_header(start.data(), known + more, header))
        return {};
    const byte_span begun = byte_span(start).first(known + more).subspan(header.header_size);
    command received;
    if (!header.is_command() ||
        !parse_command(begun.first(std::min<std::size_t>(begun.size(), header.body_size)), received) ||
        received.name != command_name::ready)
        return {};
    const std::uint64_t missing = header.header_size + header.body_size - frame.size();
    return missing > in.size() ? byte_span() : in.subspan(static_cast<std::size_t>(missing));
}

/// The action that the stage asks for that has just been entered.
action peer::state::next_of_handshake() {
    action result;
    if (stage_ == stage::closed)
        return closing();
    if (stage_ == stage::waiting) {
        result.kind = action_kind::authenticate;
    } else if (stage_ == stage::put_off) {
        result.kind = action_kind::costly;
        result.is_of_stranger = before_->is_of_stranger;
    } else if (stage_ == stage::traffic) {
        before_.reset();
        result.kind = action_kind::established;
        result.takes_all = dialect_ == dialect::zmtp_1;
    }
    return result;
}

/// Goes on with the command that was put off.
action peer::state::on_turn() {
    if (stage_ != stage::put_off)
        return {};
    enter(stage::handshake);
    frame_header header;
    get_frame_header(before_->frame.data(), before_->frame.size(), header);
    on_handshake_command(byte_span(before_->frame).subspan(header.header_size));
    forget_frame();
    return next_of_handshake();
}

/// It may have held a password.
void peer::state::forget_frame() noexcept {
    wipe_octets(before_->frame);
    before_->frame.clear();
}

action peer::state::on_verdict(const verdict &answer) {
    if (stage_ != stage::waiting)
        return {};
    enter(stage::handshake);
    follow(before_->security->judge(answer, self_.info(), self_.output_));
    return next_of_handshake();
}

// Collects the greeting, and answers each part of it; true when it is whole, and of version 3.
// Closes on the first octet that shows it is none we accept.
bool peer::state::take_greeting(byte_span &in) {
    std::size_t &have = before_->have;
    while (!in.empty() && stage_ == stage::greeting) {
        const std::size_t count = std::min(in.size(), end_of_greeting_part(have) - have);
        std::copy_n(in.begin(), count, before_->greeting.begin() + static_cast<std::ptrdiff_t>(have));
        have += count;
        in = in.subspan(count);
        switch (detect_version(byte_span(before_->greeting).first(have))) {
        case greeting_version::undecided:
            if (have == signature_size)
                send_greeting(partial_greeting_size);
            break;
        case greeting_version::zmtp_3:
            send_greeting(greeting_size);
            if (have == greeting_size)
                return true;
            break;
        case greeting_version::zmtp_2_0:
            if (have < zmtp_2_0_greeting_size)
                greet_2_0_peer();
            else
                on_2_0_greeting();
            break;
        case greeting_version::zmtp_1_0:
            greet_unversioned_peer(in);
            break;
        case greeting_version::not_zmtp:
            refuse_stranger(protocol_errors::unspecified, byte_span(before_->greeting).first(have), in);
            break;
        }
    }
    return false;
}

// The signature that went out already is the header of our identity, and what has come in is part
// of the peer's.
void peer::state::greet_unversioned_peer(byte_span behind) {
    const byte_span begun = byte_span(before_->greeting).first(before_->have);
    if (!accepts_older_peers()) {
        refuse_stranger(protocol_errors::unspecified, begun, behind);
        return;
    }
    dialect_ = dialect::zmtp_1;
    self_.framing_ = &framing_of_zmtp_1_0();
    const byte_span id = as_bytes(options_.routing_id);
    self_.output_.insert(self_.output_.end(), id.begin(), id.end());
    before_->frame.assign(begun.begin(), begun.end());
    enter(stage::identity);
}

// Revision 0 says that the framing is that of ZMTP 1.0, to libzmq as well.
void peer::state::greet_2_0_peer() {
    if (!accepts_older_peers()) {
        fail(protocol_errors::unspecified);
        return;
    }
    dialect_ = dialect::zmtp_2;
    const bool has_old_framing = greeting_view(before_->greeting).major() == 0;
    self_.framing_ = has_old_framing ? &framing_of_zmtp_1_0() : &framing_of_zmtp_2_0();
    self_.output_.push_back(static_cast<std::uint8_t>(options_.type));
    self_.framing_->encode(0, as_bytes(options_.routing_id), self_.output_);
}

// There is no way to tell the peer why it is refused.
void peer::state::on_2_0_greeting() {
    const std::uint8_t number = greeting_view(before_->greeting).socket_type_2_0();
    const char *const type = number <= static_cast<std::uint8_t>(socket_type::xsub)
                                 ? socket_type_name(static_cast<socket_type>(number))
                                 : "";
    if (!is_compatible(options_.type, type)) {
        before_->words = words_of_other_type(options_.type, type);
        fail(failure_kind::protocol, protocol_errors::invalid_metadata, false);
        return;
    }
    self_.info().add(property_name::socket_type, type);
    enter(stage::identity);
}

// Collects the frame with an older peer's routing id; true when it is whole. A peer of ZMTP 1.0
// begins with it: what cannot be its header is the beginning of something else.
bool peer::state::take_identity(byte_span &in) {
    std::vector<std::uint8_t> &frame = before_->frame;
    frame_header header;
    while (!self_.framing_->get_header(frame, header)) {
        if (in.empty())
            return false;
        frame.push_back(in.front());
        in = in.subspan(1);
    }
    const std::uint8_t allowed = self_.framing_->is_identity() ? frame_flag::large : frame_flag::more;
    const bool has_bad_flags = header.flags & ~allowed;
    if (dialect_ == dialect::zmtp_1 && (has_bad_flags || header.body_size > max_routing_id)) {
        refuse_stranger(protocol_errors::unspecified, frame, in);
        return false;
    }
    if (has_bad_flags || header.body_size > max_routing_id) {
        fail(protocol_errors::invalid_metadata);
        return false;
    }
    const std::size_t whole = header.header_size + static_cast<std::size_t>(header.body_size);
    take_into(frame, in, whole);
    return frame.size() == whole;
}

void peer::state::on_identity() {
    frame_header header;
    const byte_span frame = before_->frame;
    self_.framing_->get_header(frame, header);
    const char *const type = self_.info().find(property_name::socket_type);
    accept_routing_id(as_text(frame.subspan(header.header_size)), type ? type : "", options_, self_.info());
    enter(stage::traffic);
}

/// A peer may name anything: a name that we do not know is not shown.
std::string peer::state::words_of_other_mechanism(const greeting_view &received) const {
    std::string_view theirs = "another one";
    for (const std::string_view known : {"NULL", "PLAIN", "CURVE", "GSSAPI"})
        if (received.has_mechanism(known))
            theirs = known;
    return std::string("this side is set up for the security mechanism ")
        .append(before_->security->name())
        .append(", and the peer for ")
        .append(theirs);
}

void peer::state::on_greeting() {
    const greeting_view received(before_->greeting);
    if (received.is_3_0())
        self_.framing_ = &framing_of_zmtp_2_0();
    if (!received.has_mechanism(before_->security->name())) {
        before_->words = words_of_other_mechanism(received);
        fail(failure_kind::mechanism_mismatch, protocol_errors::mechanism_mismatch);
        return;
    }
    enter(stage::handshake);
    follow(before_->security->start(self_.output_));
}

// Collects a frame of the handshake; true when `body` is the body of a whole command. A fault in a
// header is found before anything of the body is kept.
bool peer::state::take_command(byte_span &in, byte_span &body) {
    const walk_limits limits;
    std::vector<std::uint8_t> &frame = before_->frame;
    frame_header header;
    for (;;) {
        const walk_stop stop = judge_frame(frame, limits, header);
        const bool is_command = stop == walk_stop::command;
        if (!is_command && !frame.empty()) {
            const bool is_message = stop == walk_stop::need_more;
            fail(is_message ? protocol_errors::unexpected_command : protocol_errors::unspecified);
            return false;
        }
        if (header.header_size > 0)
            break;
        if (in.empty())
            return false;
        frame.push_back(in.front());
        in = in.subspan(1);
    }
    const std::size_t whole = header.header_size + static_cast<std::size_t>(header.body_size);
    take_into(frame, in, whole);
    body = byte_span(frame).subspan(header.header_size);
    return frame.size() == whole;
}

bool peer::state::is_put_off(byte_span body) {
    command received;
    const auto effort =
        parse_command(body, received) ? before_->security->effort_for(received) : mechanism::effort::little;
    if (effort == mechanism::effort::little)
        return false;
    before_->is_of_stranger = effort == mechanism::effort::of_stranger;
    enter(stage::put_off);
    return true;
}

void peer::state::on_handshake_command(byte_span body) {
    command received;
    before_->security->tell_time(now_);
    if (!parse_command(body, received))
        fail(protocol_errors::malformed_command);
    else
        follow(before_->security->receive(received, self_.info(), self_.output_));
}

void peer::state::follow(const mechanism::outcome &outcome) {
    switch (outcome.status) {
    case mechanism::progress::unfinished:
        break;
    case mechanism::progress::waiting:
        enter(stage::waiting);
        break;
    case mechanism::progress::failed:
        before_->words = outcome.words;
        fail(outcome.failure, outcome.detail, outcome.may_retry);
        break;
    case mechanism::progress::complete:
        enter_traffic();
        break;
    }
}

void peer::state::enter_traffic() {
    if (const auto session = before_->security->take_session()) {
        sealed_ = std::make_unique<framing_curve>(*session, carrier_ ? *carrier_ : *self_.framing_,
                                                  limits_of(options_));
        self_.framing_ = sealed_.get();
    }
    enter(stage::traffic);
    if (first_words_ == first_words::greeting)
        heartbeat_.start(now_);
}

action peer::state::on_time() {
    if (stage_ == stage::traffic) {
        switch (heartbeat_.check(now_)) {
        case heartbeat::verdict::quiet:
            break;
        case heartbeat::verdict::dead:
            return fail(failure_kind::peer_dead, 0);
        case heartbeat::verdict::ping:
            forget_written();
            if (!is_ping_pending_)
                append_ping(words(), heartbeat_.ttl(), heartbeat_.number_next());
            is_ping_pending_ = true;
            break;
        }
    } else if (now_ >= before_->end) {
        return fail(failure_kind::handshake_timeout, 0);
    }
    return {};
}

time_point peer::state::deadline() const noexcept {
    switch (stage_) {
    case stage::greeting:
    case stage::identity:
    case stage::handshake:
    case stage::put_off:
    case stage::waiting:
        return before_->end;
    case stage::traffic:
        return heartbeat_.deadline();
    case stage::fresh:
    case stage::closed:
        break;
    }
    return time_point::max();
}

action peer::state::on_traffic_command(byte_span body) {
    command received;
    if (dialect_ != dialect::zmtp_3)
        return fail(protocol_errors::unexpected_command);
    if (!parse_command(body, received))
        return fail(protocol_errors::malformed_command);
    action result;
    if (received.name == command_name::ping)
        result = on_ping(received.data);
    else if (received.name == command_name::subscribe)
        result = on_subscription(action_kind::subscribe, received.data);
    else if (received.name == command_name::cancel)
        result = on_subscription(action_kind::cancel, received.data);
    else if (received.name == command_name::pong)
        result.round_trip = on_pong(received.data);
    else if (received.name == command_name::gap)
        result = on_gap(received.data);
    else if (is_handshake_command(received.name))
        result = fail(protocol_errors::unexpected_command);
    // Commands we do not know are none of our business.
    result.consumed = body.size();
    return result;
}

action peer::state::on_ping(byte_span data) {
    ping_body ping;
    if (!parse_ping(data, ping))
        return fail(protocol_errors::malformed_command);
    heartbeat_.set_peer_ttl(ping.ttl);
    // Each has its own answer, but a peer that takes none of them gets no more.
    if (words().size() < most_octets_before_pong)
        append_pong(words(), ping.context);
    return {};
}

std::chrono::nanoseconds peer::state::on_pong(byte_span context) noexcept {
    std::uint32_t number;
    byte_cursor cursor(context);
    if (!cursor.take_u32(number) || cursor.remaining() > 0)
        return std::chrono::nanoseconds(-1);  // not what our PINGs say
    return heartbeat_.note_pong(now_, number);
}

action peer::state::on_subscription(action_kind kind, byte_span topic) const {
    action result;
    if (options_.has_subscribers()) {
        result.kind = kind;
        result.topic = topic;
    }
    return result;
}

/// A publisher says it to a subscriber that has asked. To another it is a command that is not
/// known.
action peer::state::on_gap(byte_span data) {
    if (!options_.asks_for_gaps())
        return {};
    if (data.size() != sizeof(std::uint64_t))
        return fail(protocol_errors::malformed_command);
    action result{action_kind::gap};
    result.lost = get_u64(data.data());
    return result;
}

peer::peer(const settings &options, bool is_server, first_words first, const zlink::framing *carrier)
    : state_(std::make_unique<state>(*this, options, is_server, first, carrier)) {}

peer::~peer() = default;

action peer::resume(const event &what) {
    try {
        return state_->resume(what);
    } catch (const std::bad_alloc &) {
        return state_->fail_for_memory();
    }
}

time_point peer::deadline() const noexcept { return state_->deadline(); }

credentials peer::shown() const {
    return state_->before_ && state_->before_->security ? state_->before_->security->shown() : credentials{};
}

heartbeat_answers peer::answers() const noexcept { return state_->heartbeat_.answers(); }

std::string peer::reason() const { return state_->before_ ? state_->before_->words : std::string(); }

void peer::note_traffic(time_point now) noexcept {
    state_->now_ = std::max(state_->now_, now);
    state_->heartbeat_.note_traffic(now);
}

void peer::note_output_held_up(time_point now) noexcept { state_->heartbeat_.note_held_up(now); }

void peer::note_output_written(time_point now) noexcept { state_->heartbeat_.note_written(now); }

std::unique_ptr<conversation> make_peer(const settings &options, bool is_server) {
    return std::make_unique<peer>(options, is_server);
}

}  // namespace zlink
