// Memory that stands where a test wants it within a page: how the system copies depends on that
// (transport/kernel_copy.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace zlink::test {

class placed_memory {
public:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t usual = 64;

    explicit placed_memory(std::size_t size, std::size_t offset_in_page = usual)
        : memory_(size + 2 * page, '?'), size_(size) {
        const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
        at_ = (begin + page - 1) / page * page - begin + offset_in_page;
    }

    char *data() noexcept { return memory_.data() + at_; }
    std::string_view text() const noexcept { return {memory_.data() + at_, size_}; }
    std::span<std::uint8_t> octets() noexcept { return {reinterpret_cast<std::uint8_t *>(data()), size_}; }

private:
    std::vector<char> memory_;
    std::size_t size_;
    std::size_t at_ = 0;
};

}  // namespace zlink::test
