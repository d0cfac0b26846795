// STREAM, STREAM_MSG, STREAM_DATA: one sender thread, one receiver thread; messages a second at the
// receiver.
//
// Flow:     STREAM is PUSH and PULL with zmq_send and zmq_recv, which copy; --raw the same over a
//           blocking stream socket: below 64 KiB in blocks of that size, bodies alone; from there
//           on one write for each message, and as many reads as it takes. STREAM_MSG moves bodies:
//           zmq_msg_init_size for each message, zmq_msg_send, zmq_msg_recv. STREAM_DATA gives away
//           memory of its own with zmq_msg_init_data.
// It lies if: the body is taken for read. The sender writes three words of it and the receiver
// reads three; the copies
//           are the library's and the system's. The raw receiver has one buffer and so finds it in
//           its caches.
// Order:    senders; receivers; the run over raw sockets and over zmq; the cell.
#include "peers/peers.hpp"

#include <zmq.h>

#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <vector>

namespace bench {

namespace {

constexpr std::size_t raw_block = 64 * 1024;

class copying_sender {
public:
    copying_sender(void *socket, std::size_t size) : socket_(socket), message_(size) {}

    void send(std::uint64_t sequence) {
        require(zmq_send(socket_, message_.make(sequence), message_.size(), 0) >= 0, "send");
    }

private:
    void *const socket_;
    outgoing message_;
};

// Writes the three words of a message that nothing has been written to.
class stamp {
public:
    explicit stamp(std::size_t size) : size_(size), sample_(size) {}

    void write(void *body, std::uint64_t sequence) {
        auto *const at = static_cast<char *>(body);
        store_word(at, sequence);
        if (sample_.is_inside(size_))
            store_word(at + sample_.position(), scrambled(sequence));
        store_word(at + size_ - 8, ~sequence);
        sample_.step();
    }
    std::size_t size() const { return size_; }

private:
    const std::size_t size_;
    moving_sample sample_;
};

class moving_sender {
public:
    moving_sender(void *socket, std::size_t size, bool own_memory)
        : socket_(socket), own_memory_(own_memory), stamp_(size) {}

    void send(std::uint64_t sequence) {
        zmq_msg_t message;
        if (own_memory_) {
            void *memory = std::malloc(stamp_.size());
            require(memory != nullptr, "malloc");
            require(zmq_msg_init_data(
                        &message, memory, stamp_.size(), [](void *data, void *) { std::free(data); },
                        nullptr) == 0,
                    "zmq_msg_init_data");
        } else {
            require(zmq_msg_init_size(&message, stamp_.size()) == 0, "zmq_msg_init_size");
        }
        stamp_.write(zmq_msg_data(&message), sequence);
        require(zmq_msg_send(&message, socket_, 0) >= 0, "zmq_msg_send");
    }

private:
    void *const socket_;
    const bool own_memory_;
    stamp stamp_;
};

// Writes blocks of 64 KiB, or messages that are larger. Each message of the warm-up goes out at
// once, as nothing follows it.
class raw_sender {
public:
    raw_sender(int fd, std::size_t size, std::uint64_t warmup) : fd_(fd), message_(size), warmup_(warmup) {
        block_.reserve(raw_block + size);
    }
    void send(std::uint64_t sequence) {
        const char *const body = message_.make(sequence);
        block_.insert(block_.end(), body, body + message_.size());
        if (block_.size() < raw_block && sequence != end_mark && ++sent_ > warmup_)
            return;
        write_all(fd_, block_.data(), block_.size());
        block_.clear();
    }

private:
    const int fd_;
    outgoing message_;
    const std::uint64_t warmup_;
    std::uint64_t sent_ = 0;
    std::vector<char> block_;
};

class raw_large_sender {
public:
    raw_large_sender(int fd, std::size_t size) : fd_(fd), message_(size) {}
    void send(std::uint64_t sequence) { write_all(fd_, message_.make(sequence), message_.size()); }

private:
    const int fd_;
    outgoing message_;
};

class moving_receiver {
public:
    moving_receiver(void *socket, std::size_t size) : socket_(socket), size_(size), sample_(size) {
        zmq_msg_init(&message_);
    }
    moving_receiver(const moving_receiver &) = delete;
    moving_receiver &operator=(const moving_receiver &) = delete;
    ~moving_receiver() { zmq_msg_close(&message_); }

