// Which files are read: those that nobody else can change.
#include "policy/trusted_file.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {
std::function<void()> before_each_look;  // at an open file
}

/// In place of the system's.
extern "C" int fstat(int file, struct stat *facts) noexcept {
    if (before_each_look)
        before_each_look();
    return ::fstatat(file, "", facts, AT_EMPTY_PATH);
}

namespace zlink {
namespace {

using trusted_file::kind;

class a_trusted_file : public ::testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "zlink-policy-XXXXXX").string();
        folder = std::filesystem::canonical(::mkdtemp(name.data()));
        path = folder + "/file";
        std::ofstream(path) << "text";
        ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    }
    void TearDown() override {
        ::chmod(folder.c_str(), 0700);
        std::filesystem::remove_all(folder);
    }
    std::string fault(kind what = kind::open) {
        std::string why, text;
        const bool is_read = trusted_file::read(path, what, text, why);
        EXPECT_EQ(is_read, why.empty()) << why;
        EXPECT_EQ(why.empty(), text == "text");
        return why;
    }
    bool is_refused(kind what = kind::open) { return !fault(what).empty(); }

    std::string folder;
    std::string path;
};

TEST_F(a_trusted_file, is_one_that_only_its_owner_writes) {
    EXPECT_EQ(fault(), "");
    for (const mode_t mode : {0664, 0646, 0666}) {
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        EXPECT_EQ(fault(), path + " may be written by others");
    }
}

TEST_F(a_trusted_file, keeps_a_secret_from_others) {
    EXPECT_EQ(fault(kind::secret), path + " holds a secret, and may be read by others");
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    EXPECT_TRUE(is_refused(kind::secret));
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_FALSE(is_refused(kind::secret));
}

TEST_F(a_trusted_file, stands_in_folders_that_only_their_owner_writes) {
    for (const mode_t mode : {0770, 0707, 0777}) {
        ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
        EXPECT_EQ(fault(), "the folder " + folder + "/ may be written by others");
    }
    if (::geteuid() == 0) {  // whose sticky folders count
        ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
        EXPECT_EQ(fault(), "");
    }
}

TEST_F(a_trusted_file, belongs_to_root_or_this_user) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chown(path.c_str(), 4711, 0), 0);
    EXPECT_EQ(fault(), path + " belongs to neither root nor this user");
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    ASSERT_EQ(::chown(folder.c_str(), 4711, 0), 0);
    EXPECT_EQ(fault(), "the folder " + folder + "/ belongs to neither root nor this user");
}

TEST_F(a_trusted_file, is_not_found_through_symbolic_links) {
    std::filesystem::create_symlink(path, folder + "/link");
    std::filesystem::create_symlink(folder, folder + "/way");
    for (const char *name : {"/link", "/way/file"}) {
        std::string why, text;
        EXPECT_FALSE(trusted_file::read(folder + name, kind::open, text, why)) << name;
        EXPECT_NE(why.find("symbolic link"), std::string::npos) << why;
    }
}

TEST_F(a_trusted_file, is_a_regular_one_by_a_whole_path) {
    std::string why, text;
    ASSERT_EQ(::mkfifo((folder + "/fifo").c_str(), 0600), 0);
    for (const std::string &name : {folder + "/fifo", folder, std::string("file"), std::string(),
                                    folder + "/none", folder + "/x/../file", folder + "/"})
        EXPECT_FALSE(trusted_file::read(name, kind::open, text, why)) << name;
    EXPECT_TRUE(trusted_file::read(folder + "//./file", kind::open, text, why)) << why;
}

TEST_F(a_trusted_file, is_no_larger_than_a_mebibyte) {
    std::filesystem::resize_file(path, trusted_file::most_octets + 1);
    std::string why, text;
    EXPECT_FALSE(trusted_file::read(path, kind::open, text, why));
    EXPECT_EQ(why, path + " is larger than 1 MiB");
}

TEST_F(a_trusted_file, is_read_again_only_when_it_has_changed_and_judged_each_time) {
    file_stamp seen;
    bool is_fresh = false;
    std::string why, text;
    const auto read = [&](kind what = kind::open) {
        text.clear();
        return trusted_file::read_if_changed(path, what, 100, seen, is_fresh, text, why);
    };
    ASSERT_TRUE(read()) << why;
    EXPECT_TRUE(is_fresh);
    EXPECT_EQ(text, "text");
    ASSERT_TRUE(read()) << why;
    EXPECT_FALSE(is_fresh);
    EXPECT_EQ(text, "");
    EXPECT_FALSE(read(kind::secret)) << "others may read it";
    std::ofstream(path) << "another text";
    ASSERT_TRUE(read()) << why;
    EXPECT_TRUE(is_fresh);
    EXPECT_EQ(text, "another text");
    std::filesystem::resize_file(path, 101);
    EXPECT_FALSE(read());
    std::filesystem::remove(path);
    EXPECT_FALSE(read());
}

TEST_F(a_trusted_file, may_be_replaced_while_it_is_read) {
    const std::size_t looks_at_folders = static_cast<std::size_t>(std::ranges::count(path, '/'));
    std::size_t looks = 0;
    before_each_look = [&] {
        // Behind what has been read of the first.
        if (++looks == looks_at_folders + 2) {
            std::ofstream(folder + "/next") << "another text";
            std::filesystem::rename(folder + "/next", path);
        }
    };
    std::string why, text;
    EXPECT_TRUE(trusted_file::read(path, kind::open, text, why)) << why;
    before_each_look = nullptr;
    EXPECT_EQ(text, "another text");
}

TEST_F(a_trusted_file, is_not_read_as_long_as_somebody_writes_it) {
    before_each_look = [&] { std::ofstream(path, std::ios::app) << "more"; };
    std::string why, text;
    EXPECT_FALSE(trusted_file::read(path, kind::open, text, why));
    before_each_look = nullptr;
    EXPECT_EQ(why, path + " is being written");
}

TEST_F(a_trusted_file, is_listed_with_those_of_its_folder) {
    std::ofstream(folder + "/other.file") << "text";
    std::ofstream(folder + "/else") << "text";
    std::vector<trusted_file::listed> found;
    std::string why;
    ASSERT_TRUE(trusted_file::list(folder, "file", found, why)) << why;
    std::ranges::sort(found, {}, &trusted_file::listed::name);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].name, "file");
    EXPECT_EQ(found[1].name, "other.file");
    file_stamp seen;
    bool is_fresh = false;
    std::string text;
    ASSERT_TRUE(trusted_file::read_if_changed(path, kind::open, 100, seen, is_fresh, text, why));
    EXPECT_TRUE(found[0].stamp == seen);
    EXPECT_FALSE(found[1].stamp == seen);
    EXPECT_FALSE(trusted_file::list(path, "", found, why)) << "it is no folder";
    EXPECT_FALSE(trusted_file::list(folder + "/none", "", found, why));
    ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
    EXPECT_FALSE(trusted_file::list(folder, "", found, why));
    EXPECT_EQ(why, "the folder " + folder + "/ may be written by others");
}

TEST_F(a_trusted_file, is_not_listed_where_there_are_too_many) {
    for (std::size_t i = 0; i < trusted_file::most_files_in_folder; ++i)
        std::ofstream(folder + "/" + std::to_string(i));
    std::vector<trusted_file::listed> found;
    std::string why;
    EXPECT_FALSE(trusted_file::list(folder, "", found, why));
    EXPECT_EQ(why, "there are too many files in " + folder);
}

}  // namespace
}  // namespace zlink
