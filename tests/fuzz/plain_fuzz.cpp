// Fuzz target: the PLAIN handshake of either role, with commands in any order. Nobody is let in who
// was not judged, and what is shown to be judged is what the peer has said.
//
// Input:    form:1 | (name:1 | size:1 | octets)*.
//           The form says the role and the verdict.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/invariant.hpp"
#include "zmtp/mechanism.hpp"

using namespace zlink;

namespace {

using progress = mechanism::progress;

constexpr std::size_t most_said = 4096;
constexpr std::size_t longest_text = 255;

verdict verdict_of(std::uint8_t form) {
    verdict out;
    out.what = static_cast<verdict::kind>(form % 5);
    out.status = 400;
    return out;
}

class driven_plain {
public:
    explicit driven_plain(std::uint8_t form) : answer_(verdict_of(form / 8)) {
        options_.type = form & 2 ? socket_type::dealer : socket_type::pull;
        options_.mechanism = mechanism_kind::plain;
        options_.plain_server = form & 1;
        options_.plain_username = "name";
        options_.plain_password = std::string_view("password");
        machine_ = make_mechanism(options_, options_.plain_server);
        take(machine_->start(out_));
    }

    void hear(std::string_view name, byte_span data) {
        take(machine_->receive({name, data}, static_cast<peer_info &>(*info_.get()), out_));
        if (status_ != progress::waiting)
            return;
        const credentials shown = machine_->shown();
        ZLINK_INVARIANT(options_.plain_server && shown.items.size() == 2);
        for (const secret &each : shown.items)
            ZLINK_INVARIANT(std::string_view(each).size() <= longest_text);
        ZLINK_INVARIANT(std::string_view(shown.items[0]).size() + std::string_view(shown.items[1]).size() +
                            2 ==
                        data.size());
        take(machine_->judge(answer_, static_cast<peer_info &>(*info_.get()), out_));
        was_accepted_ = status_ != progress::failed;
        ZLINK_INVARIANT(was_accepted_ == (answer_.what == verdict::kind::accepted));
    }
    bool is_over() const { return status_ == progress::failed || status_ == progress::complete; }

private:
    void take(const mechanism::outcome &what) {
        status_ = what.status;
        ZLINK_INVARIANT(out_.size() < most_said);
        ZLINK_INVARIANT(status_ != progress::complete || !options_.plain_server || was_accepted_);
    }

    const verdict answer_;
    settings options_;
    std::unique_ptr<mechanism> machine_;
    block_ref info_ = block_ref::adopt(new peer_info);
    std::vector<std::uint8_t> out_;
    progress status_ = progress::unfinished;
    bool was_accepted_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    constexpr std::string_view names[] = {"HELLO", "INITIATE", "WELCOME",  "READY",
                                          "ERROR", "HELLO",    "INITIATE", "X"};
    driven_plain talk(data[0]);
    byte_span rest(data + 1, size - 1);
    while (rest.size() >= 2 && !talk.is_over()) {
        const std::string_view name = names[rest[0] % std::size(names)];
        const byte_span body = rest.subspan(2, std::min<std::size_t>(rest[1], rest.size() - 2));
        rest = rest.subspan(2 + body.size());
        talk.hear(name, body);
    }
    return 0;
}
