// The slab of handles: what is recognised, what is refused, and when an address comes back.
#include "capi/handles.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace zlink::capi {
namespace {

int object_a;
int object_b;

void *opened(handle_kind kind, void *object) {
    void *handle = handles.add(kind, object);
    EXPECT_NE(handle, nullptr);
    return handle;
}
void closed(void *handle, handle_kind kind) { EXPECT_NE(handles.take(handle, kind).object, nullptr); }

TEST(handles, give_the_object_of_their_own_kind_only) {
    void *s = opened(handle_kind::socket, &object_a);
    void *p = opened(handle_kind::poller, &object_b);
    EXPECT_EQ(handles.find(s, handle_kind::socket), &object_a);
    EXPECT_EQ(handles.find(p, handle_kind::poller), &object_b);
    EXPECT_EQ(handles.find(s, handle_kind::poller), nullptr);
    EXPECT_EQ(handles.find(s, handle_kind::context), nullptr);
    EXPECT_EQ(handles.find(p, handle_kind::socket), nullptr);
    closed(s, handle_kind::socket);
    closed(p, handle_kind::poller);
}

TEST(handles, refuse_pointers_that_are_none_of_theirs) {
    void *s = opened(handle_kind::socket, &object_a);
    const auto refused = [](const void *pointer) {
        void *handle = const_cast<void *>(pointer);
        return !handles.find(handle, handle_kind::socket) && !handles.find(handle, handle_kind::none) &&
               !handles.take(handle, handle_kind::socket).object &&
               !handles.owner_of(handle, handle_kind::context) &&
               !handles.forget(handle, handle_kind::inherited_socket);
    };
    const auto at = reinterpret_cast<std::uintptr_t>(s);
    const auto heap = std::make_unique<char[]>(256);
    EXPECT_TRUE(refused(nullptr));
    EXPECT_TRUE(refused(&object_a));
    EXPECT_TRUE(refused(heap.get()));
    EXPECT_TRUE(refused(reinterpret_cast<void *>(1)));
    EXPECT_TRUE(refused(reinterpret_cast<void *>(~std::uintptr_t{0})));
    EXPECT_TRUE(refused(reinterpret_cast<void *>(at + 1)));
    EXPECT_TRUE(refused(reinterpret_cast<void *>(at + 8)));
    EXPECT_TRUE(refused(reinterpret_cast<void *>(at + (std::uintptr_t{1} << 20)))) << "reserved, never used";
    EXPECT_EQ(handles.find(s, handle_kind::socket), &object_a);
    closed(s, handle_kind::socket);
}

TEST(handles, end_once) {
    void *s = opened(handle_kind::socket, &object_a);
    EXPECT_EQ(handles.take(s, handle_kind::poller).object, nullptr);
    EXPECT_EQ(handles.take(s, handle_kind::socket).object, &object_a);
    EXPECT_EQ(handles.find(s, handle_kind::socket), nullptr);
    EXPECT_EQ(handles.take(s, handle_kind::socket).object, nullptr);
}

TEST(handles, are_not_used_again_soon_after_they_were_closed) {
    void *s = opened(handle_kind::socket, &object_a);
    closed(s, handle_kind::socket);
    for (std::size_t i = 0; i + 1 < handle_slab::quarantine; ++i) {
        void *next = opened(handle_kind::socket, &object_b);
        EXPECT_NE(next, s);
        closed(next, handle_kind::socket);
    }
}

TEST(handles, come_back_in_the_long_run) {
    std::set<void *> all;
    for (std::size_t i = 0; i < 8 * handle_slab::quarantine; ++i) {
        void *s = opened(handle_kind::socket, &object_a);
        all.insert(s);
        closed(s, handle_kind::socket);
    }
    EXPECT_LE(all.size(), 2 * handle_slab::quarantine);
}

TEST(handles, are_all_different_and_all_found_however_many_there_are) {
    std::vector<int> objects(3 * handle_slab::step);
    std::vector<void *> opened_handles;
    for (int &object : objects)
        opened_handles.push_back(opened(handle_kind::socket, &object));
    EXPECT_EQ(std::set<void *>(opened_handles.begin(), opened_handles.end()).size(), objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i)
        EXPECT_EQ(handles.find(opened_handles[i], handle_kind::socket), &objects[i]);
    for (void *handle : opened_handles)
        closed(handle, handle_kind::socket);
}

/// Returns what a child of fork finds; its exit status tells which expectation failed.
int look_around_in_child(void *s, void *c, void *p) {
    if (handles.find(s, handle_kind::socket) || handles.owner_of(c, handle_kind::context) ||
        handles.find(c, handle_kind::context))
        return 1;  // the parent's still work
    if (handles.find(p, handle_kind::poller) != &object_b)
        return 2;  // pollers do not
    if (!handles.forget(s, handle_kind::inherited_socket) ||
        !handles.forget(c, handle_kind::inherited_context))
        return 3;  // they cannot be closed
    if (handles.forget(s, handle_kind::inherited_socket))
        return 4;  // closed twice
    void *fresh = handles.add(handle_kind::socket, &object_a);
    return handles.find(fresh, handle_kind::socket) == &object_a ? 0 : 5;
}

TEST(handles, of_the_parent_can_only_be_closed_in_a_child_of_fork) {
    void *s = opened(handle_kind::socket, &object_a);
    void *c = opened(handle_kind::context, &object_a);
    void *p = opened(handle_kind::poller, &object_b);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        ::_exit(look_around_in_child(s, c, p));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(handles.find(s, handle_kind::socket), &object_a);
    closed(s, handle_kind::socket);
    closed(c, handle_kind::context);
    closed(p, handle_kind::poller);
}

/// Returns what a binding takes for a descriptor before it knows what a pointer is.
int first_number_behind(const void *handle) {
    int number = 0;
    std::memcpy(&number, handle, sizeof number);
    return number;
}

TEST(handles, begin_with_a_number_that_no_descriptor_has) {
    using enum handle_kind;
    for (const handle_kind kind : {context, socket, poller, inherited_context, inherited_socket}) {
        void *handle = opened(kind, &object_a);
        EXPECT_LT(first_number_behind(handle), 0);
        closed(handle, kind);
        EXPECT_LT(first_number_behind(handle), 0) << "once closed";
    }
}

TEST(handles, can_be_read_beyond_their_end) {
    std::vector<void *> opened_handles;
    unsigned sum = 0;
    for (std::size_t i = 0; i < 8 * handle_slab::step; ++i) {
        opened_handles.push_back(opened(handle_kind::socket, &object_a));
        const auto *words = static_cast<const volatile unsigned *>(opened_handles.back());
        for (std::size_t word = 0; word < 2 * handle_slab::slot_size / sizeof *words; ++word)
            sum += words[word];
    }
    EXPECT_NE(sum, 0u);
    for (void *handle : opened_handles)
        closed(handle, handle_kind::socket);
}

TEST(handles, may_be_opened_and_closed_by_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            int object = 0;
            for (int i = 0; i < 5000; ++i) {
                void *s = handles.add(handle_kind::socket, &object);
                EXPECT_EQ(handles.find(s, handle_kind::socket), &object);
                EXPECT_EQ(handles.take(s, handle_kind::socket).object, &object);
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
}

}  // namespace
}  // namespace zlink::capi
