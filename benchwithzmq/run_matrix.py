#!/usr/bin/python3
"""Measures the whole matrix side by side and ends with tables of ratios and pictures: `make bench`.

  run_matrix.py [--patterns LIST] [--transports LIST] [--sizes LIST] [--measures LIST] [--hwm LIST] [--contexts LIST]
                [--bodies LIST] [--pairs N] [--seconds S] [--limit S] [--quick] [--afresh] [--one-thread] [--pinned]
                [--build-dir PATH] [--reuse-build] [--output-dir PATH] [--no-plots]

tcp, ipc and inproc: zlink in turn with libzmq (pairs.py). ws, wss and tls, and tcp where bench_nng was built: zlink in turn with the transport
below, with no library, and with nng (beside.py), PAIR and PUSH_PULL unless patterns are named, marks 0 and 1000.
BUSY:4 is PUSH_PULL beside four processes that burn a processor each (neighbours.py).
Sizes go to 64 MiB, the large ones of PAIR and PUSH_PULL alone unless others are named, each transport but inproc also between two contexts.

Each cell is a line as soon as it is measured. The output folder, build/bench unless said otherwise, gets results.json, results.md, and throughput,
latency, beside-throughput, beside-latency and headline as PNG and SVG (plot_results.py draws them again). A run goes on where the one before was interrupted, if the build
and how it is measured are the same; --afresh does not, and what was there goes to results.previous.json. A run that fails or takes longer
than --limit costs its cell, which the next run tries again. --quick measures, once each, a part of the cells in some four minutes, in build/bench/quick.
Cells below 0.97 of libzmq, or below what is asked beside others, are marked LOSS. An interrupted run shows what it has.

Variables: BENCH_TRANSPORTS BENCH_MSG_SIZES BENCH_HWM BENCH_MSG_COUNT BENCH_LAT_COUNT (fixed counts instead of --seconds)
BENCH_WARMUP_COUNT BENCH_LIBZMQ_LIB_DIR. Exit status: 0, or 1 if a cell has no result.
"""

import argparse
import os
import sys
import time

import beside
import neighbours
import pairs
import plot_results
import runner
import tables

BESIDE_PATTERNS = ["PAIR", "PUSH_PULL"]
QUICK = {"patterns": ["PUBSUB", "DEALER_ROUTER", "PUSH_PULL", neighbours.ROW], "sizes": [64, 1024, 65536, 1 << 20, 16 << 20], "hwm": [1000],
         "pairs": 1, "seconds": 0.1, "limit": 20}
# The other direction of ws and wss is measured for one pattern; so are round trips, up to a size.
QUICK_PATTERN = "PUSH_PULL"
QUICK_LATENCY = 65536
# What has to be the same where a run goes on.
SETTINGS = ("build", "pairs", "seconds", "pinned", "one_thread", "processor", "processors")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    pairs.add_options(parser, pairs=3, seconds=0.3, transports=runner.ALL_TRANSPORTS)
    parser.add_argument("--quick", action="store_true", help="a part of the cells, once each; other options may change it")
    parser.add_argument("--afresh", action="store_true", help="measure what is measured already, too")
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--reuse-build", action="store_true",
                        help="do not build the programs and the library, not even if one is missing")
    parser.add_argument("--output-dir", help="build/bench, or build/bench/quick")
    parser.add_argument("--no-plots", action="store_true", help="no pictures; needs no matplotlib")
    parser.set_defaults(limit=120)
    if "--quick" in argv:
        parser.set_defaults(**QUICK)
    args = parser.parse_args(argv)
    if args.pairs < 1:
        parser.error("--pairs: at least 1")
    args.output_dir = args.output_dir or os.path.join(os.path.dirname(runner.HERE), "build", "bench", *(["quick"] if args.quick else []))
    args.beside_patterns, args.beside_hwm = [each for each in args.patterns or BESIDE_PATTERNS if each != neighbours.ROW], args.hwm or runner.list_from("BENCH_HWM", [0, 1000])
    pairs.fill_in(args, hwm=[1000], large_sizes=runner.LARGE_SIZES, contexts=(1, 2), transports=runner.ALL_TRANSPORTS)
    args.patterns = sorted(args.patterns, key=(runner.PATTERNS + [neighbours.ROW]).index)
    args.kinds = [each for each in beside.KINDS if each in args.transports]
    args.transports = [each for each in args.transports if each in runner.TRANSPORTS]
    args.nng = []
    return args


def is_quick(pattern, size, measure, sender=None):
    """Whether a cell stands for others like it."""
    if pattern == neighbours.ROW:
        return True
    if measure == "latency":
        return pattern == QUICK_PATTERN and size <= QUICK_LATENCY
    return sender is None or pattern == QUICK_PATTERN or sender == beside.usual_sender(pattern)


def wanted_cells(args):
    """(the list of the results it belongs to, what tells it from others) of each cell."""
    wanted = [("cells", cell) for cell in pairs.cells(args)] + [("beside", cell) for cell in beside.cells(args)]
    if not args.quick:
        return wanted
    fields = {"cells": pairs.FIELDS, "beside": beside.FIELDS}
    named = [(part, cell, dict(zip(fields[part], cell))) for part, cell in wanted]
    return [(part, cell) for part, cell, each in named
            if is_quick(each["pattern"], each["size"], each["measure"], each.get("sender"))]


