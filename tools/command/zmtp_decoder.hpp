// One direction of a conversation in ZMTP 1, 2 or 3, told piece by piece.
//
// Wire: RFC 13, 15, 23 and 37. Of a frame its first octets are kept, however long it is.
// Flow: who speaks to an older peer says so by what it sends next, which only the other direction
// explains: it is told to follow.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace command {

struct zmtp_record {
    std::string kind;  // greeting, command, message or octets
    std::string words;
    std::uint64_t size = 0;
    bool has_more = false;
    bool has_octets = false;  // they may be shown
    std::string octets;       // the first
};

class zmtp_decoder {
public:
    using listener = std::function<void(const zmtp_record &)>;

    zmtp_decoder(size_t shown, bool shows_secrets, listener tell)
        : shown_(shown), shows_secrets_(shows_secrets), tell_(std::move(tell)) {}

    void feed(std::string_view octets);
    /// So many octets have been sent, and are not known.
    void skip(std::uint64_t count);
    /// Nothing can be told of what follows.
    void lose(const std::string &why);
    void end();

    /// The other direction, which is to hear which version this one speaks.
    void tell_version_to(zmtp_decoder &other) { other_ = &other; }

private:
    enum class step {
        first,
        signature,
        version,
        greeting2,
        greeting3,
        flags,
        length,
        body,
        lost,
        // of ZMTP 1.0, whose lengths count the flags behind them
        length1,
        long_length1,
        flags1
    };

    void await(step next, size_t need);
    bool may_be_secret(std::string_view octets) const;
    void lose_foreign(const std::string &why);
    void advance();
    void end_signature(unsigned char last);
    void end_version(unsigned char major);
    void speak(int major);
    void follow(int major);
    void begin_version1(std::uint64_t left_of_id);
    void begin_body(std::uint64_t size);
    void tell_of_id();
    void end_frame();
    void tell_of_greeting();
    void tell_of_command();
    void tell_of_message();
    std::string words_of_plain_hello() const;
    std::string words_of_properties(std::string_view list) const;
    step next_frame() const { return major_ == 1 ? step::length1 : step::flags; }
    bool is_command() const { return (flags_ & 4) != 0; }
    bool has_more() const { return (flags_ & 1) != 0; }

    size_t shown_;
    bool shows_secrets_;
    listener tell_;
    step step_ = step::first;
    size_t need_ = 1;
    std::string held_;
    unsigned char flags_ = 0;
    std::uint64_t size_ = 0, left_ = 0;
    bool has_gap_ = false;  // in the frame that is read
    bool is_first_part_ = true;
    bool is_foreign_ = false;  // and was so from its first octet on
    int major_ = 3;            // that is spoken here: 1, 2 or 3
    int major_of_peer_ = 3;    // as far as it is known
    bool awaits_id_ = false;   // of versions 1 and 2: the first frame is the routing id
    zmtp_decoder *other_ = nullptr;
    std::string mechanism_, type_;
};

}  // namespace command
