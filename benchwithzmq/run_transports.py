#!/usr/bin/python3
"""Measures the transports that the distribution's libzmq does not have: zlink over each, beside zlink over the one below and no library at all.

  run_transports.py [--kinds LIST] [--patterns LIST] [--sizes LIST] [--measures LIST] [--hwm LIST] [--contexts LIST]
                    [--pairs N] [--seconds S] [--pinned] [--build-dir PATH] [--output FILE]

Contestants of a cell (KINDS, below): zlink over the transport, zlink over the one below it, and that transport without a library, where
there is a program for it: for tls OpenSSL's own records of 16 KiB between two threads (raw_tls.cpp). Its stream has no messages, so its
rate is told in messages of the size. Rounds of runs alternate, and so does who goes first. A ratio is the median over the rounds (worst and
best in brackets), and above 1 where the transport is the better one. Counts grow until the fastest contestant needs the seconds asked for.
Prints a line for each cell and a markdown table at the end; --output writes every run as JSON. Exit status: 0, or 1 if a cell has no result.
It lies if something else keeps the processors busy: look at the spread.
"""

import argparse
import itertools
import json
import os
import statistics
import sys

import pairs
import runner
import tables

# transport: the one below it, and the program that makes the same stream without a library
KINDS = {"tls": ("tcp", "bench_raw_tls"), "ws": ("tcp", None), "wss": ("tls", None)}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=runner.list_of(KINDS), default=list(KINDS))
    parser.add_argument("--patterns", type=runner.list_of(runner.PATTERNS), default=["PUSH_PULL", "DEALER_DEALER"])
    parser.add_argument("--sizes", type=runner.numbers, default=runner.SIZES)
    parser.add_argument("--measures", type=runner.list_of(runner.MEASURES), default=runner.MEASURES)
    parser.add_argument("--hwm", type=runner.numbers, default=[0, 1000])
    parser.add_argument("--contexts", type=runner.numbers, default=[1, 2])
    parser.add_argument("--pairs", type=int, default=3, help="rounds of runs of each cell (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time the fastest shall need for one run (%(default)s)")
    parser.add_argument("--pinned", action="store_true", help="all threads of a run on one processor")
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--output", help="write every run as JSON")
    return parser.parse_args(argv)


class Cell:
    """One cell, and what was measured there."""

    def __init__(self, args, zlink, kind, pattern, size, measure, hwm, contexts):
        self.args, self.zlink = args, zlink
        self.kind, self.pattern, self.size, self.measure = kind, pattern, size, measure
        self.hwm, self.contexts = hwm, contexts
        self.count = pairs.first_count(measure, size)
        self.prefix = runner.pinned() if args.pinned else []
        below, raw = KINDS[kind]
        self.names = [kind, below]
        self.raw = os.path.join(args.build_dir, "bench", raw) if raw else None
        if self.raw and os.access(self.raw, os.X_OK):
            self.names.append("raw")

    def run(self, name):
        """One run of one contestant."""
        variables = {pairs.COUNT_VARIABLE[self.measure]: self.count}
        if name == "raw":
            values = runner.run_raw(self.args.build_dir, self.raw, self.size, self.measure, self.prefix, **variables)
        else:
            extra = ["--contexts=2"] if self.contexts == 2 else []
            values, _ = runner.run_cell(self.args.build_dir, self.zlink, self.pattern, name, self.size, self.measure,
                                        prefix=self.prefix, extra=extra, BENCH_HWM=self.hwm, BENCH_IO_THREADS=1,
                                        **variables)
        return values[self.measure]

    def calibrate(self):
        """Finds the count; only the contestant that was fastest in the first trial is asked again."""
        taken = {name: pairs.seconds_of(self.measure, self.run(name), self.count) for name in self.names}
        fastest = min(taken, key=taken.get)
        limit = min(pairs.MOST_MESSAGES, int(self.count * pairs.LONGEST_RUN_S / max(taken.values())))
        if self.measure == "throughput":
            limit = min(limit, pairs.MOST_BYTES // self.size)
        needed = taken[fastest]
        while self.count < limit and needed < pairs.CLOSE_ENOUGH * self.args.seconds:
            growth = min(pairs.GREATEST_GROWTH, self.args.seconds / needed)
            self.count = min(limit, int(self.count * growth) + 1)
            needed = pairs.seconds_of(self.measure, self.run(fastest), self.count)

    def measured(self):
        """All rounds: medians, and the ratio to each of the others."""
        self.calibrate()
        rounds = []
        for number in range(self.args.pairs):
            order = self.names if number % 2 == 0 else self.names[::-1]
            rounds.append({name: self.run(name) for name in order})
        found = {"kind": self.kind, "pattern": self.pattern, "size": self.size, "measure": self.measure,
                 "hwm": self.hwm, "contexts": self.contexts, "count": self.count, "rounds": rounds,
                 "median": {name: statistics.median(each[name] for each in rounds) for name in self.names}}
        for other in self.names[1:]:
            ratios = [runner.ratio(self.measure, each[other], each[self.kind]) for each in rounds]
            found["to_" + other] = [statistics.median(ratios), min(ratios), max(ratios)]
        return found


def columns(found):
    """The cells of a row, as text."""
    below = KINDS[found["kind"]][0]
    scale = 1e6 if found["measure"] == "throughput" else 1
    values = [tables.plain(found["median"][name] / scale) if name in found["median"] else ""
              for name in (found["kind"], below, "raw")]
    ratios = ["%.2f (%.2f to %.2f)" % tuple(found["to_" + name]) if "to_" + name in found else ""
              for name in (below, "raw")]
    return [found["pattern"], found["kind"], tables.short_size(found["size"]), str(found["hwm"]),
            str(found["contexts"]), *values, *ratios]


def report(found):
    for measure, unit in (("throughput", "million messages a second"), ("latency", "microseconds one way")):
        rows = [each for each in found if each["measure"] == measure]
        if rows:
            print("\n%s, %s\n" % (measure, unit))
            print(tables.markdown(["pattern", "transport", "octets", "mark", "contexts", "it", "the one below", "raw",
                                   "to the one below", "to raw"], [columns(each) for each in rows]))


def main(argv):
    args = parse(argv)
    found, failures = [], []
    try:
        runner.build(args.build_dir)
        _, zlink = runner.libraries(args.build_dir)
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    for where in itertools.product(args.kinds, args.patterns, args.sizes, args.measures, args.hwm, args.contexts):
        try:
            found.append(Cell(args, zlink, *where).measured())
            print(found[-1]["measure"], " ".join(columns(found[-1])), flush=True)
        except runner.Failure as failure:
            failures.append(str(failure))
            print("FAILED %s" % failure, flush=True)
        if args.output:
            with open(args.output, "w", encoding="utf-8") as file:
                json.dump({"cells": found, "failures": failures}, file, indent=1)
    report(found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
