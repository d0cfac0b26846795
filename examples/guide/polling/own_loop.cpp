// A socket in a loop that somebody else has written, here of epoll.
#include <iostream>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t jobs(context, zmq::socket_type::pull);
    jobs.bind("tcp://127.0.0.1:5567");

    const int loop = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event = {.events = EPOLLIN, .data = {}};
    epoll_ctl(loop, EPOLL_CTL_ADD, jobs.get(zmq::sockopt::fd), &event);

    for (int got = 0; got < 3;) {
        while (jobs.get(zmq::sockopt::events) & ZMQ_POLLIN) {  // to the end
            zmq::message_t job;
            if (!jobs.recv(job, zmq::recv_flags::dontwait))
                continue;
            std::cout << "job " << job.to_string_view() << "\n";
            ++got;
        }
        if (got < 3)
            epoll_wait(loop, &event, 1, -1);  // the loop's own wait, for all that it has
    }
    close(loop);  // before the descriptor goes with its socket
}
