// bench_zmq: one cell of the matrix on whichever libzmq.so.5 the dynamic linker finds.
//
// Prints LIBRARY,<lib>,<file>,<version> and then, for each measure,
// RESULT,<lib>,<pattern>,<transport>,<size>,throughput|latency,<value> in messages a second or microseconds one way.
#include "bench.hpp"

#include <zmq.h>

#include <cstdio>
#include <link.h>

namespace bench {

std::string loaded_library() {
    std::string path = "?";
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *found) {
            if (std::strstr(info->dlpi_name, "libzmq.so"))
                *static_cast<std::string *>(found) = info->dlpi_name;
            return 0;
        },
        &path);
    return path;
}

}  // namespace bench

int main(int argc, char **argv) {
    const bench::settings wanted = bench::parse_settings(argc, argv);
    bench::find_pattern(wanted.pattern);
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    std::printf("LIBRARY,%s,%s,%d.%d.%d\n", wanted.library.c_str(), bench::loaded_library().c_str(), major,
                minor, patch);
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
