// bench_peers: one cell on whichever libzmq.so.5 the dynamic linker finds, or on the system's own
// sockets.
//
// Prints LIBRARY,<lib>,<file>,<version> and then, for each measure,
// RESULT,<lib>,<cell>[:<count>],<transport>,<size>,<measure>,<value>; see peers.hpp for the
// measures.
#include "peers/peers.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {

namespace {

constexpr std::size_t smallest_size = 16;  // the first and the last word of the check

struct cell {
    const char *name;
    findings (*measure)(peer_settings &);
    std::size_t count;  // unless another is asked for; 0: has none
    std::uint64_t messages;
    bool can_be_raw;
};

// name, measure, count, messages, can_be_raw
constexpr cell cells[] = {
    {"FAN_OUT", measure_fan_out, 100, 1'000'000, false},
    {"FAN_IN", measure_fan_in, 100, 1'000'000, false},
    {"LOCK_STEP", measure_lock_step, 100, 100'000, true},
    {"TOPICS", measure_filtering, 10'000, 500'000, false},
    {"MATCH", measure_publisher, 10'000, 500'000, false},
    {"MISS", measure_publisher, 10'000, 500'000, false},
    {"TOPIC_MEMORY", measure_topic_memory, 10'000, 0, false},
    {"TOPIC_MEMORY_ALONE", measure_topic_memory_alone, 10'000, 0, false},
    {"IDLE", measure_idle, 10'000, 0, false},
    {"HANDSHAKE", measure_handshakes, 16, 3'200, false},
    {"HANDSHAKE_CURVE", measure_handshakes, 16, 3'200, true},
    {"PING_ONE_THREAD", measure_ping, 0, 20'000, true},
    {"PING_ONE_THREAD_POLL", measure_ping, 0, 20'000, true},
    {"PING_TWO_THREADS", measure_ping, 0, 20'000, true},
    {"PING_TWO_THREADS_POLL", measure_ping, 0, 20'000, true},
    {"PING_TWO_PROCESSES", measure_ping, 0, 20'000, true},
    {"PING_TWO_PROCESSES_POLL", measure_ping, 0, 20'000, true},
    {"POLL_AMONG", measure_ping, 100, 20'000, false},
    {"WAKE", measure_wake, 0, 20'000, true},
    {"STREAM", measure_stream, 0, 10'000, true},
    {"STREAM_MSG", measure_stream, 0, 10'000, false},
    {"STREAM_DATA", measure_stream, 0, 10'000, false},
    {"WORK", measure_work, 1000, 300'000, false},
    {"PACED", measure_paced, 2000, 50'000, false},
    {"BURST", measure_burst, 5, 50'000, false},
};

[[noreturn]] void usage() {
    std::fputs(
        "usage: bench_peers LIB CELL[:COUNT] TRANSPORT SIZE [--raw]\n"
        "  LIB        a word for the result line; LD_LIBRARY_PATH selects the library itself\n"
        "  CELL       one of these, with its usual count of peers, topics, connections, messages or ns:\n",
        stderr);
    for (const cell &each : cells) {
        std::fprintf(stderr, "             %s", each.name);
        if (each.count)
            std::fprintf(stderr, ":%zu", each.count);
        std::fputc('\n', stderr);
    }
    std::fputs(
        "  TRANSPORT  tcp ipc inproc; for WAKE eventfd futex\n"
        "  --raw      LOCK_STEP, PING and STREAM over sockets without the library; of HANDSHAKE_CURVE what\n"
        "             libsodium computes with public keys\n"
        "variables: BENCH_MSG_COUNT (messages or round trips in all) BENCH_WARMUP_COUNT BENCH_IO_THREADS\n"
        "           BENCH_HWM BENCH_DEBUG\n",
        stderr);
    std::exit(2);
}

const cell &find_cell(const std::string &name) {
    for (const cell &each : cells)
        if (name == each.name)
            return each;
    usage();
}

peer_settings parse(int argc, char **argv) {
    if (argc < 5)
        usage();
    peer_settings wanted;
    wanted.library = argv[1];
    wanted.cell = argv[2];
    const std::size_t colon = wanted.cell.find(':');
    if (colon != std::string::npos) {
        wanted.count = std::strtoull(wanted.cell.c_str() + colon + 1, nullptr, 10);
        wanted.cell.resize(colon);
    }
    const cell &chosen = find_cell(wanted.cell);
    if (colon == std::string::npos)
        wanted.count = chosen.count;
    if ((wanted.count == 0) != (chosen.count == 0))
        usage();
    wanted.transport = argv[3];
    wanted.size = std::strtoull(argv[4], nullptr, 10);
    if (wanted.size < smallest_size)
        usage();
    for (int i = 5; i < argc; ++i) {
        wanted.raw = std::string("--raw") == argv[i] && chosen.can_be_raw;
        if (!wanted.raw)
            usage();
    }
    const auto number = [](const char *variable, auto otherwise) {
        return static_cast<decltype(otherwise)>(number_from(variable, static_cast<long long>(otherwise)));
    };
    wanted.messages = number("BENCH_MSG_COUNT", chosen.messages);
    wanted.warmup = number("BENCH_WARMUP_COUNT", wanted.warmup);
    wanted.io_threads = number("BENCH_IO_THREADS", wanted.io_threads);
    wanted.high_water_mark = number("BENCH_HWM", wanted.high_water_mark);
    wanted.debug = number_from("BENCH_DEBUG", 0) != 0;
    if (wanted.messages < 2 && chosen.messages > 0)
        usage();
    return wanted;
}

}  // namespace

}  // namespace bench

int main(int argc, char **argv) {
    bench::peer_settings wanted = bench::parse(argc, argv);
    bench::raise_descriptor_limit();
    bench::print_library(wanted.library);
    std::fflush(stdout);  // before a fork
    const bench::findings found = bench::find_cell(wanted.cell).measure(wanted);
    std::string name = wanted.cell;
    if (wanted.count)
        name += ":" + std::to_string(wanted.count);
    for (const bench::finding &each : found)
        std::printf("RESULT,%s,%s,%s,%zu,%s,%.3f\n", wanted.library.c_str(), name.c_str(),
                    wanted.transport.c_str(), wanted.size, each.measure, each.value);
    return 0;
}