def empty():
    return {"machine": {}, "cells": [], "beside": [], "failures": []}


def about(args):
    machine = pairs.about(pairs=args.pairs, pinned=args.pinned)
    return dict(machine, build=runner.digest(args.build_dir), seconds=args.seconds, one_thread=args.one_thread)


def resumed(args, path, machine):
    """What an earlier run has measured in the same way, or nothing."""
    try:
        before = dict(empty(), **pairs.read(path))
    except runner.Failure:
        return empty()
    differ = [name for name in SETTINGS if before["machine"].get(name) != machine.get(name)]
    if args.afresh or differ:
        kept = os.path.join(os.path.dirname(path), "results.previous.json")
        os.replace(path, kept)
        print("begun afresh%s; what was there is %s" % (", not the same: " + ", ".join(differ) if differ else "", kept), flush=True)
        return empty()
    return dict(before, failures=[])


def without_measured(wanted, results):
    done = {("cells", tuple(each[name] for name in pairs.FIELDS)) for each in results["cells"]}
    done |= {("beside", tuple(each[name] for name in beside.FIELDS)) for each in results["beside"]}
    return [each for each in wanted if each not in done]


def measure_one(args, libraries, part, where):
    """A measured cell and its line."""
    if part == "cells":
        found = pairs.Cell(args, *where).measured(*libraries)
        return found, tables.line_of(found)
    found = beside.Cell(args, libraries[1], *where).measured()
    return found, beside.line_of(found)


def minutes_left(started, done, wanted):
    return (time.monotonic() - started) / done * (wanted - done) / 60


def measure(args, libraries, path, results):
    """Measures every cell that is missing, a line each; `results` grows, and the file with it."""
    wanted = wanted_cells(args)
    missing = without_measured(wanted, results)
    if len(missing) < len(wanted):
        print("%d of %d cells are measured already" % (len(wanted) - len(missing), len(wanted)), flush=True)
    started = time.monotonic()
    for number, (part, where) in enumerate(missing, 1):
        try:
            found, line = measure_one(args, libraries, part, where)
            results[part].append(found)
        except Exception as error:  # pylint: disable=broad-except  (a cell must not end a run of hours)
            told = str(error) if isinstance(error, runner.Failure) else "%s: %r" % (" ".join(map(str, where)), error)
            results["failures"].append(told)
            line = "FAILED " + told
        if libraries[0].version != "?":
            results["machine"]["libzmq"] = libraries[0].version
        pairs.write(path, results["machine"], results["cells"], results["failures"], results["beside"])
        left = minutes_left(started, number, len(missing))
        print("[%3d/%d, %2.0f min left] %s" % (number, len(missing), left, line), flush=True)


def write_markdown(path, results):
    with open(path, "w", encoding="utf-8") as file:
        file.write("%s\n" % tables.machine_line(results["machine"]))
        for measured, unit in (("throughput", "Throughput, million messages a second"),
                               ("latency", "Latency one way, microseconds")):
            for part, module, title in (("cells", tables, ""), ("beside", beside, ", beside others than libzmq")):
                if any(each["measure"] == measured for each in results[part]):
                    file.write("\n### %s%s\n\n%s\n" % (unit, title, module.markdown_of(results[part], measured)))


def report(args, results):
    """The tables, and their Markdown and pictures in the output folder."""
    if results["cells"]:
        print("\nRatio to libzmq (above 1 zlink is better), sizes in octets")
        print(tables.grid(results["cells"]))
    if results["beside"]:
        print("\nRatio to what the row names (above 1 it is better than that), sizes in octets")
        print(beside.grid(results["beside"]))
        print(beside.closing(results["beside"]))
    print(tables.closing(results["cells"], results["failures"]))
    written = [os.path.join(args.output_dir, name) for name in ("results.json", "results.md")]
    write_markdown(written[1], results)
    if not args.no_plots:
        written += plot_results.plot_all(results, args.output_dir)
    print("\n" + "\n".join(written))


def main(argv):
    args = parse(argv)
    path = os.path.join(args.output_dir, "results.json")
    interrupted = False
    try:
        if not args.no_plots:
            plot_results.need_matplotlib()
        runner.build(args.build_dir, args.reuse_build)
        libraries = runner.libraries(args.build_dir)
        args.nng = runner.nng_schemes(args.build_dir)
        print("\n".join("%s is %s" % (each.name, os.path.realpath(each.file)) for each in libraries), flush=True)
        machine = about(args)
        results = resumed(args, path, machine)
        results["machine"] = dict(machine, libzmq=results["machine"].get("libzmq"))
        try:
            measure(args, libraries, path, results)
        except KeyboardInterrupt:
            interrupted = True
        if results["cells"] or results["beside"]:
            report(args, results)
        elif results["failures"]:
            print(tables.closing([], results["failures"]))
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 130 if interrupted else 1 if results["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
