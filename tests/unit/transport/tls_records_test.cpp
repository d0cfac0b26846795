// Which octets of a peer's records go on together, however they come.
#include "transport/tls_records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace zlink::test {
namespace {

std::string record(std::size_t size, char with = 'r') {
    return std::string("\x17\3\3", 3) + static_cast<char>(size >> 8) + static_cast<char>(size) +
           std::string(size, with);
}

class records_of_a_peer : public ::testing::Test {
protected:
    // Returns what a read of these octets gives, and each one after it while something waits; then
    // how much that was.
    std::vector<std::size_t> go_on(const std::string &octets, std::size_t most = SIZE_MAX) {
        std::vector<std::size_t> sizes{it.take(as_bytes(octets))};
        std::string all = octets.substr(0, sizes[0]);
        while (!it.is_empty()) {
            std::string next(octets.size(), '\0');
            sizes.push_back(it.give(next.data(), std::min(most, next.size())));
            all += next.substr(0, sizes.back());
        }
        EXPECT_EQ(all, octets);
        return sizes;
    }
    using sizes = std::vector<std::size_t>;
    tls_records it;
};

TEST_F(records_of_a_peer, go_on_one_by_one_where_they_are_small) {
    EXPECT_EQ(go_on(record(10) + record(100) + record(10)), (sizes{15, 105, 15}));
}

TEST_F(records_of_a_peer, go_on_together_where_they_are_large_and_up_to_a_small_one) {
    const std::string large = record(16 * 1024 + 17);
    EXPECT_EQ(go_on(large + large), sizes{2 * large.size()});
    EXPECT_EQ(go_on(large + record(10) + record(10) + large + large.substr(0, 100)),
              (sizes{large.size() + 15, 15, large.size() + 100}));
    EXPECT_EQ(go_on(large.substr(100) + record(10) + large), (sizes{large.size() - 100 + 15, large.size()}));
}

TEST_F(records_of_a_peer, are_told_from_each_other_in_whatever_pieces_they_come) {
    const std::string all = record(10) + record(0) + record(300) + record(10);
    for (std::size_t cut = 1; cut < all.size(); ++cut) {
        EXPECT_LE(go_on(all.substr(0, cut)).back(), 305u);
        go_on(all.substr(cut));
        EXPECT_EQ(go_on(record(10) + record(20)), (sizes{15, 25})) << cut;
    }
}

TEST_F(records_of_a_peer, go_on_as_far_as_there_is_room) {
    EXPECT_EQ(go_on(record(10) + record(10), 5), (sizes{15, 5, 5, 5}));
    EXPECT_EQ(go_on(record(1) + record(1)), (sizes{6, 6}));
}

TEST_F(records_of_a_peer, count_as_there_once_all_of_one_is) {
    const auto hold_one_behind_a_small_one = [&](const std::string &octets) {
        tls_records fresh;
        fresh.take(as_bytes(record(1) + octets));
        return fresh.hold_one();
    };
    for (std::size_t size = 0; size < record(10).size(); ++size)
        EXPECT_FALSE(hold_one_behind_a_small_one(record(10).substr(0, size))) << size;
    EXPECT_TRUE(hold_one_behind_a_small_one(record(10)));
    EXPECT_TRUE(hold_one_behind_a_small_one(record(0)));
    EXPECT_TRUE(hold_one_behind_a_small_one(std::string("\x17\3\3\xff\xff", 5))) << "it is refused";
    it.take(as_bytes(record(1) + record(10)));
    std::string head(5, '\0');
    it.give(head.data(), 5);
    EXPECT_TRUE(it.hold_one());
    EXPECT_EQ(head, record(10).substr(0, 5));
}

TEST_F(records_of_a_peer, that_have_gone_on_whatever_they_were_are_followed) {
    const std::string all = record(10) + record(20).substr(0, 7);
    it.pass(as_bytes(all));
    EXPECT_EQ(go_on(record(20).substr(7) + record(10)), (sizes{18, 15}));
}

}  // namespace
}  // namespace zlink::test
