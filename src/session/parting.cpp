// Reading what is thrown away, until one of the ends comes; see parting.hpp.
#include "session/parting.hpp"

#include <array>
#include <cstdint>
#include <new>

namespace zlink {

namespace {
constexpr int reads_per_look = 8;
constexpr std::size_t octets_per_read = 16 * 1024;
}  // namespace

parting::parting(loop &io, std::unique_ptr<stream> bytes, parting_events &events) noexcept
    : io_(io), bytes_(std::move(bytes)), events_(events), timer_(io.make_timer([this] { on_time(); })),
      ends_at_(io.now() + longest_parting) {
    bytes_->set_events(this);
}

std::unique_ptr<parting> parting::begin(loop &io, std::unique_ptr<stream> bytes,
                                        parting_events &events) noexcept {
    std::unique_ptr<parting> made(new (std::nothrow) parting(io, std::move(bytes), events));
    if (!made || !made->timer_ || !made->read())
        return nullptr;
    made->bytes_->wait_readable();
    made->timer_->expires_at(made->ends_at_);
    io.sheddables.add(*made);
    return made;
}

void parting::end_by(time_point when) noexcept {
    if (is_over_ || when >= ends_at_)
        return;
    ends_at_ = when;
    is_over_ = io_.now() >= when;
    if (is_over_)
        leave_list();
    else
        timer_->expires_at(when);
}

void parting::on_stream_readable() noexcept {
    if (is_over_)
        return;
    if (read())
        bytes_->wait_readable();
    else
        end();
}

void parting::on_time() noexcept {
    if (!is_over_)
        end();
}

void parting::shed() noexcept {
    bytes_.reset();
    end();
}

/// False when there is nothing more to wait for.
bool parting::read() noexcept {
    std::array<std::uint8_t, octets_per_read> octets;
    const iovec range{octets.data(), octets.size()};
    for (int i = 0; i < reads_per_look; ++i) {
        const io_result result = bytes_->try_read({&range, 1});
        if (result.octets == 0)
            return result.status == error::again;
        octets_ += result.octets;
        if (octets_ >= most_octets)
            return false;
        if (result.octets < octets.size())
            break;
    }
    return true;
}

void parting::end() noexcept {
    is_over_ = true;
    leave_list();
    timer_->cancel();
    events_.on_parted();
}

}  // namespace zlink
