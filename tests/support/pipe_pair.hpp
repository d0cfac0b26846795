// Both ends of a pipe in one thread, and what is told to each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "pipe/pipe.hpp"

namespace zlink::test {

struct recorder final : pipe_events {
    int readable = 0;
    int writable = 0;
    int closed = 0;
    pipe_end *last = nullptr;

    void on_readable(pipe_end &end) noexcept override { ++readable, last = &end; }
    void on_writable(pipe_end &end) noexcept override { ++writable, last = &end; }
    void on_closed(pipe_end &end) noexcept override { ++closed, last = &end; }
};

class pipe_pair : public ::testing::Test {
protected:
    void open(std::uint64_t hwm, bool conflate = false, end_kind second = end_kind::connection) {
        auto ends = make_pipe(pool, {hwm, hwm, conflate, {}, second});
        writer = ends.first;
        reader = ends.second;
        writer->set_events(writer_events);
        reader->set_events(reader_events);
    }
    /// A pipe whose writer writes once so many octets have come together.
    void open_with_batch(std::size_t octets) {
        pipe_options options;
        options.sizes.senders_batch_size = octets;
        auto ends = make_pipe(pool, options);
        writer = ends.first;
        reader = ends.second;
    }
    void TearDown() override {
        writer.reset();
        reader.reset();
        EXPECT_EQ(pool.use_count(), 1);
    }
    /// Does as a socket does before each message that takes the long way.
    void allow_short_writes() {
        if (writer->backlog().is_check_due())
            writer->backlog().begin_window();
        writer->allow_short_writes();
    }
    bool send(std::string_view text, std::uint8_t flags = 0) {
        if (!writer->has_credit())
            return false;
        EXPECT_EQ(writer->write(flags, as_bytes(text)), error::none);
        if (!(flags & frame_flag::more))
            writer->publish();
        return true;
    }
    std::string receive() {
        frame_view frame;
        return reader->read(frame) ? std::string(as_text(frame.body())) : "(nothing)";
    }
    bool arm_and_look() {
        reader->arm_reader();
        heavy_fence();
        return reader->has_input();
    }

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    std::shared_ptr<recorder> writer_events = std::make_shared<recorder>();
    std::shared_ptr<recorder> reader_events = std::make_shared<recorder>();
    pipe_end_ptr writer;
    pipe_end_ptr reader;
};

}  // namespace zlink::test
