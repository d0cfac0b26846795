// Which files are read: those that nobody else can change.
#include "policy/trusted_file.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
        std::string why;
        EXPECT_FALSE(trusted_file::check(folder + name, kind::open, why)) << name;
        EXPECT_NE(why.find("symbolic link"), std::string::npos) << why;
    }
}

TEST_F(a_trusted_file, is_a_regular_one_by_a_whole_path) {
    std::string why;
    ASSERT_EQ(::mkfifo((folder + "/fifo").c_str(), 0600), 0);
    for (const std::string &name : {folder + "/fifo", folder, std::string("file"), std::string(),
                                    folder + "/none", folder + "/x/../file", folder + "/"})
        EXPECT_FALSE(trusted_file::check(name, kind::open, why)) << name;
    EXPECT_TRUE(trusted_file::check(folder + "//./file", kind::open, why)) << why;
}

TEST_F(a_trusted_file, is_no_larger_than_a_mebibyte) {
    std::filesystem::resize_file(path, trusted_file::most_octets + 1);
    std::string why, text;
    EXPECT_FALSE(trusted_file::read(path, kind::open, text, why));
    EXPECT_EQ(why, path + " is larger than a MiB");
}

}  // namespace
}  // namespace zlink
