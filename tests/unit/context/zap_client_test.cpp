// Questions to a handler of the application: what becomes of them at a handler that does not look.
#include "context/zap_client.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

class zap_client_test : public ::testing::Test {
protected:
    zap_client_test() {
        inproc_side handler;
        handler.inbox = inbox;
        handler.type = socket_type::rep;
        handler.owner = this;
        EXPECT_EQ(names.bind("zeromq.zap.01", handler), error::none);
    }
    // Commands hold pipes, and pipes their mailbox.
    ~zap_client_test() override { inbox->close(); }

    std::unique_ptr<authentication> ask() {
        return client.ask({"domain", "127.0.0.1", "", {"PLAIN", {secret("bob"), secret("secret")}}}, [] {});
    }
    std::size_t questions_to_attach() {
        std::vector<mailbox::command> all;
        inbox->take(all);
        std::size_t count = 0;
        for (const mailbox::command &each : all)
            count += each.kind == mailbox::command_kind::attach;
        commands = all.size();
        return count;
    }

    const batching sizes;
    std::shared_ptr<mailbox> inbox = std::make_shared<mailbox>();
    inproc_names names{chunk_pool::make(), sizes};
    zap_client client{names};
    std::size_t commands = 0;
};

TEST_F(zap_client_test, leaves_nothing_of_withdrawn_questions_with_a_handler_that_does_not_look) {
    const auto kept = ask();
    for (int i = 0; i < 1000; ++i)
        ASSERT_NE(ask(), nullptr);
    EXPECT_EQ(questions_to_attach(), 1u);
    EXPECT_LT(commands, 10u);
}

TEST_F(zap_client_test, tells_a_handler_of_the_end_of_a_question_that_it_has_taken) {
    auto taken = ask();
    EXPECT_EQ(questions_to_attach(), 1u);
    taken.reset();
    EXPECT_TRUE(inbox->has_commands());
}

}  // namespace
}  // namespace zlink
