#!/usr/bin/python3
"""Measures the transports that the distribution's libzmq does not have: zlink over each, beside what it may be held against (beside.py).

  run_transports.py [--kinds LIST] [--patterns LIST] [--sizes LIST] [--measures LIST] [--hwm LIST] [--contexts LIST]
                    [--pairs N] [--seconds S] [--pinned] [--limit S] [--build-dir PATH] [--output FILE]

Prints a line for each cell, a markdown table at the end, and the ratios that miss what is asked; --output writes every run as JSON.
`make bench` measures them too, beside the rest of the matrix. Exit status: 0, or 1 if a cell has no result.
It lies if something else keeps the processors busy: look at the spread.
"""

import argparse
import json
import sys

import beside
import runner


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=runner.list_of(beside.KINDS), default=list(beside.KINDS))
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
    parser.add_argument("--limit", type=float, default=runner.LONGEST_RUN_S, help="seconds after which a run is given up (%(default)s)")
    args = parser.parse_args(argv)
    args.beside_patterns, args.beside_hwm, args.large_patterns = args.patterns, args.hwm, args.patterns
    return args


def report(found):
    for measure, unit in (("throughput", "million messages a second"), ("latency", "microseconds one way")):
        if any(each["measure"] == measure for each in found):
            print("\n%s, %s\n\n%s" % (measure, unit, beside.markdown_of(found, measure)))
    print("\n" + beside.closing(found))


def main(argv):
    args = parse(argv)
    found, failures = [], []
    try:
        runner.build(args.build_dir)
        _, zlink = runner.libraries(args.build_dir)
        args.nng = runner.nng_schemes(args.build_dir)
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    for where in beside.cells(args):
        try:
            found.append(beside.Cell(args, zlink, *where).measured())
            print(beside.line_of(found[-1]), flush=True)
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
