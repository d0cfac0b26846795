// Text that nobody is to find in memory that was given back: it is wiped when it goes, and where it
// makes room for other text.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace zlink {

class secret : public std::string {
public:
    secret() = default;
    explicit secret(std::string_view text) : std::string(text) {}
    secret(const secret &) = default;
    secret(secret &&other) noexcept : std::string(std::move(other)) { other.wipe(); }
    ~secret() { wipe(); }

    secret &operator=(const secret &other) {
        if (this != &other)
            *this = std::string_view(other);
        return *this;
    }
    secret &operator=(secret &&other) noexcept {
        swap(other);
        return *this;
    }
    secret &operator=(std::string_view text) {
        secret fresh;
        fresh.assign(text);
        swap(fresh);
        return *this;
    }

private:
    void wipe() noexcept {
        resize(capacity());  // takes no memory
        ::explicit_bzero(data(), size());
        clear();
    }
};

}  // namespace zlink