    void receive(std::uint64_t sequence) {
        require(zmq_msg_recv(&message_, socket_, 0) == static_cast<int>(size_),
                "receive of a message of the right size");
        const auto *body = static_cast<const char *>(zmq_msg_data(&message_));
        require(
            load_word(body) == sequence && load_word(body + size_ - 8) == ~sequence &&
                (!sample_.is_inside(size_) || load_word(body + sample_.position()) == scrambled(sequence)),
            "order and content of a message");
        sample_.step();
    }

private:
    void *const socket_;
    const std::size_t size_;
    moving_sample sample_;
    zmq_msg_t message_;
};

// Reads what there is, and copies each message out as a library has to.
class raw_receiver {
public:
    raw_receiver(int fd, std::size_t size) : fd_(fd), message_(size), size_(size), block_(raw_block + size) {}

    void receive(std::uint64_t sequence) {
        if (end_ - at_ < size_)
            read_more();
        std::memcpy(message_.data(), &block_[at_], size_);
        at_ += size_;
        require(message_.is_message(sequence), "order and content of a message");
    }

private:
    void read_more() {
        std::memmove(block_.data(), &block_[at_], end_ - at_);
        end_ -= at_;
        at_ = 0;
        while (end_ < size_) {
            const ssize_t got = ::recv(fd_, &block_[end_], raw_block, 0);
            require(got > 0, "raw receive");
            end_ += static_cast<std::size_t>(got);
        }
    }

    const int fd_;
    incoming message_;
    const std::size_t size_;
    std::vector<char> block_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
};

class raw_large_receiver {
public:
    raw_large_receiver(int fd, std::size_t size) : fd_(fd), message_(size) {}

    void receive(std::uint64_t sequence) {
        read_all(fd_, message_.data(), message_.size());
        require(message_.is_message(sequence), "order and content of a message");
    }

private:
    const int fd_;
    incoming message_;
};

double run_raw(const peer_settings &wanted) {
    require(wanted.cell == "STREAM", "a raw socket in STREAM only");
    const raw_pair pair = open_raw_pair(wanted.transport);
    if (wanted.size < raw_block) {
        raw_sender to(pair.a, wanted.size, wanted.warmup);
        raw_receiver from(pair.b, wanted.size);
        return time_stream(wanted.warmup, wanted.messages, to, from);
    }
    raw_large_sender to(pair.a, wanted.size);
    raw_large_receiver from(pair.b, wanted.size);
    return time_stream(wanted.warmup, wanted.messages, to, from);
}

double run_on_zmq(const peer_settings &wanted) {
    context zmq(wanted);
    void *push = zmq.open(ZMQ_PUSH);
    void *pull = zmq.open(ZMQ_PULL);
    const std::string endpoint = bind_and_name(pull, wildcard(wanted.transport, 0));
    require(zmq_connect(push, endpoint.c_str()) == 0, "zmq_connect");
    if (wanted.cell == "STREAM") {
        copying_sender to(push, wanted.size);
        copying_receiver from(pull, wanted.size);
        return time_stream(wanted.warmup, wanted.messages, to, from);
    }
    moving_sender to(push, wanted.size, wanted.cell == "STREAM_DATA");
    moving_receiver from(pull, wanted.size);
    return time_stream(wanted.warmup, wanted.messages, to, from);
}

}  // namespace

findings measure_stream(peer_settings &wanted) {
    return {{"throughput", wanted.raw ? run_raw(wanted) : run_on_zmq(wanted)}};
}

}  // namespace bench
