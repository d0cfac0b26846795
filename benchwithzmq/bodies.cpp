// The functions that the ways of a body need: see bodies.hpp.
#include "bodies.hpp"

#include <mutex>
#include <new>
#include <vector>

namespace bench {

namespace {

// Bodies to lend, of one size. They live as long as the program: the library may give one back
// late.
class lendable {
public:
    static void *take(std::size_t size) {
        const std::lock_guard lock(mutex_);
        if (returned_.empty()) {
            char *const fresh = new char[size];
            std::memset(fresh, 'z', size);
            return fresh;
        }
        void *const found = returned_.back();
        returned_.pop_back();
        return found;
    }
    static void give_back(void *body, void *) {
        const std::lock_guard lock(mutex_);
        returned_.push_back(body);
    }

private:
    inline static std::mutex mutex_;
    inline static std::vector<void *> returned_;
};

}  // namespace

void body_sender::send(void *socket, std::uint64_t sequence) {
    if (way_ == body_way::copied) {
        require(zmq_send(socket, message_.make(sequence), message_.size(), 0) >= 0, "send");
        return;
    }
    zmq_msg_t message;
    if (way_ == body_way::allocated) {
        require(zmq_msg_init_size(&message, message_.size()) == 0, "zmq_msg_init_size");
        std::memcpy(zmq_msg_data(&message), message_.make(sequence), message_.size());
    } else {
        void *const body = lendable::take(message_.size());
        message_.make_in(static_cast<char *>(body), sequence);
        require(zmq_msg_init_data(&message, body, message_.size(), &lendable::give_back, nullptr) == 0,
                "zmq_msg_init_data");
    }
    require(zmq_msg_send(&message, socket, 0) >= 0, "zmq_msg_send");
}

body_receiver::body_receiver(body_way way, std::size_t size)
    : way_(way), size_(size), copy_(way == body_way::copied ? size : smallest_body), sample_(size) {
    zmq_msg_init(&message_);
}

body_receiver::~body_receiver() { zmq_msg_close(&message_); }

void body_receiver::receive(void *socket, std::uint64_t sequence) {
    const char *body = copy_.data();
    int size = 0;
    if (way_ == body_way::copied) {
        size = zmq_recv(socket, copy_.data(), size_, 0);
    } else {
        size = zmq_msg_recv(&message_, socket, 0);
        body = static_cast<const char *>(zmq_msg_data(&message_));
    }
    require(size == static_cast<int>(size_), "receive of a message of the right size");
    require(is_message(body, size_, sample_, sequence), "order and content of a message");
}

}  // namespace bench
