// Work of a known size for instructions_test.py: one thread sends and receives on a pair of
// sockets.
//
//   instructions_program PATTERN TRANSPORT IN_A_ROW MESSAGES
//
// IN_A_ROW messages are sent, then as many are received, and so on. On one processor, where nobody
// looks again before sleeping: how often that is done depends on time.
#include "ends.hpp"

#include <cstdlib>
#include <sched.h>

namespace {

void stay_on_one_processor() {
    cpu_set_t allowed;
    guard::require(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
    int first = 0;
    while (!CPU_ISSET(first, &allowed))
        ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    guard::require(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

}  // namespace

int main(int count, char **words) {
    using namespace guard;
    require(count == 5, "usage: instructions_program PATTERN TRANSPORT IN_A_ROW MESSAGES");
    const int in_a_row = std::atoi(words[3]);
    const int messages = std::atoi(words[4]);
    stay_on_one_processor();
    const context zmq;
    const pattern &kind = find_pattern(words[1]);
    two_ends way(zmq, kind, words[2]);
    for (int done = 0; done < messages; done += in_a_row) {
        for (int i = 0; i < in_a_row; ++i)
            way.sender.send();
        for (int i = 0; i < in_a_row; ++i) {
            if (kind.polls)
                require(way.receiver.has_input(-1), "zmq_poll");
            way.receiver.receive();
        }
    }
}
