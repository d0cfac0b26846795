// A large body that is sent from where it is, without a copy.
#include <iostream>
#include <memory>
#include <vector>
#include <zmq.hpp>

using picture = std::vector<char>;

static void done(void *, void *lent) {
    delete static_cast<picture *>(lent);  // nobody needs it any more; any thread may call this
}

int main() {
    zmq::context_t context;
    zmq::socket_t receiver(context, zmq::socket_type::pull);
    zmq::socket_t sender(context, zmq::socket_type::push);
    receiver.bind("ipc://picture.sock");
    sender.connect("ipc://picture.sock");

    auto body = std::make_unique<picture>(10'000'000);
    zmq::message_t message(body->data(), body->size(), done, body.get());
    body.release();  // it is the message's now
    sender.send(std::move(message), zmq::send_flags::none);

    zmq::message_t received;
    if (receiver.recv(received))
        std::cout << received.size() << " octets\n";
}
