// Questions for names that are answered, refused and given up. The system's part is played by the
// test: getaddrinfo() is this program's own, and waits until it is told what to say.
#include "reactor/resolver.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <vector>

#include "reactor/io_threads.hpp"

namespace {

// Holds what the system is asked, and what it says: EAI_ and errno, or addresses.
class played_system {
public:
    struct answer {
        int status = 0;
        int number = 0;  // errno
    };

    answer ask(const std::string &host) {
        std::unique_lock lock(mutex_);
        asked_.push_back(host);
        news_.notify_all();
        news_.wait(lock, [&] { return answers_.contains(host); });
        const answer given = answers_[host];
        ++answered_;
        news_.notify_all();
        return given;
    }
    void say(const std::string &host, answer what) {
        std::lock_guard guard(mutex_);
        answers_[host] = what;
        news_.notify_all();
    }
    void wait_until_asked(const std::string &host) {
        std::unique_lock lock(mutex_);
        news_.wait(lock, [&] { return !asked_.empty() && asked_.back() == host; });
    }
    void wait_until_answered(int count) {
        std::unique_lock lock(mutex_);
        news_.wait(lock, [&] { return answered_ >= count; });
    }
    std::vector<std::string> take_asked() {
        std::lock_guard guard(mutex_);
        answered_ = 0;
        answers_.clear();
        return std::exchange(asked_, {});
    }

private:
    std::mutex mutex_;
    std::condition_variable news_;
    std::vector<std::string> asked_;
    std::map<std::string, answer> answers_;
    int answered_ = 0;
};
played_system &system_of_names() {
    static played_system &only = *new played_system;  // a thread may outlive main()
    return only;
}

}  // namespace

extern "C" int getaddrinfo(const char *host, const char *service, const addrinfo *hints, addrinfo **found) {
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (!host || !std::strstr(host, ".played") || (hints && (hints->ai_flags & AI_NUMERICHOST)))
        return real(host, service, hints, found);
    const auto given = system_of_names().ask(host);
    if (given.status != 0) {
        errno = given.number;
        return given.status;
    }
    return real("127.0.0.9", service, hints, found);
}

namespace zlink {
namespace {

class names : public ::testing::Test {
protected:
    void SetUp() override {
        (void)system_of_names().take_asked();
        ASSERT_EQ(io_threads::make(1, {}, threads), error::none);
    }
    void on_loop(const std::function<void()> &work) { ASSERT_EQ(io().post_and_wait(work), error::none); }
    loop &io() { return threads->at(0); }

    struct asker {
        std::unique_ptr<resolver> names;
        std::vector<std::string> answers;
    };
    std::shared_ptr<asker> ask(const std::string &host) {
        auto made = std::make_shared<asker>();
        on_loop([&] {
            made->names = make_resolver(io());
            resolve(*made, host);
        });
        return made;
    }
    void resolve(asker &who, const std::string &host) {
        auto is_inside = std::make_shared<bool>(true);
        who.names->resolve(
            host, "80", false, [this, &who, is_inside](std::vector<resolved_address> found, error failure) {
                EXPECT_FALSE(*is_inside) << "from inside resolve()";
                EXPECT_EQ(found.empty(), failed(failure));
                note(who, found.empty() ? "error " + std::to_string(to_errno(failure)) : print(found[0]));
            });
        *is_inside = false;
    }
    static std::string print(const resolved_address &a) {
        char text[INET_ADDRSTRLEN] = {};
        const auto &v4 = reinterpret_cast<const sockaddr_in &>(a.address);
        ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
        return text + (":" + std::to_string(ntohs(v4.sin_port)));
    }
    void note(asker &who, std::string what) {
        std::lock_guard guard(mutex);
        who.answers.push_back(std::move(what));
        changed.notify_all();
    }
    std::string answer_of(asker &who) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !who.answers.empty(); });
        EXPECT_EQ(who.answers.size(), 1u);
        std::string first = who.answers[0];
        who.answers.clear();
        return first;
    }
    void drop(asker &who) {
        on_loop([&] { who.names.reset(); });
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::unique_ptr<io_threads> threads;
};

