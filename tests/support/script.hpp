// Conversations with a peer machine, written as scripts:
//
//     peer_script(options).expects_write(greeting()).receives(greeting())
//         .expects_write(ready("PULL"))...run();
//
// Below the script stands a driver without a stream: it feeds octets to the machine and walks the
// traffic, as a connection does, and records what comes of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/frame.hpp"
#include "core/settings.hpp"
#include "zmtp/command.hpp"
#include "zmtp/conversation.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/greeting.hpp"
#include "zmtp/heartbeat.hpp"

namespace zlink::testing {

using octets = std::string;
using milliseconds = std::chrono::milliseconds;

// The wire, built independently of the code under test where that is short.

inline octets text(const std::vector<std::uint8_t> &bytes) { return {bytes.begin(), bytes.end()}; }

inline octets greeting(std::string_view mechanism = "NULL", int major = 3, int minor = 1) {
    octets out("\xff\0\0\0\0\0\0\0\1\x7f", 10);
    out += static_cast<char>(major);
    out += static_cast<char>(minor);
    out += mechanism;
    out.resize(12 + 20);
    out.resize(64);
    return out;
}

/// Returns what goes out before the other side is known, and what follows to one of version 3.
inline octets signature() { return greeting().substr(0, signature_size); }
inline octets rest_of_greeting() { return greeting().substr(signature_size); }

inline octets frame(std::string_view body, int flags = 0) {
    octets out;
    if (body.size() <= 255) {
        out += static_cast<char>(flags);
    } else {
        out += static_cast<char>(flags | 2);
        for (int shift = 56; shift > 8; shift -= 8)
            out += static_cast<char>(body.size() >> shift);
        out += static_cast<char>(body.size() >> 8);
    }
    out += static_cast<char>(body.size());
    out += body;
    return out;
}

inline octets message(std::string_view body) { return frame(body, 0); }
inline octets part(std::string_view body) { return frame(body, 1); }

inline octets command_frame(std::string_view name, std::string_view data = {}) {
    return frame(octets(1, static_cast<char>(name.size())) + octets(name) + octets(data), 4);
}

inline octets property(std::string_view name, std::string_view value) {
    octets out(1, static_cast<char>(name.size()));
    out += name;
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value.size() >> shift);
    out += value;
    return out;
}

inline octets ready(std::string_view type, std::string_view more_properties = {}) {
    return command_frame("READY", property("Socket-Type", type) + octets(more_properties));
}

inline octets ping(int ttl, std::string_view context = {}) {
    return command_frame("PING",
                         octets{static_cast<char>(ttl >> 8), static_cast<char>(ttl)} + octets(context));
}
/// One of this side's, by its number.
inline octets our_ping(int ttl, std::uint8_t number) {
    return ping(ttl, octets(3, '\0') + static_cast<char>(number));
}
inline octets pong(std::string_view context = {}) { return command_frame("PONG", context); }

inline settings socket_of(socket_type type) {
    settings options;
    options.type = type;
    return options;
}

inline std::string describe(const conversation::action &close) {
    static constexpr const char *kinds[] = {"none",       "protocol",  "mechanism_mismatch", "authentication",
                                            "peer_error", "peer_dead", "handshake_timeout",  "peer_closed",
                                            "no_handler"};
    char out[80];
    std::snprintf(out, sizeof out, "close %s %x%s", kinds[static_cast<int>(close.failure)], close.detail,
                  close.may_retry ? "" : " for good");
    return out;
}

/// A connection without a stream: virtual time, octets in, octets and events out.
class peer_driver {
public:
    explicit peer_driver(const settings &options, bool is_server = false, const web_place *place = nullptr,
                         web_memory *memory = nullptr, std::optional<verdict> judgement = {})
        : judgement_(std::move(judgement)), options_(std::make_unique<settings>(options)),
          machine_(make_conversation(*options_, is_server, place, memory)) {
        perform(machine_->resume({conversation::event_kind::start, {}, now_}));
    }

