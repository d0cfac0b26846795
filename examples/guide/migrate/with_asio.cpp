// A socket in an io_context of Boost.Asio.
#include <boost/asio.hpp>
#include <iostream>
#include <zmq.hpp>

namespace asio = boost::asio;
using descriptor = asio::posix::stream_descriptor;

static asio::awaitable<zmq::message_t> receive(zmq::socket_t &socket, descriptor &news) {
    zmq::message_t message;
    while (!socket.recv(message, zmq::recv_flags::dontwait))
        if (!(socket.get(zmq::sockopt::events) & ZMQ_POLLIN))  // behind each call, before a wait
            co_await news.async_wait(descriptor::wait_read, asio::use_awaitable);
    co_return message;
}

static asio::awaitable<void> work(zmq::socket_t &jobs) {
    descriptor news(co_await asio::this_coro::executor, jobs.get(zmq::sockopt::fd));
    for (int i = 0; i < 3; ++i)
        std::cout << "job " << (co_await receive(jobs, news)).to_string_view() << "\n";
    news.release();  // it is the socket's
}

int main() {
    zmq::context_t context;
    zmq::socket_t jobs(context, zmq::socket_type::pull);
    jobs.bind("tcp://127.0.0.1:5575");
    asio::io_context loop;
    asio::co_spawn(loop, work(jobs), asio::detached);
    loop.run();
}
