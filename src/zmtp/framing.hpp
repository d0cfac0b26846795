// The form of a queue's frames (core/frame.hpp) on the wire of one peer. Pure.
//
// Identity: from ZMTP 2.0 on they stand there as they are. Nothing is decoded, and what a queue
//           holds is written as it is.
// Out:      encode() makes the octets of one frame. A subscription is a command to a peer of ZMTP
//           3.1, and a message to others.
// In:       a `frame_decoder` turns what was read, however it was cut, into frames of a queue. It
//           judges nothing: what its framing forbids comes out as a frame that the walk refuses
//           (frame_walk.hpp), in its place behind what came before.
// Limits:   a decoder keeps part of a header, and nothing of a body but where the wire does not say
//           how long it will be, and somebody takes it.
// Covers:   where a body does not stand on the wire as it is, the framing says what is done to it
//           on its way: a mask is laid on it (framing_zws.hpp), or it is sealed
//           (framing_curve.hpp). A framing may stand inside of another, and then both are done.
// Raw:      see framing_raw.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/frame.hpp"
#include "core/settings.hpp"
#include "memory/chunk.hpp"
#include "zmtp/failure.hpp"

namespace zlink {

/// The first octet of a subscription, and of its end, where it is a message: to peers without the
/// SUBSCRIBE command (RFC 23), and to and from applications (RFC 29).
inline constexpr std::uint8_t subscribe_octet = 1;
inline constexpr std::uint8_t cancel_octet = 0;

/// The input of one connection, where the wire has another form than the queue.
class frame_decoder {
public:
    virtual ~frame_decoder() = default;

