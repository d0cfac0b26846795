// bench_zmq: one cell of the matrix on whichever libzmq.so.5 the dynamic linker finds.
//
// Prints LIBRARY,<lib>,<file>,<version> and then, for each measure,
// RESULT,<lib>,<pattern>,<transport>,<size>,throughput|latency,<value> in messages a second or
// microseconds one way.
#include "bench.hpp"

#include <cstdio>

int main(int argc, char **argv) {
    const bench::settings wanted = bench::parse_settings(argc, argv);
    bench::find_pattern(wanted.pattern);
    bench::print_library(wanted.library);
    const auto print = [&](const char *measure, double value) {
        std::printf("RESULT,%s,%s,%s,%zu,%s,%.3f\n", wanted.library.c_str(), wanted.pattern.c_str(),
                    wanted.transport.c_str(), wanted.size, measure, value);
        std::fflush(stdout);
    };
    if (wanted.throughput)
        print("throughput", bench::measure_throughput(wanted));
    if (wanted.latency)
        print("latency", bench::measure_latency(wanted));
    return 0;
}
