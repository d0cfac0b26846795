#!/usr/bin/python3
"""Measures the whole matrix on libzmq and zlink side by side and ends with a table of ratios and pictures: `make bench`.

  run_matrix.py [--patterns LIST] [--transports LIST] [--sizes LIST] [--measures LIST] [--hwm LIST]
                [--contexts LIST] [--bodies LIST] [--pairs N] [--seconds S] [--one-thread] [--pinned] [--build-dir PATH] [--reuse-build] [--output-dir PATH]
                [--no-plots]

Each cell is a line as soon as it is measured (how: pairs.py). The output folder, build/bench unless said otherwise, gets
results.json, results.md, and throughput, latency and headline as PNG and SVG (plot_results.py draws them again).
Sizes go to 64 MiB, the large ones of PAIR and PUSH_PULL alone unless others are named, each over tcp and ipc also between two contexts.
Cells where zlink is below 0.97 of libzmq are marked LOSS. An interrupted run shows what it has.

Variables: BENCH_TRANSPORTS BENCH_MSG_SIZES BENCH_HWM BENCH_MSG_COUNT BENCH_LAT_COUNT (fixed counts instead of --seconds)
BENCH_WARMUP_COUNT BENCH_LIBZMQ_LIB_DIR. Exit status: 0, or 1 if a cell has no result.
"""

import argparse
import os
import sys
import time

import pairs
import plot_results
import runner
import tables


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    pairs.add_options(parser, pairs=3, seconds=0.3)
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--reuse-build", action="store_true",
                        help="do not build bench_zmq and the library, not even if one is missing")
    parser.add_argument("--output-dir", default=os.path.join(os.path.dirname(runner.HERE), "build", "bench"))
    parser.add_argument("--no-plots", action="store_true", help="no pictures; needs no matplotlib")
    args = parser.parse_args(argv)
    if args.pairs < 1:
        parser.error("--pairs: at least 1")
    pairs.fill_in(args, hwm=[1000], large_sizes=runner.LARGE_SIZES, contexts=(1, 2))
    args.patterns = sorted(args.patterns, key=runner.PATTERNS.index)
    return args


def minutes_left(started, done, wanted):
    return (time.monotonic() - started) / done * (wanted - done) / 60


def measure(args, libraries, path, found, failures):
    """Measures every cell, a line each; `found` and `failures` grow, and the file with them."""
    wanted = pairs.cells(args)
    started = time.monotonic()
    for number, where in enumerate(wanted, 1):
        try:
            found.append(pairs.Cell(args, *where).measured(*libraries))
            line = tables.line_of(found[-1])
        except runner.Failure as failure:
            failures.append(str(failure))
            line = "FAILED %s" % failure
        pairs.write(path, pairs.about_pairs(args, libraries[0]), found, failures)
        left = minutes_left(started, number, len(wanted))
        print("[%3d/%d, %2.0f min left] %s" % (number, len(wanted), left, line), flush=True)


def report(args, results):
    """The table, and its Markdown and pictures in the output folder."""
    print("\nRatio to libzmq (above 1 zlink is better), sizes in octets")
    print(tables.grid(results["cells"]))
    print(tables.closing(results["cells"], results["failures"]))
    written = [os.path.join(args.output_dir, name) for name in ("results.json", "results.md")]
    with open(written[1], "w", encoding="utf-8") as file:
        file.write("%s\n" % tables.machine_line(results["machine"]))
        for measured, unit in (("throughput", "Throughput, million messages a second"),
                               ("latency", "Latency one way, microseconds")):
            if any(each["measure"] == measured for each in results["cells"]):
                file.write("\n### %s\n\n%s\n" % (unit, tables.markdown_of(results["cells"], measured)))
    if not args.no_plots:
        written += plot_results.plot_all(results, args.output_dir)
    print("\n" + "\n".join(written))


def main(argv):
    args = parse(argv)
    path = os.path.join(args.output_dir, "results.json")
    found, failures, interrupted = [], [], False
    try:
        if not args.no_plots:
            plot_results.need_matplotlib()
        runner.build(args.build_dir, args.reuse_build)
        libraries = runner.libraries(args.build_dir)
        print("\n".join("%s is %s" % (each.name, os.path.realpath(each.file)) for each in libraries), flush=True)
        try:
            measure(args, libraries, path, found, failures)
        except KeyboardInterrupt:
            interrupted = True
        if found:
            report(args, pairs.read(path))
        elif failures:
            print(tables.closing(found, failures))
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 130 if interrupted else 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
