// Work of a known size for instructions_test.py: one thread sends and receives on a pair of sockets.
//
//   instructions_program PATTERN TRANSPORT IN_A_ROW MESSAGES
//
// IN_A_ROW messages are sent, then as many are received, and so on.
#include "ends.hpp"

#include <cstdlib>

int main(int count, char **words) {
    using namespace guard;
    require(count == 5, "usage: instructions_program PATTERN TRANSPORT IN_A_ROW MESSAGES");
    const int in_a_row = std::atoi(words[3]);
    const int messages = std::atoi(words[4]);
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
