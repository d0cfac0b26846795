// A sender or a receiver that lives until it is killed; the receiver checks every message.
//
//   kill_peer send|receive bind|connect ENDPOINT STATE_FILE EPOCH [twice|missing|mixed]
//
// Messages have one to eight parts of varied sizes. Each part tells the sender's epoch, the
// message's sequence number, its own number, how many there are, its length and a CRC, so that a
// message that is cut, mixed, doubled or out of order is seen at once.
//
// State:    the state file is mapped by every receiver in turn, so what was received survives kill
//           -9.
// Plants:   a sender told so makes that fault once, to show that receivers see it.
// Speaks:   LIBRARY file; FAILED and exit status 1 at the first fault.
#include <zmq.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <link.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int reconnect_ms = 5;
constexpr std::uint32_t most_parts = 8;
constexpr std::size_t body_sizes[] = {0, 1, 100, 255, 1000, 8192, 9000, 70'000};

// Holds what outlives a receiver. The driver reads it too, by these offsets.
struct state {
    volatile std::uint64_t received;
    volatile std::uint64_t lost;
    // That of epoch 0, which has one sender for many receivers.
    volatile std::uint64_t last_sequence_plus_one;
};

struct part_header {
    std::uint64_t sequence;
    std::uint32_t epoch;
    std::uint32_t number;
    std::uint32_t parts;
    std::uint32_t length;
    std::uint32_t crc;  // of everything else
};

[[noreturn]] void fail(const std::string &what) {
    std::printf("FAILED %s\n", what.c_str());
    std::fflush(stdout);
    ::_exit(1);
}

void require(bool good, const char *what) {
    if (!good)
        fail(std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

std::uint32_t crc32(std::uint32_t crc, const void *data, std::size_t size) {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made;
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit)
                value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
            made[i] = value;
        }
        return made;
    }();
    crc = ~crc;
    for (const auto *byte = static_cast<const unsigned char *>(data); size > 0; --size, ++byte)
        crc = table[(crc ^ *byte) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

std::uint32_t crc_of(part_header header, const char *body) {
    header.crc = 0;
    return crc32(crc32(0, &header, sizeof header), body, header.length);
}

// The number of a message says how many parts it has and how long each is.
std::uint32_t parts_of(std::uint64_t sequence) {
    return static_cast<std::uint32_t>(sequence % most_parts) + 1;
}

std::size_t length_of(std::uint64_t sequence, std::uint32_t number) {
    return body_sizes[(sequence / most_parts + number * 3) % std::size(body_sizes)];
}

constexpr std::uint64_t planted_at = 31;  // a message of eight parts

void send_message(void *socket, std::uint32_t epoch, std::uint64_t sequence, bool mixed = false) {
    std::vector<char> part;
    const std::uint32_t parts = parts_of(sequence);
    for (std::uint32_t number = 0; number < parts; ++number) {
        const std::size_t length = length_of(sequence, number);
        part.assign(sizeof(part_header) + length, static_cast<char>(sequence + number));
        part_header header{sequence, epoch, number, parts, static_cast<std::uint32_t>(length), 0};
        header.crc = crc_of(header, part.data() + sizeof header);
        std::memcpy(part.data(), &header, sizeof header);
        if (mixed)
            ++part.back();
        require(zmq_send(socket, part.data(), part.size(), number + 1 < parts ? ZMQ_SNDMORE : 0) != -1,
                "send");
    }
}

// Receives one whole message and returns the header of its first part.
part_header receive_message(void *socket) {
    part_header first{};
    zmq_msg_t part;
    zmq_msg_init(&part);
    for (std::uint32_t number = 0;; ++number) {
        require(zmq_msg_recv(&part, socket, 0) != -1, "receive");
        part_header header;
        if (zmq_msg_size(&part) < sizeof header)
            fail("a part of " + std::to_string(zmq_msg_size(&part)) + " bytes");
        const char *data = static_cast<const char *>(zmq_msg_data(&part));
        std::memcpy(&header, data, sizeof header);
        if (number == 0)
            first = header;
        const bool is_whole = header.length == zmq_msg_size(&part) - sizeof header &&
                              header.length == length_of(header.sequence, number) &&
                              header.crc == crc_of(header, data + sizeof header);
        const bool belongs = header.sequence == first.sequence && header.epoch == first.epoch &&
                             header.number == number && header.parts == parts_of(first.sequence);
        const bool ends = number + 1 == header.parts;
        if (!is_whole || !belongs || ends == static_cast<bool>(zmq_msg_more(&part)))
            fail("message " + std::to_string(first.sequence) + " of epoch " + std::to_string(first.epoch) +
                 " is cut or mixed at part " + std::to_string(number));
        if (ends)
            break;
    }
    zmq_msg_close(&part);
    return first;
}

// Checks the sequence numbers of each epoch. Messages may be missing where a connection broke,
// never elsewhere: a sender's first message comes first unless an earlier receiver had it, and each
// one follows the one before unless the sender may have had two receivers at that moment.
class order {
public:
    order(state &kept, bool may_skip) : kept_(kept), may_skip_(may_skip) {}

    void take(const part_header &header) {
        const auto [found, is_new] = next_.try_emplace(header.epoch, 0);
        std::uint64_t &next = found->second;
        if (is_new && header.epoch == 0)
            next = kept_.last_sequence_plus_one;
        if (header.sequence < next)
            fail(describe(header) + " again or late, " + std::to_string(next) + " was expected");
        const bool may_miss = header.epoch == 0 && (is_new || may_skip_);
        if (header.sequence > next && !may_miss)
            fail(describe(header) + " without those before, " + std::to_string(next) + " was expected");
        kept_.lost = kept_.lost + (header.sequence - next);
        next = header.sequence + 1;
        if (header.epoch == 0)
            kept_.last_sequence_plus_one = next;
        kept_.received = kept_.received + 1;
    }

private:
    static std::string describe(const part_header &header) {
        return "message " + std::to_string(header.sequence) + " of epoch " + std::to_string(header.epoch);
    }

    state &kept_;
    const bool may_skip_;
    std::map<std::uint32_t, std::uint64_t> next_;
};

state &mapped_state(const char *path) {
    const int fd = ::open(path, O_RDWR);
    require(fd != -1, "open of the state file");
    void *memory = ::mmap(nullptr, sizeof(state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(memory != MAP_FAILED, "mmap of the state file");
    ::close(fd);
    return *static_cast<state *>(memory);
}

void set_int(void *socket, int option, int value) {
    require(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "zmq_setsockopt");
}

void say_library() {
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *) {
            if (std::strstr(info->dlpi_name, "libzmq.so"))
                std::printf("LIBRARY %s\n", info->dlpi_name);
            return 0;
        },
        nullptr);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 6 && argc != 7) {
        std::fputs("usage: kill_peer send|receive bind|connect ENDPOINT STATE_FILE EPOCH [PLANT]\n", stderr);
        return 2;
    }
    const bool sends = std::string(argv[1]) == "send";
    const bool binds = std::string(argv[2]) == "bind";
    say_library();
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, sends ? ZMQ_PUSH : ZMQ_PULL);
    require(socket != nullptr, "zmq_socket");
    set_int(socket, ZMQ_RECONNECT_IVL, reconnect_ms);
    require((binds ? zmq_bind : zmq_connect)(socket, argv[3]) == 0, binds ? "zmq_bind" : "zmq_connect");
    const auto epoch = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
    const std::string plant = argc == 7 ? argv[6] : "";
    if (sends) {
        for (std::uint64_t sequence = 0;; ++sequence) {
            const bool here = sequence == planted_at;
            if (here && plant == "missing")
                continue;
            send_message(socket, epoch, sequence, here && plant == "mixed");
            if (here && plant == "twice")
                send_message(socket, epoch, sequence);
        }
    }
    state &kept = mapped_state(argv[4]);
    // A sender that binds may still know a receiver that has been killed when the next one comes.
    order expected(kept, !binds);
    for (;;)
        expected.take(receive_message(socket));
}
