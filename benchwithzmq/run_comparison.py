#!/usr/bin/env python3
"""Compares libzmq and zlink, pattern by pattern.

  run_comparison.py [PATTERN|ALL] [--runs N] [--build-dir PATH] [--zlink-only] [--skip-libzmq] [--refresh-libzmq]
                    [--reuse-build]
  run_comparison.py --acceptance [--patterns LIST] [--transports LIST] [--sizes LIST] [--measures LIST]
                    [--hwm LIST] [--pairs N] [--seconds S] [--one-thread] [--pinned] [--output FILE]

The first form runs fixed counts, pinned to one processor, and trims the smallest and largest of the runs. Variables:
BENCH_TRANSPORTS BENCH_MSG_SIZES BENCH_MSG_COUNT BENCH_WARMUP_COUNT BENCH_LAT_COUNT BENCH_IO_THREADS BENCH_NO_TASKSET
BENCH_DEBUG BENCH_HWM BENCH_LIBZMQ_LIB_DIR. bench_zmq and the library are built where they are missing.

The second form decides whether zlink is fast enough: unpinned, counts that keep the faster library busy for about a
second, alternating pairs of runs, and a pass or a miss for each cell (see pairs.py and acceptance.py).
"""

import argparse
import json
import os
import sys

import acceptance
import pairs
import runner


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="ALL", type=str.upper, choices=runner.PATTERNS + ["ALL"])
    parser.add_argument("--runs", type=int, default=3, help="runs of each cell and library (3)")
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--reuse-build", action="store_true",
                        help="do not build bench_zmq and the library, not even if one is missing")
    parser.add_argument("--zlink-only", action="store_true", help="do not run libzmq and do not compare")
    parser.add_argument("--skip-libzmq", action="store_true", help="compare with libzmq's results of an earlier run")
    parser.add_argument("--refresh-libzmq", action="store_true", help="forget libzmq's results of earlier runs first")
    group = parser.add_argument_group("acceptance")
    group.add_argument("--acceptance", action="store_true")
    pairs.add_options(group, pairs=5, seconds=1.0)
    group.add_argument("--output", help="write every run as JSON")
    return parser.parse_args(argv)


def trimmed_mean(values):
    """The mean without the smallest and the largest value, where that leaves any."""
    kept = sorted(values)[1:-1] if len(values) > 2 else values
    return sum(kept) / len(kept)


class Cache:
    """libzmq's results of earlier runs, for --skip-libzmq."""

    def __init__(self, build_dir, forget):
        self.path = os.path.join(build_dir, "bench", "libzmq_cache.json")
        self.cells = {}
        if not forget and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.cells = json.load(file)

    @staticmethod
    def key(pattern, transport, size):
        return "%s,%s,%s" % (pattern, transport, size)

    def get(self, *cell):
        return self.cells.get(self.key(*cell), {})

    def put(self, values, *cell):
        self.cells[self.key(*cell)] = values
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.cells, file, indent=1)


def compare_cell(args, contestants, prefix, cell):
    """The trimmed mean of each library and measure; the libraries take turns."""
    samples = {library.name: {} for library in contestants}
    for _ in range(args.runs):
        for library in contestants:
            values, lines = runner.run_cell(args.build_dir, library, *cell, prefix=prefix, extra=["--one-thread"])
            print("\n".join(lines), flush=True)
            for measure, value in values.items():
                samples[library.name].setdefault(measure, []).append(value)
    return {name: {measure: trimmed_mean(values) for measure, values in found.items()}
            for name, found in samples.items()}


def print_comparison(cell, libzmq, zlink):
    for measure in runner.MEASURES:
        if measure not in zlink:
            continue
        head = "%-18s %-6s %7s %-10s" % (*cell, measure)
        if measure not in libzmq:
            print("%s zlink %s" % (head, runner.shown(measure, zlink[measure])))
            continue
        better = runner.ratio(measure, libzmq[measure], zlink[measure])
        change = 100 * (zlink[measure] / libzmq[measure] - 1)
        print("%s libzmq %s  zlink %s  difference %+8.1f %%  ratio %6.2f" % (
            head, runner.shown(measure, libzmq[measure]), runner.shown(measure, zlink[measure]), change, better))
    sys.stdout.flush()


def compare(args):
    libzmq, zlink = runner.libraries(args.build_dir)
    contestants = [zlink] if args.zlink_only or args.skip_libzmq else [libzmq, zlink]
    cache = Cache(args.build_dir, args.refresh_libzmq)
    prefix = () if os.environ.get("BENCH_NO_TASKSET") else runner.pinned()
    patterns = runner.PATTERNS if args.pattern == "ALL" else [args.pattern]
    table, broken = [], 0
    for pattern in patterns:
        for transport in runner.list_from("BENCH_TRANSPORTS", runner.TRANSPORTS):
            for size in runner.list_from("BENCH_MSG_SIZES", runner.SIZES):
                cell = (pattern, transport, size)
                try:
                    # The distribution's libzmq has tcp, ipc and inproc only.
                    able = contestants if transport in runner.TRANSPORTS else [zlink]
                    results = compare_cell(args, able, prefix, cell)
                except runner.Failure as failure:
                    print("FAILED,%s,%s,%s: %s" % (*cell, failure), flush=True)
                    broken += 1
                    continue
                if libzmq.name in results:
                    cache.put(results[libzmq.name], *cell)
                baseline = {} if args.zlink_only else results.get(libzmq.name) or cache.get(*cell)
                table.append((cell, baseline, results[zlink.name]))
                print_comparison(*table[-1])
    print("\nSummary (difference: change of the value itself; ratio: above 1 zlink is better)")
    for row in table:
        print_comparison(*row)
    return 1 if broken else 0


def main(argv):
    args = parse(argv)
    try:
        runner.build(args.build_dir, args.reuse_build)
        if args.acceptance:
            if args.pattern != "ALL":
                args.patterns = args.patterns or [args.pattern]
            pairs.fill_in(args, hwm=[0, 1000])
            return acceptance.judge(args)
        return compare(args)
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