TEST_F(names, are_asked_for_one_after_the_other_and_anew_each_time) {
    const auto a = ask("a.played"), b = ask("b.played");
    system_of_names().wait_until_asked("a.played");
    system_of_names().say("a.played", {});
    EXPECT_EQ(answer_of(*a), "127.0.0.9:80");
    system_of_names().say("b.played", {EAI_NONAME, 0});
    EXPECT_EQ(answer_of(*b), "error " + std::to_string(EHOSTUNREACH));
    on_loop([&] { resolve(*a, "a.played"); });
    EXPECT_EQ(answer_of(*a), "127.0.0.9:80");
    EXPECT_EQ(system_of_names().take_asked(), (std::vector<std::string>{"a.played", "b.played", "a.played"}));
    drop(*a);
    drop(*b);
}

TEST_F(names, that_the_system_does_not_find_are_failures_that_say_why) {
    const struct {
        played_system::answer given;
        int number;
    } cases[] = {{{EAI_AGAIN, 0}, EHOSTUNREACH},
                 {{EAI_MEMORY, 0}, ENOMEM},
                 {{EAI_SYSTEM, EMFILE}, EMFILE},
                 {{EAI_FAMILY, 0}, EHOSTUNREACH}};
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        const std::string host = std::to_string(i) + ".played";
        system_of_names().say(host, cases[i].given);
        const auto who = ask(host);
        EXPECT_EQ(answer_of(*who), "error " + std::to_string(cases[i].number));
        drop(*who);
    }
}

TEST_F(names, that_are_numbers_ask_nobody) {
    const auto who = ask("127.0.0.3");
    EXPECT_EQ(answer_of(*who), "127.0.0.3:80");
    EXPECT_TRUE(system_of_names().take_asked().empty());
    drop(*who);
}

TEST_F(names, given_up_before_their_turn_are_not_asked_for) {
    const auto first = ask("first.played"), given_up = ask("given_up.played"), last = ask("last.played");
    system_of_names().wait_until_asked("first.played");
    drop(*given_up);
    system_of_names().say("first.played", {});
    system_of_names().say("last.played", {});
    EXPECT_EQ(answer_of(*last), "127.0.0.9:80");
    EXPECT_EQ(answer_of(*first), "127.0.0.9:80");
    EXPECT_EQ(system_of_names().take_asked(), (std::vector<std::string>{"first.played", "last.played"}));
    EXPECT_TRUE(given_up->answers.empty());
    drop(*first);
    drop(*last);
}

TEST_F(names, given_up_while_the_system_is_asked_call_nobody) {
    const auto given_up = ask("given_up.played");
    system_of_names().wait_until_asked("given_up.played");
    drop(*given_up);
    system_of_names().say("given_up.played", {});
    // One behind it: then its answer has been and gone.
    const auto next = ask("next.played");
    system_of_names().say("next.played", {});
    EXPECT_EQ(answer_of(*next), "127.0.0.9:80");
    EXPECT_TRUE(given_up->answers.empty());
    drop(*next);
}

TEST_F(names, asked_for_again_bring_the_answer_to_the_last_question_only) {
    const auto who = ask("first.played");
    system_of_names().wait_until_asked("first.played");
    on_loop([&] { resolve(*who, "127.0.0.4"); });
    EXPECT_EQ(answer_of(*who), "127.0.0.4:80");
    system_of_names().say("first.played", {});
    system_of_names().say("next.played", {});
    on_loop([&] { resolve(*who, "next.played"); });
    EXPECT_EQ(answer_of(*who), "127.0.0.9:80");
    drop(*who);
}

TEST_F(names, may_end_in_the_call_that_answers_them) {
    system_of_names().say("brief.played", {});
    for (const char *host : {"brief.played", "127.0.0.1"}) {
        std::unique_ptr<resolver> it;
        bool is_over = false;
        on_loop([&] {
            it = make_resolver(io());
            it->resolve(host, "80", false, [&](std::vector<resolved_address>, error) {
                it.reset();
                std::lock_guard guard(mutex);
                is_over = true;
                changed.notify_all();
            });
        });
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_over; });
        EXPECT_FALSE(it);
    }
}

TEST_F(names, do_not_hold_up_the_end_of_the_loop_that_asked) {
    const auto who = ask("slow.played"), behind = ask("behind.played");
    system_of_names().wait_until_asked("slow.played");
    drop(*who);
    drop(*behind);
    threads.reset();
    // The system answers when the loop is gone; nobody may be told.
    system_of_names().say("slow.played", {});
    system_of_names().say("behind.played", {});
    system_of_names().wait_until_answered(1);
    EXPECT_TRUE(who->answers.empty());
    EXPECT_EQ(system_of_names().take_asked(), (std::vector<std::string>{"slow.played"}));
}

}  // namespace
}  // namespace zlink
