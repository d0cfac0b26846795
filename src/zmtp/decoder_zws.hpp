// Frames of a queue out of the messages of WebSocket, where they were read; the other way is
// `framing_zws`, with what stands on the wire.
//
// In:       messages in fragments, too: these grow in memory of their own, which follows what has
//           arrived. Of those that nobody takes no octet is kept: a frame without a body stands for
//           each.
// Events:   what is for the conversation comes out as a command frame, in its place, whose body
//           begins with a zero octet: no command of ZMTP has an empty name, and one that comes over
//           the wire is a fault. Next in the body stands what happened (web_event). Of Pings that
//           come together only the latest counts, and of Pongs that may answer this side's Pings.
// Limits:   the size of a body is judged on its header, of a message in fragments when each begins,
//           before there is memory for it.
#pragma once

#include <array>
#include <memory>

#include "memory/chunk.hpp"
#include "zmtp/framing.hpp"
#include "zmtp/masking.hpp"
#include "zmtp/web_frame.hpp"

namespace zlink {

class decoder_zws final : public frame_decoder {
public:
    /// `pool` outlives it, or is null. `one_by_one`: decode() stops behind each frame.
    decoder_zws(const zws_form &how, chunk_pool *pool, bool one_by_one) noexcept
        : form_(how), pool_(pool), stops_(one_by_one) {}
    ~decoder_zws() override { forget_fragments(); }

    std::size_t lead(std::size_t most) const noexcept override;
    decoded decode(byte_span in, std::uint8_t *out) noexcept override;
    byte_span take_frame(block_ref &owner) noexcept override;
    void pass(std::span<std::uint8_t> octets) noexcept override;
    void take_only(reception what) noexcept override;

    /// One by one: what the last decode() wrote is an event, and all of it.
    bool has_given_event() const noexcept { return gave_event_; }

private:
    static constexpr std::size_t longest_header = 14;
    static constexpr std::uint8_t keeps_ping = 1, keeps_pong = 2;

    enum class stage {
        header,
        flags,     // the octet in front of a body
        command,   // the first octet of its body
        body,      // that goes to the queue as it comes
        fragment,  // of a message in fragments
        control,
        over,  // said so: what follows means nothing
    };
    /// The message in fragments.
    enum class fragments : std::uint8_t {
        none,
        unmarked,  // its octet of flags has not come
        taken,
        unwanted,  // nobody takes it, and it has no memory
        whole      // take_frame() hands it over
    };
    bool in_fragments() const noexcept {
        return fragments_ != fragments::none && fragments_ != fragments::whole;
    }
    struct parsed_header {
        std::uint64_t length = 0;
        mask_key key{};
        std::uint8_t size = 0;
        std::uint8_t opcode = 0;
        bool is_final = false;
    };
    /// 0 or the status of a fault; `size` is 0 while not all of it is there.
    std::uint16_t judge(byte_span in, parsed_header &out) const noexcept;
    std::uint8_t *take_small(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *take_header(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *begin_frame(const parsed_header &header, byte_span in, std::uint8_t *out) noexcept;
    std::uint8_t *begin_fragment(std::uint8_t *out) noexcept;
    std::uint8_t *take_flags(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *take_command(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *begin_body(std::uint8_t flags, byte_span in, std::uint8_t *out) noexcept;
    std::uint8_t *take_body(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *take_fragment(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *end_fragment(std::uint8_t *out) noexcept;
    std::uint8_t *take_control(byte_span &in, std::uint8_t *out) noexcept;
    std::uint8_t *end_control(std::uint8_t *out) noexcept;
    std::uint8_t *put_event(std::uint8_t what, byte_span data, std::uint8_t *out) noexcept;
    std::uint8_t *put_kept(std::uint8_t *out) noexcept;
    std::uint8_t *put_fault(std::uint16_t status, std::uint8_t *out) noexcept;

    /// Bits of the flags octet.
    bool is_known(std::uint8_t flags) const noexcept { return flags <= zws_octet::command; }
    std::uint64_t limit_of(std::uint8_t flags) const noexcept {
        return flags == zws_octet::command ? form_.max_command : form_.max_body;
    }
    std::uint64_t most_in_payload() const noexcept;
    std::uint8_t next_octet(byte_span &in) noexcept;
    std::size_t unmask(byte_span &in, std::uint8_t *to, std::uint64_t most) noexcept;
    bool is_wanted(std::uint8_t first) const noexcept;
    void skip(byte_span &in, std::size_t count) noexcept;
    bool make_room(std::size_t more) noexcept;
    void give_memory_back() noexcept;
    void forget_fragments() noexcept;

    // Constant after construction
    const zws_form form_;
    chunk_pool *pool_;
    std::shared_ptr<chunk_pool> own_pool_;  // where there was none, from the first fragment on
    const bool stops_;

    reception takes_ = reception::all;
    stage at_ = stage::header;
    // By the last decode(), which may have told an event and gone on, or have stopped without one
    bool gave_event_ = false;
    bool has_stopped_ = false;
    std::array<std::uint8_t, longest_header> header_{};
    std::size_t have_ = 0;  // of a header

    // The WebSocket frame under way
    std::uint64_t left_ = 0;  // of its payload
    mask_key key_{};          // for what comes next
    bool is_final_ = false;
    std::uint8_t opcode_ = 0;

    // The message in fragments
    fragments fragments_ = fragments::none;
    std::uint8_t flags_ = 0;
    chunk *memory_ = nullptr;
    std::size_t size_ = 0;  // of its body, as far as it has come

    // Control frames
    std::array<std::uint8_t, max_control_payload> control_{};
    std::uint8_t control_size_ = 0;
    std::uint8_t kept_ = 0;  // of the two that follow, what is not told yet
    std::uint8_t ping_size_ = 0;
    std::array<std::uint8_t, max_control_payload> ping_{};
    std::array<std::uint8_t, ping_number_size> pong_{};
};

}  // namespace zlink
