#include "metrics/numbers_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace zlink::metrics {
namespace {

class a_file_of_numbers : public ::testing::Test {
protected:
    a_file_of_numbers() {
        char name[] = "/tmp/zlink-numbers-XXXXXX";
        directory_ = ::mkdtemp(name);
        path_ = directory_ + "/numbers";
    }
    ~a_file_of_numbers() override { std::filesystem::remove_all(directory_); }

    std::string content() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// This is as a reader finds it: the first of two texts, or the second.
    std::string text(bool second = false) const {
        const std::string whole = content();
        std::istringstream head(whole.substr(0, 128));
        std::string magic, version;
        std::uint64_t process = 0, start = 0, sequence = 0, offset = 0, size = 0, size_of_second = 0;
        head >> magic >> version >> process >> start >> sequence >> offset >> size >> size_of_second;
        EXPECT_EQ(magic + version, "zlink-metrics1");
        EXPECT_EQ(process, static_cast<std::uint64_t>(::getpid()));
        EXPECT_EQ(start, start_of_process(::getpid()));
        return second ? whole.substr(offset + size, size_of_second) : whole.substr(offset, size);
    }
    void leave(const std::string &octets) const { std::ofstream(path_, std::ios::binary) << octets; }
    /// That of the file, -1 where it is not open.
    int descriptor() const {
        for (const auto &each : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code is_closed;
            if (std::filesystem::read_symlink(each.path(), is_closed) == path_)
                return std::stoi(each.path().filename());
        }
        return -1;
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
    }

    std::string directory_, path_;
    int failure_ = 0;
};

TEST_F(a_file_of_numbers, has_the_last_text_and_leaves_the_one_before_where_it_was) {
    numbers_file file(path_);
    for (const char *each : {"first", "the second", "third"}) {
        ASSERT_TRUE(file.write(each, "", failure_)) << failure_;
        EXPECT_EQ(text(), each);
    }
    EXPECT_NE(content().find("the second"), std::string::npos) << "whoever reads it now goes on";
    struct stat found {};
    ASSERT_EQ(::stat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(a_file_of_numbers, has_a_second_text_behind_the_first) {
    numbers_file file(path_);
    for (const std::string each : {"short", "another", ""}) {
        ASSERT_TRUE(file.write("first", each, failure_)) << failure_;
        EXPECT_EQ(text() + "|" + text(true), "first|" + each);
    }
    const std::string large(100'000, 'x');
    ASSERT_TRUE(file.write("first", large, failure_));
    EXPECT_EQ(text() + text(true), "first" + large);
    for (int i = 0; i < 2; ++i)  // neither reaches into the other place
        ASSERT_TRUE(file.write(large, large, failure_));
    EXPECT_EQ(text() + text(true), large + large);
}

TEST_F(a_file_of_numbers, makes_room_for_a_text_that_has_none) {
    numbers_file file(path_);
    ASSERT_TRUE(file.write("small", "", failure_));
    std::ifstream reader(path_, std::ios::binary);
    const std::string large(100'000, 'x');
    ASSERT_TRUE(file.write(large, "", failure_));
    EXPECT_EQ(text(), large);
    const std::string before(std::istreambuf_iterator<char>(reader), {});
    EXPECT_NE(before.find("small"), std::string::npos) << "whoever reads the file before finds it whole";
    ASSERT_TRUE(file.write("small again", "", failure_));
    EXPECT_EQ(text(), "small again");
    EXPECT_EQ(files(), 1u);
}

TEST_F(a_file_of_numbers, comes_back_when_somebody_has_cleared_it_away_but_not_once_it_is_removed) {
    numbers_file file(path_);
    ASSERT_TRUE(file.write("one", "", failure_));
    std::filesystem::remove(path_);
    ASSERT_TRUE(file.write("two", "", failure_));
    EXPECT_EQ(text(), "two");
    file.remove();
    EXPECT_TRUE(file.write("three", "", failure_));
    EXPECT_EQ(files(), 0u);
}

TEST_F(a_file_of_numbers, does_not_write_over_a_file_that_the_program_has_opened_under_its_number) {
    numbers_file file(path_);
    ASSERT_TRUE(file.write("one", "", failure_));
    const int number = descriptor();
    ASSERT_GE(number, 0);
    const std::string of_program = directory_ + "/of_program";
    const int other = ::open(of_program.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::write(other, "the program's", 13), 13);
    ASSERT_EQ(::dup3(other, number, O_CLOEXEC), number);
    ASSERT_TRUE(file.write("two", "", failure_)) << failure_;
    EXPECT_EQ(text(), "two");
    struct stat found {};
    ASSERT_EQ(::fstat(number, &found), 0) << "it is not ours to close";
    EXPECT_EQ(found.st_size, 13);
    file.remove();
    EXPECT_EQ(files(), 1u);
    ::close(number);
    ::close(other);
}

TEST_F(a_file_of_numbers, takes_the_place_of_one_that_is_left_over_and_of_nothing_else) {
    const std::string of_init = "zlink-metrics 1 1 " + std::to_string(start_of_process(1)) + " 1 128 0\n";
    numbers_file file(path_);
    for (const std::string &other : {std::string("somebody's"), std::string(), of_init}) {
        leave(other);
        EXPECT_FALSE(file.write("mine", "", failure_));
        EXPECT_EQ(failure_, other == of_init ? EADDRINUSE : EEXIST);
        EXPECT_EQ(content(), other);
    }
    leave("zlink-metrics 1 1 " + std::to_string(start_of_process(1) + 1) +
          " 1 128 0\n");  // of another of the number
    EXPECT_TRUE(file.write("mine", "", failure_)) << failure_;
    EXPECT_EQ(text(), "mine");
    numbers_file replaced(path_);  // by exec, this process' program
    EXPECT_TRUE(replaced.write("ours", "", failure_)) << failure_;
    file.remove();
    EXPECT_EQ(text(), "ours") << "it is not the file of the other any more";
}

TEST_F(a_file_of_numbers, is_not_taken_away_by_a_child_of_fork) {
    numbers_file file(path_);
    ASSERT_TRUE(file.write("of the parent", "", failure_));
    const pid_t child = ::fork();
    if (child == 0) {
        file.remove();
        ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(text(), "of the parent");
}

TEST_F(a_file_of_numbers, needs_a_directory) {
    numbers_file file(directory_ + "/none/numbers");
    EXPECT_FALSE(file.write("one", "", failure_));
    EXPECT_EQ(failure_, ENOENT);
}

}  // namespace
}  // namespace zlink::metrics
