// OpenSSL's notes of failures on a thread of the application's, which may look at them still: out
// of the way while the library calls OpenSSL there, and back afterwards as they were, with their
// marks. OpenSSL takes the oldest that is noted for the one just now.
//
// Ours:     what is noted meanwhile is gone when the thread leaves.
// Threads:  each has its own list.
#pragma once

struct err_state_st;  // OpenSSL's list of one thread

namespace zlink {

class tls_failures {
public:
    /// The list is empty from here on. What was in it is lost when memory is short.
    void take() noexcept;
    void put_back() noexcept;
    /// OpenSSL has freed the list, or is about to.
    void give_up() noexcept;

private:
    [[maybe_unused]] bool is_taken_ = false;         // with OpenSSL 4
    [[maybe_unused]] err_state_st *list_ = nullptr;  // OpenSSL's, with 3
    err_state_st *kept_ = nullptr;                   // what stood in it
};

}  // namespace zlink
