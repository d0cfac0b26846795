// How the frames of a queue (core/frame.hpp) stand on the wire of one peer. Pure.
//
// Identity: from ZMTP 2.0 on they stand there as they are. Nothing is decoded, and what a queue holds is written as it is.
// Out:      encode() makes the octets of one frame. A subscription is a command to a peer of ZMTP 3.1, and a message to others.
// In:       a `frame_decoder` turns what was read, in whatever pieces, into frames of a queue. It judges nothing: what its framing
//           forbids comes out as a frame that the walk refuses (frame_walk.hpp), in its place behind what came before.
// Limits:   a decoder keeps part of a header, and nothing of a body but where the wire does not say how long it will be, and somebody
//           takes it.
// Raw:      see framing_raw.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/chunk.hpp"
#include "core/frame.hpp"
#include "core/settings.hpp"
#include "zmtp/masking.hpp"

namespace zlink {

/// The input of one connection, where the wire has another form than the queue.
class frame_decoder {
public:
    virtual ~frame_decoder() = default;

    /// How many octets more than go in may come out of the next decode(), of at most `most` octets: such as were taken in before, and
    /// headers that the wire does not have. None before the first octet of traffic, unless nothing but traffic is ever read.
    virtual std::size_t lead(std::size_t most) const noexcept = 0;
    struct decoded {
        std::size_t taken = 0;   // octets of `in`
        std::size_t octets = 0;  // written: at most lead() more than were taken
    };
    /// Decodes `in`, all of it or up to the end of a frame that take_frame() has. The result is written from `out` on, which may be
    /// lead() octets in front of `in`, or more, in the same memory.
    virtual decoded decode(byte_span in, std::uint8_t *out) noexcept = 0;
    /// A frame that came in pieces of unknown size stands in memory of its own: where, in the queue's form, and whose memory that is: a
    /// chunk. It comes behind what was decoded last. Empty where there is none.
    virtual byte_span take_frame(block_ref &owner) noexcept {
        (void)owner;
        return {};
    }
    /// These octets of the body under way were read past the decoder, which may have to change them.
    virtual void pass(std::span<std::uint8_t> octets) noexcept = 0;
    /// The reader makes use of this alone, from now on: a decoder that would have to keep the body of a message frame until it is whole may
    /// give a frame without a body for one that nobody takes.
    virtual void take_only(reception what) noexcept { (void)what; }
};

class framing {
public:
    virtual bool is_identity() const noexcept = 0;
    /// Whether what the conversation says may stand between the frames of a message, and not only between messages.
    virtual bool has_control_between_frames() const noexcept { return false; }
    /// Appends what stands in front of the body of a message frame, of so many octets. Of `flags` only more counts. Returns the mask of the
    /// body where it has one: else it stands on the wire as it is.
    virtual std::optional<mask_key> encode_header(std::uint8_t flags, std::size_t body_size,
                                                  std::vector<std::uint8_t> &out) const = 0;
    /// Encodes the message frames that `in` begins with, in the form of a queue, as far as they are whole, their bodies are no larger than
    /// `most`, and there is room. Takes them from `in`. `in_message` is whether the last of them was one with more; the messages that
    /// end are counted. Returns the octets written. It is used if has_encode_small() says so: elsewhere it is no faster than one by one.
    virtual bool has_encode_small() const noexcept { return false; }
    /// How many octets more a small frame has on the wire than in a queue.
    virtual std::size_t growth_of_small() const noexcept { return 0; }
    virtual std::size_t encode_small(byte_span &in, std::size_t most, std::span<std::uint8_t> out,
                                     bool &in_message, std::uint64_t &messages) const noexcept {
        (void)in, (void)most, (void)out, (void)in_message, (void)messages;
        return 0;
    }
    /// Appends a message frame.
    void encode(std::uint8_t flags, byte_span body, std::vector<std::uint8_t> &out) const;
    /// Appends a subscription, or the end of one, in the form that the peer understands.
    virtual void encode_subscription(bool is_subscribe, byte_span topic,
                                     std::vector<std::uint8_t> &out) const;
    /// Reads a header; false when `in` does not hold all of it. Validates nothing: a size that cannot be comes out as a large one.
    virtual bool get_header(byte_span in, frame_header &out) const noexcept = 0;
    /// For one connection, from the first octet of traffic on; null where is_identity(). Frames that come in pieces grow in `pool`, or
    /// in one of their own. Throws bad_alloc.
    virtual std::unique_ptr<frame_decoder> make_decoder(chunk_pool *pool = nullptr) const = 0;

protected:
    ~framing() = default;
};

// One of each, for ever.
const framing &framing_of_zmtp_3_1() noexcept;
const framing &framing_of_zmtp_2_0() noexcept;  // and of 3.0
const framing &framing_of_zmtp_1_0() noexcept;

}  // namespace zlink
