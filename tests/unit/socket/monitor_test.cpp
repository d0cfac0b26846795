// A monitor whose messages the test takes: what belongs together stays together.
#include "socket/monitor.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace zlink {
namespace {

struct heard_event {
    std::uint16_t kind = 0;
    std::uint32_t value = 0;
};

struct listening_publisher final : event_publisher {
    explicit listening_publisher(std::vector<heard_event> &into) : heard(into) {}
    bool publish(std::span<const byte_span> frames) noexcept override {
        if (!has_room)
            return false;
        const byte_span event = frames[0];
        heard_event found;
        std::memcpy(&found.kind, event.data(), sizeof found.kind);
        std::memcpy(&found.value, event.data() + sizeof found.kind, sizeof found.value);
        heard.push_back(found);
        return true;
    }
    void lift_mark() noexcept override {}

    std::vector<heard_event> &heard;
    bool has_room = true;
};

TEST(monitor, lets_no_event_come_between_a_reason_and_what_it_explains) {
    constexpr int count = 20'000;
    std::vector<heard_event> heard;
    monitor watch;
    watch.publish_on(std::make_unique<listening_publisher>(heard), 0xffff | reasons_wanted);
    const auto fail = [&](int why) {
        for (int i = 0; i < count; ++i)
            watch.emit_explained(
                "words", why,
                {event_kind::accept_failed, static_cast<std::uint32_t>(why), "tcp://somewhere"});
    };
    std::thread other(fail, 1);
    fail(2);
    other.join();
    ASSERT_EQ(heard.size(), 4u * count);
    for (std::size_t i = 0; i < heard.size(); i += 2) {
        ASSERT_EQ(heard[i].kind, static_cast<std::uint16_t>(event_kind::reason));
        ASSERT_EQ(heard[i + 1].kind, static_cast<std::uint16_t>(event_kind::accept_failed));
        ASSERT_EQ(heard[i].value, heard[i + 1].value);
    }
}

TEST(monitor, keeps_no_reason_without_what_it_explains) {
    std::vector<heard_event> heard;
    monitor watch;
    auto publisher = std::make_unique<listening_publisher>(heard);
    listening_publisher &reader = *publisher;
    reader.has_room = false;
    watch.publish_on(std::move(publisher), 0xffff | reasons_wanted);
    for (std::size_t i = 0; i + 1 < monitor::most_events_waiting; ++i)
        watch.emit({event_kind::connected, 0, "tcp://somewhere"});
    watch.emit_explained("words", 1, {event_kind::accept_failed, 1, "tcp://somewhere"});
    reader.has_room = true;
    watch.emit_explained("words", 2, {event_kind::accept_failed, 2, "tcp://somewhere"});
    ASSERT_EQ(heard.size(), monitor::most_events_waiting + 1);
    EXPECT_EQ(heard[monitor::most_events_waiting - 1].value, 2u);
    EXPECT_EQ(heard[monitor::most_events_waiting].value, 2u);
}

}  // namespace
}  // namespace zlink