    /// Octets arrive.
    void feed(std::string_view arrived) {
        if (is_closed_)
            return;
        machine_->note_traffic(now_);
        (machine_->is_established() ? undecoded_ : input_) += arrived;
        while (!is_closed_ && step())
            ;
    }
    /// Somebody has found out who the peer is.
    void judge(const verdict &by) {
        perform(machine_->resume({.kind = conversation::event_kind::verdict, .now = now_, .answer = &by}));
        while (!is_closed_ && step())
            ;
    }
    /// Time passes, and the machine is called whenever it asked to be.
    void pass(milliseconds how_long) {
        const auto end = now_ + how_long;
        for (int calls = 0; !is_closed_ && machine_->deadline() <= end; ++calls) {
            ASSERT_LT(calls, 100000) << "the deadline does not move";
            now_ = std::max(now_, machine_->deadline());
            perform(machine_->resume({conversation::event_kind::time, {}, now_}));
        }
        now_ = end;
    }

    bool is_closed() const { return is_closed_; }
    /// Returns what happened: "authenticate PLAIN user password", "established", "established,
    /// takes all",
    ///                "message a|b", "subscribe x", "cancel x", "close ...".
    const std::vector<std::string> &log() const { return log_; }
    /// Costly steps: 's' of a stranger, 'g' of one who has come back.
    const std::string &turns() const { return turns_; }
    /// All that was written.
    const octets &written() const { return written_; }
    /// Returns what was written since the last call.
    octets take_written() { return std::exchange(unseen_, {}); }
    conversation &machine() { return *machine_; }
    /// Stops taking octets from output(), as when the stream is full.
    void block_writing() { is_writing_ = false; }
    void go_on_writing() {
        is_writing_ = true;
        write();
    }
    /// The stream takes octets, but none of output().
    void hold_up() { machine_->note_output_held_up(now_); }

private:
    // Whatever stands on the wire becomes what a queue holds.
    void decode() {
        if (!decoder_ && !(decoder_ = machine_->framing().make_decoder())) {
            input_ += std::exchange(undecoded_, {});
            return;
        }
        while (!undecoded_.empty()) {
            octets out(decoder_->lead(undecoded_.size()) + undecoded_.size(), '\0');
            const auto step =
                decoder_->decode(as_bytes(undecoded_), reinterpret_cast<std::uint8_t *>(out.data()));
            undecoded_.erase(0, step.taken);
            out.resize(step.octets);
            input_ += out;
            block_ref owner;
            input_ += as_text(decoder_->take_frame(owner));
        }
    }
    // One call of the machine, or one walk; false when there is nothing to go on with.
    bool step() {
        if (!machine_->is_established()) {
            const auto result = machine_->resume({conversation::event_kind::octets, as_bytes(input_)});
            EXPECT_LE(result.consumed, input_.size());
            input_.erase(0, result.consumed);
            perform(result);
            if (machine_->is_established())
                undecoded_ = std::exchange(input_, {});
            return result.consumed > 0 && !(input_.empty() && undecoded_.empty());
        }
        decode();
        const walk_result walked = walk_frames(as_bytes(input_), in_message_, {});
        collect(walked.octets);
        input_.erase(0, walked.octets);
        if (walked.stop == walk_stop::bad_frame || walked.stop == walk_stop::too_big) {
            log_.emplace_back("close framing");
            is_closed_ = true;
        }
        const std::size_t whole = walked.next.header_size + static_cast<std::size_t>(walked.next.body_size);
        if (walked.stop != walk_stop::command || walked.next.header_size == 0 || input_.size() < whole)
            return false;
        const octets body = input_.substr(walked.next.header_size, whole - walked.next.header_size);
        input_.erase(0, whole);
        perform(machine_->resume({conversation::event_kind::command, as_bytes(body)}));
        return true;
    }

    void collect(std::size_t count) {
        const byte_span walked = as_bytes(input_).first(count);
        frame_header header;
        for (std::size_t at = 0; at < count; at += header.header_size + header.body_size) {
            ASSERT_TRUE(get_frame_header(walked.data() + at, count - at, header));
            parts_ += as_text(walked.subspan(at + header.header_size, header.body_size));
            if (header.has_more())
                parts_ += '|';
            else
                log_.push_back("message " + std::exchange(parts_, {}));
        }
    }

