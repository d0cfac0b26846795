// Reads the command line and the BENCH_* variables into one struct.
#include "bench.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {

namespace {

constexpr std::size_t small_message = 1024;
constexpr std::uint64_t messages_when_small = 200'000;
constexpr std::uint64_t messages_when_large = 20'000;

[[noreturn]] void usage() {
    std::fputs(
        "usage: bench_zmq LIB PATTERN TRANSPORT SIZE [throughput|latency|both] [--one-thread]\n"
        "  LIB           a word for the result line; LD_LIBRARY_PATH selects the library itself\n"
        "  PATTERN       PAIR PUBSUB DEALER_DEALER DEALER_ROUTER ROUTER_ROUTER ROUTER_ROUTER_POLL PUSH_PULL\n"
        "  TRANSPORT     tcp ipc inproc ws wss tls\n"
        "  --one-thread  both ends of a round trip in one thread\n"
        "  --contexts=2  the receiver has a context of its own; not over inproc\n"
        "  --sender=binds, --sender=connects  which end binds; not with a sender that is a ROUTER. Usually "
        "the publisher or "
        "the receiver\n"
        "  --curve       the receiver is a server of CURVE, and the sender its client\n"
        "  --bodies=WAY  copied (zmq_send, zmq_recv), or messages: allocated by the library and filled, or "
        "lent to it\n"
        "variables: BENCH_MSG_COUNT BENCH_WARMUP_COUNT BENCH_LAT_COUNT BENCH_IO_THREADS BENCH_HWM "
        "BENCH_DEBUG\n"
        "           BENCH_TLS_CERT BENCH_TLS_KEY BENCH_TLS_CA (paths, for tls and wss)\n",
        stderr);
    std::exit(2);
}

}  // namespace

settings parse_settings(int argc, char **argv) {
    if (argc < 5)
        usage();
    settings wanted;
    wanted.library = argv[1];
    wanted.pattern = argv[2];
    wanted.transport = argv[3];
    wanted.size = std::strtoull(argv[4], nullptr, 10);
    if (wanted.size < smallest_body)
        usage();
    for (int i = 5; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--one-thread")
            wanted.latency_in_one_thread = true;
        else if (word == "--contexts=1" || word == "--contexts=2")
            wanted.contexts = word.back() - '0';
        else if (word == "--sender=binds")
            wanted.binds = end_that::sends;
        else if (word == "--sender=connects")
            wanted.binds = end_that::receives;
        else if (word == "--curve")
            wanted.seals = true;
        else if (word == "--bodies=copied")
            wanted.bodies = body_way::copied;
        else if (word == "--bodies=allocated")
            wanted.bodies = body_way::allocated;
        else if (word == "--bodies=lent")
            wanted.bodies = body_way::lent;
        else if (word == "throughput")
            wanted.latency = false;
        else if (word == "latency")
            wanted.throughput = false;
        else if (word != "both")
            usage();
    }
    if (wanted.contexts == 2 && wanted.transport == "inproc")
        usage();  // they would never meet
    wanted.messages = number_from("BENCH_MSG_COUNT",
                                  wanted.size <= small_message ? messages_when_small : messages_when_large);
    wanted.warmup = number_from("BENCH_WARMUP_COUNT", wanted.warmup);
    wanted.round_trips = number_from("BENCH_LAT_COUNT", wanted.round_trips);
    wanted.io_threads = static_cast<int>(number_from("BENCH_IO_THREADS", wanted.io_threads));
    wanted.high_water_mark = static_cast<int>(number_from("BENCH_HWM", wanted.high_water_mark));
    wanted.debug = number_from("BENCH_DEBUG", 0) != 0;
    if (wanted.messages < 2 || wanted.round_trips < 1)
        usage();
    return wanted;
}

}  // namespace bench