    /// The octets more than go in that may come out of the next decode(), of at most `most` octets:
    /// such as were taken in before, and headers that the wire does not have. None before the first
    /// octet of traffic, unless nothing but traffic is ever read.
    virtual std::size_t lead(std::size_t most) const noexcept = 0;
    struct decoded {
        std::size_t taken = 0;   // octets of `in`
        std::size_t octets = 0;  // written: at most lead() more than were taken
    };
    /// Decodes `in`, all of it or up to the end of a frame that take_frame() has. The result is
    /// written from `out` on, which may be lead() octets in front of `in`, or more, in the same
    /// memory.
    virtual decoded decode(byte_span in, std::uint8_t *out) noexcept = 0;
    /// A frame that came in fragments of unknown size stands in memory of its own: where, in the
    /// queue's form, and whose memory that is: a chunk. It comes behind what was decoded last.
    /// Empty where there is none.
    virtual byte_span take_frame(block_ref &owner) noexcept {
        (void)owner;
        return {};
    }
    struct place {
        std::span<std::uint8_t> octets;
        bool ends_frame = false;  // with the last of them
    };
    /// The place where the next octets may be read to, past decode(), which saves a copy of them:
    /// in a frame that the decoder puts together. Empty where there is no such place.
    virtual place place_for_next() noexcept { return {}; }
    /// So many octets have been read there, or none. take_frame() has the frame where that was all
    /// of it.
    virtual void fill(std::size_t octets) noexcept { (void)octets; }
    /// These octets of the body under way were read past the decoder, which may have to change
    /// them.
    virtual void pass(std::span<std::uint8_t> octets) noexcept = 0;
    /// The reader makes use of this alone, from now on: a decoder that would have to keep the body
    /// of a message frame until it is whole may give a frame without a body for one that nobody
    /// takes.
    virtual void take_only(reception what) noexcept { (void)what; }
    /// The fault of a frame that it gave for the walk to refuse, where it knows; else 0.
    virtual protocol_error fault() const noexcept { return 0; }
};

/// The work to be done on one body on its way to the wire. It belongs to the framing that made it,
/// which knows how.
struct body_cover {
    bool takes_slices = false;             // one behind the other; else all of the body at once
    std::size_t growth = 0;                // octets more come out of the first slice than go in
    std::array<std::uint8_t, 32> state{};  // the framing's own
};

class framing {
public:
    virtual bool is_identity() const noexcept = 0;
    /// Its frames have numbers: what it encodes goes out in the order in which it was encoded,
    /// commands of the conversation as well. So these are encoded by the writer of messages.
    virtual bool numbers_frames() const noexcept { return false; }
    /// A subscription is a command, and not a message.
    virtual bool subscribes_by_command() const noexcept { return false; }
    /// Whether what the conversation says may stand between the frames of a message, and not only
    /// between messages.
    virtual bool has_control_between_frames() const noexcept { return false; }
    /// Appends what stands in front of the body of a message frame, of so many octets. Of `flags`
    /// only more counts. Returns what is to be done to the body; nothing where it stands on the
    /// wire as it is.
    virtual std::optional<body_cover> encode_header(std::uint8_t flags, std::size_t body_size,
                                                    std::vector<std::uint8_t> &out) const = 0;
    /// Does that to the next slice of the body. `out` has room for it, and for the growth in front
    /// of the first; it may be where `in` is if there is none.
    virtual void cover(body_cover &how, byte_span in, std::uint8_t *out) const noexcept {
        (void)how, (void)in, (void)out;
    }
    /// Appends a body, or what is left of it, with that done to it.
    virtual void append_covered(body_cover how, byte_span body, std::vector<std::uint8_t> &out) const;
    /// Encodes the message frames that `in` begins with, in the form of a queue, as far as they are
    /// whole, their bodies are no larger than `most`, and there is room: all of them, or those that
    /// the peer gets together or not at all. Takes them from `in`. `in_message` is whether the last
    /// of them was one with more; the messages that end are counted. Returns the octets written. It
    /// is used if has_encode_small() says so: elsewhere it is no faster than one by one.
    virtual bool has_encode_small() const noexcept { return false; }
    /// The octets that a small frame has more on the wire than in a queue.
    virtual std::size_t growth_of_small() const noexcept { return 0; }
    /// The room that is well used for so many octets of small frames.
    virtual std::size_t room_for_small(std::size_t octets) const noexcept { return octets; }
    virtual std::size_t encode_small(byte_span &in, std::size_t most, std::span<std::uint8_t> out,
                                     bool &in_message, std::uint64_t &messages) const noexcept {
        (void)in, (void)most, (void)out, (void)in_message, (void)messages;
        return 0;
    }
    struct small_frame {
        std::size_t size = 0;  // octets
        bool ends_message = false;
    };
    /// The frame that `wire` begins with, as encode_small() has written it; of no size where the
    /// peer gets all that one call has written together.
    virtual small_frame look_at_small(byte_span wire) const noexcept {
        (void)wire;
        return {};
    }
    /// Appends a command frame with this body.
    virtual void encode_command(byte_span body, std::vector<std::uint8_t> &out) const;
    /// Appends a message frame.
    void encode(std::uint8_t flags, byte_span body, std::vector<std::uint8_t> &out) const;
    /// Appends a subscription, or the end of one, in the form that the peer understands.
    virtual void encode_subscription(bool is_subscribe, byte_span topic,
                                     std::vector<std::uint8_t> &out) const;
    /// Reads a header; false when `in` does not hold all of it. Validates nothing: a size that
    /// cannot be comes out as a large one.
    virtual bool get_header(byte_span in, frame_header &out) const noexcept = 0;
    /// For one connection, from the first octet of traffic on; null where is_identity(). Frames
    /// that come in fragments grow in `pool`, or in one of their own. Throws bad_alloc.
    virtual std::unique_ptr<frame_decoder> make_decoder(chunk_pool *pool = nullptr) const = 0;

protected:
    ~framing() = default;
};

// One of each, for ever.
const framing &framing_of_zmtp_3_1() noexcept;
const framing &framing_of_zmtp_2_0() noexcept;  // and of 3.0
const framing &framing_of_zmtp_1_0() noexcept;

}  // namespace zlink