    void perform(const conversation::action &what) {
        switch (what.kind) {
        case conversation::action_kind::wait:
            break;
        case conversation::action_kind::authenticate: {
            const credentials shown = machine_->shown();
            log_.push_back("authenticate " + shown.mechanism);
            for (const std::string &each : shown.items)
                log_.back() += " " + each;
            if (is_writing_)
                write();
            if (judgement_)
                perform(machine_->resume(
                    {.kind = conversation::event_kind::verdict, .now = now_, .answer = &*judgement_}));
            break;
        }
        case conversation::action_kind::costly:
            turns_ += what.is_of_stranger ? 's' : 'g';
            if (is_writing_)
                write();
            perform(machine_->resume({.kind = conversation::event_kind::turn, .now = now_}));
            break;
        case conversation::action_kind::established:
            log_.emplace_back(what.takes_all ? "established, takes all" : "established");
            break;
        case conversation::action_kind::subscribe:
            log_.push_back("subscribe " + octets(as_text(what.topic)));
            break;
        case conversation::action_kind::cancel:
            log_.push_back("cancel " + octets(as_text(what.topic)));
            break;
        case conversation::action_kind::gap:
            log_.push_back("gap " + std::to_string(what.lost));
            break;
        case conversation::action_kind::close:
            log_.push_back(describe(what));
            is_closed_ = true;
            break;
        }
        if (is_writing_)
            write();
    }

    void write() {
        if (machine_->output().empty())
            return;
        written_ += text(machine_->output());
        unseen_ += text(machine_->output());
        machine_->output().clear();
        machine_->note_output_written(now_);
    }

    const std::optional<verdict> judgement_;  // none: judge() says it
    std::unique_ptr<const settings> options_;
    std::unique_ptr<conversation> machine_;
    heartbeat::time_point now_{std::chrono::hours(1)};
    std::unique_ptr<frame_decoder> decoder_;
    octets input_, undecoded_, parts_, written_, unseen_;
    std::string turns_;
    std::vector<std::string> log_;
    bool in_message_ = false;
    bool is_closed_ = false;
    bool is_writing_ = true;
};

class peer_script {
public:
    explicit peer_script(settings options, bool is_server = false, const web_place *place = nullptr)
        : options_(std::move(options)), is_server_(is_server), place_(place) {}

    /// Whenever a peer is to be judged, it is so at once.
    peer_script &judged(verdict by) {
        judgement_ = std::move(by);
        return *this;
    }
    /// Octets arrive from the peer.
    peer_script &receives(octets bytes) { return add(kind::receives, std::move(bytes)); }
    /// The machine has written exactly this since the last expectation.
    peer_script &expects_write(octets bytes) { return add(kind::expects_write, std::move(bytes)); }
    /// This is the next entry of the log; see peer_driver::log().
    peer_script &expects(std::string event) { return add(kind::expects_event, std::move(event)); }
    /// Time passes.
    peer_script &waits(milliseconds time) {
        add(kind::waits, {});
        steps_.back().time = time;
        return *this;
    }

    /// Plays the script; afterwards nothing may be left over.
    peer_script &run() {
        peer_driver driver(options_, is_server_, place_, nullptr, judgement_);
        std::size_t seen = 0;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            SCOPED_TRACE("step " + std::to_string(i + 1));
            play(driver, steps_[i], seen);
        }
        EXPECT_EQ(driver.take_written(), octets()) << "written and not expected";
        EXPECT_EQ(std::vector<std::string>(driver.log().begin() + static_cast<std::ptrdiff_t>(seen),
                                           driver.log().end()),
                  std::vector<std::string>())
            << "happened and not expected";
        return *this;
    }

    /// Replays the script with each step failing: the input cut behind each octet, and each octet
    /// of it changed. The machine has to come to one defined end: closed once, or established with
    /// nothing but whole messages.
    peer_script &fails_at_every_step() {
        const peer_driver good = played(input(), 0);
        for (std::size_t i = 0; i < steps_.size(); ++i)
            for (std::size_t at = 0; at < steps_[i].bytes.size() && steps_[i].what == kind::receives; ++at) {
                SCOPED_TRACE("step " + std::to_string(i + 1) + ", octet " + std::to_string(at));
                peer_driver cut = played_until(i);
                cut.feed(std::string_view(steps_[i].bytes).substr(0, at));
                comes_to_an_end(cut);
                // Whatever happened so far is the beginning of what happens in full; only the end
                // differs.
                for (std::size_t n = 0; n + cut.is_closed() < cut.log().size(); ++n)
                    EXPECT_EQ(cut.log()[n], good.log().at(n));
                for (const int change : {0x01, 0x02, 0x04, 0x20, 0x80, 0xff}) {
                    peer_driver hurt = played_until(i);
                    octets bytes = steps_[i].bytes;
                    bytes[at] = static_cast<char>(bytes[at] ^ change);
                    hurt.feed(bytes);
                    for (std::size_t n = i + 1; n < steps_.size(); ++n)
                        if (steps_[n].what == kind::receives)
                            hurt.feed(steps_[n].bytes);
                    comes_to_an_end(hurt);
                }
            }
        return *this;
    }

    /// Feeds the whole input in pieces of each size, and in `rounds` random splits: the same must
    /// happen each time.
    peer_script &is_the_same_in_any_split(unsigned rounds, const std::function<unsigned()> &random) {
        const octets all = input();
        const peer_driver whole = played(all, 0);
        for (std::size_t size = 1; size <= 80; ++size) {
            SCOPED_TRACE("pieces of " + std::to_string(size));
            is_the_same(played(all, size), whole);
        }
        for (unsigned round = 0; round < rounds; ++round) {
            peer_driver driver(options_, is_server_, place_, nullptr, judgement_);
            for (std::size_t at = 0, size; at < all.size(); at += size) {
                size = 1 + random() % 40;
                driver.feed(std::string_view(all).substr(at, size));
            }
            is_the_same(driver, whole);
        }
        return *this;
    }

