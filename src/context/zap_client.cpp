// A pipe for each question to the application's handler; see zap_client.hpp. Map: the one who hears
// of an answer; a question, from its frames to the verdict; asking.
#include "context/zap_client.hpp"

#include <new>

#include "core/fence.hpp"
#include "core/frame.hpp"
#include "core/secret.hpp"
#include "memory/block.hpp"
#include "zmtp/zap.hpp"

namespace zlink {

namespace {

constexpr const char *handlers_name = "zeromq.zap.01";

/// The handler has answered, or is gone. Pipe and question keep it together.
class answer_listener final : public pipe_events {
public:
    explicit answer_listener(std::function<void()> on_answer) : on_answer_(std::move(on_answer)) {}

    void on_readable(pipe_end &) noexcept override { on_answer_(); }
    void on_writable(pipe_end &) noexcept override {}
    void on_closed(pipe_end &) noexcept override { on_answer_(); }

private:
    const std::function<void()> on_answer_;
};

/// Proof that a peer has shown, on its way. It is wiped when nobody has it any more: neither the
/// pipe nor a message of the handler's.
struct shown_secret final : block {
    explicit shown_secret(std::string_view text) : block(dispose_it), octets(text) {}
    static void dispose_it(block *self) noexcept { delete static_cast<shown_secret *>(self); }

    const secret octets;
};

class question final : public authentication {
public:
    explicit question(inproc_names::way to_handler) noexcept
        : pipe_(std::move(to_handler.pipe)), handlers_(std::move(to_handler.inbox)) {}
    /// A handler that does not look for new questions keeps nothing of those that nobody asks any
    /// more.
    ~question() override {
        pipe_->close();
        handlers_->withdraw(pipe_->other());
    }

    /// False when there is no memory.
    bool put(const authentication_request &what) {
        const std::vector<std::string_view> frames = zap::frames_of(what);
        const std::size_t first_shown = frames.size() - what.shown.items.size();
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const std::uint8_t flags = i + 1 < frames.size() ? frame_flag::more : std::uint8_t{0};
            const error e =
                i < first_shown ? pipe_->write(flags, as_bytes(frames[i])) : write_secret(flags, frames[i]);
            if (failed(e)) {
                pipe_->roll_back();
                return false;
            }
        }
        pipe_->publish();
        return true;
    }

    bool take(verdict &out) override {
        if (!has_reply()) {
            if (!pipe_->is_finished())
                return false;
            out = {};
            out.what = verdict::kind::unanswered;
            return true;
        }
        out = read();
        return true;
    }

    /// Whether an answer is there. If not, the listener hears of it.
    bool has_reply() noexcept {
        skip_commands();
        if (pipe_->has_input())
            return true;
        pipe_->arm_reader();
        heavy_fence();
        skip_commands();
        return pipe_->has_input();
    }

private:
    error write_secret(std::uint8_t flags, std::string_view text) noexcept {
        try {
            auto *const body = new shown_secret(text);
            return pipe_->write_external(flags, block_ref::adopt(body), as_bytes(body->octets));
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    /// The first frame of a new pipe tells sockets of a socket, and is nothing here.
    void skip_commands() noexcept {
        frame_view ignored;
        while (pipe_->has_command())
            if (!pipe_->read(ignored))
                break;
    }

    /// One frame more than there should be is kept, and says that there are too many.
    verdict read() {
        std::vector<std::string> kept;
        frame_view frame;
        while (pipe_->read(frame)) {
            if (kept.size() <= zap::frames_of_reply)
                kept.emplace_back(as_text(frame.body()));
            if (!frame.has_more())
                break;
        }
        std::vector<byte_span> frames;
        for (const std::string &each : kept)
            frames.push_back(as_bytes(each));
        return zap::read_reply(frames);
    }

    const pipe_end_ptr pipe_;
    const std::shared_ptr<mailbox> handlers_;
};

}  // namespace

std::unique_ptr<authentication> zap_client::ask(const authentication_request &what,
                                                std::function<void()> on_answer) {
    auto hears = std::make_shared<answer_listener>(on_answer);
    inproc_names::way to_handler = names_.connect_to_bound(handlers_name, hears, [](socket_type type) {
        return type == socket_type::rep || type == socket_type::router;
    });
    if (!to_handler.pipe)
        return nullptr;
    auto asked = std::make_unique<question>(std::move(to_handler));
    if (!asked->put(what))
        throw std::bad_alloc();
    if (asked->has_reply())
        on_answer();
    return asked;
}

}  // namespace zlink
