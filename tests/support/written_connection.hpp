// The connection at one end of a pipe, for tests of what is written: nothing is read.
#pragma once

#include <gtest/gtest.h>

#include "pipe/pipe.hpp"

namespace zlink::test {

/// Serves the end's turn while it lives.
struct written_connection : connection_port, reading_half {
    explicit written_connection(pipe_end &from) : end(from) { end.take_turn().serve(*this); }
    ~written_connection() override { EXPECT_TRUE(end.claim_turn()); }

    bool is_full() const noexcept override { return false; }
    int descriptor() const noexcept override { return -1; }
    reading_half &leased_half() noexcept override { return *this; }
    bool expects_more() const noexcept override { return false; }
    bool expects_large() const noexcept override { return false; }
    bool read_now(block_ref &) noexcept override { return false; }

    pipe_end &end;
};

}  // namespace zlink::test