private:
    enum class kind { receives, expects_write, expects_event, waits };
    struct step {
        kind what;
        octets bytes;
        milliseconds time{};
    };

    peer_script &add(kind what, octets bytes) {
        steps_.push_back({what, std::move(bytes)});
        return *this;
    }

    static void play(peer_driver &driver, const step &now, std::size_t &seen) {
        switch (now.what) {
        case kind::receives:
            driver.feed(now.bytes);
            break;
        case kind::waits:
            driver.pass(now.time);
            break;
        case kind::expects_write:
            EXPECT_EQ(driver.take_written(), now.bytes);
            break;
        case kind::expects_event:
            EXPECT_EQ(seen < driver.log().size() ? driver.log()[seen] : "nothing", now.bytes);
            ++seen;
            break;
        }
    }

    octets input() const {
        octets all;
        for (const step &one : steps_)
            if (one.what == kind::receives)
                all += one.bytes;
        return all;
    }
    // In pieces of `size`, 0 for all at once.
    peer_driver played(const octets &all, std::size_t size) const {
        peer_driver driver(options_, is_server_, place_, nullptr, judgement_);
        if (size == 0)
            size = all.size();
        for (std::size_t at = 0; at < all.size(); at += size)
            driver.feed(std::string_view(all).substr(at, size));
        return driver;
    }
    peer_driver played_until(std::size_t end) const {
        peer_driver driver(options_, is_server_, place_, nullptr, judgement_);
        for (std::size_t i = 0; i < end; ++i)
            if (steps_[i].what == kind::receives)
                driver.feed(steps_[i].bytes);
        return driver;
    }

    static void is_the_same(const peer_driver &a, const peer_driver &b) {
        EXPECT_EQ(a.log(), b.log());
        EXPECT_EQ(a.written(), b.written());
    }

    // With a handshake limit set, a machine either reached traffic or closes when its time is over.
    void comes_to_an_end(peer_driver &driver) const {
        driver.pass(milliseconds(options_.handshake_interval_ms));
        EXPECT_TRUE(driver.is_closed() || driver.machine().is_established());
        const auto log = driver.log();
        const auto established = std::count_if(
            log.begin(), log.end(), [](const octets &entry) { return entry.starts_with("established"); });
        EXPECT_EQ(established + (driver.is_closed() && established == 0), 1);
        if (!driver.is_closed())
            return;
        EXPECT_EQ(log.back().substr(0, 6), "close ");
        if (log.back() == "close framing")  // found by the walk: the machine was not asked
            return;
        for (const auto what : {conversation::event_kind::start, conversation::event_kind::octets,
                                conversation::event_kind::command, conversation::event_kind::time}) {
            const auto again = driver.machine().resume({what, as_bytes("x")});
            EXPECT_EQ(again.kind, conversation::action_kind::close);
            EXPECT_EQ(describe(again), log.back());
        }
        EXPECT_EQ(driver.machine().deadline(), heartbeat::time_point::max());
    }

    const settings options_;
    bool is_server_;
    const web_place *place_;
    std::optional<verdict> judgement_;
    std::vector<step> steps_;
};

}  // namespace zlink::testing
