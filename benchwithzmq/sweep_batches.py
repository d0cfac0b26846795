#!/usr/bin/env python3
"""Runs zlink with other batch sizes and prints a table of throughput relative to the default, in Markdown.

  sweep_batches.py [--variables IN,OUT] [--batches LIST] [--patterns LIST] [--transports tcp,ipc] [--sizes LIST]
                   [--rounds N] [--seconds S] [--pinned] [--build-dir PATH] [--reuse-build] [--output FILE]

Question: what does it cost or gain to set ZMQ_ASIO_IN_BATCH_SIZE or ZMQ_ASIO_OUT_BATCH_SIZE (one at a time, the other as it is)?
Method:   the count is found for the default as in pairs.py (or BENCH_MSG_COUNT gives it). In each round the default and
          every setting run once, each round beginning one further on. A figure is the median, over the rounds, of a
          setting's throughput divided by the default's in the same round.
It lies if something else keeps the processors busy. The last column is how far the default's own runs lie apart: smaller
differences mean nothing.

Variables: BENCH_WARMUP_COUNT BENCH_MSG_COUNT BENCH_HWM. Progress goes to standard error.
"""

import argparse
import itertools
import os
import statistics
import sys

import pairs
import runner
import tables

VARIABLES = {"IN": "ZMQ_ASIO_IN_BATCH_SIZE", "OUT": "ZMQ_ASIO_OUT_BATCH_SIZE"}
PREFIX = "ZMQ_ASIO_"
BATCHES = [1024 << step for step in range(9)]  # 1K to 256K
DEFAULT = ("", 0)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=runner.list_of(list(VARIABLES)), default=list(VARIABLES))
    parser.add_argument("--batches", type=runner.numbers, default=BATCHES, help="octets (1024 to 262144, doubling)")
    parser.add_argument("--patterns", type=runner.list_of(runner.PATTERNS), default=runner.PATTERNS)
    parser.add_argument("--transports", type=runner.list_of(runner.TRANSPORTS), default=["tcp", "ipc"])
    parser.add_argument("--sizes", type=runner.numbers, default=[64, 1024, 8192, 65536])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="time one run shall need (%(default)s)")
    parser.add_argument("--pinned", action="store_true", help="all threads of a run on one processor")
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--reuse-build", action="store_true",
                        help="do not build bench_zmq and the library, not even if one is missing")
    parser.add_argument("--output", help="write the table to this file")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds: at least 1")
    args.one_thread = False
    return args


def settings_of(args):
    """The default, and (variable, octets) for every other run of a round."""
    return [DEFAULT] + [(VARIABLES[name], batch) for name in args.variables for batch in args.batches]


def rounds(cell, zlink, settings, wanted):
    """{setting: [messages a second of each round]}"""
    found = {setting: [] for setting in settings}
    for turn in range(wanted):
        start = turn % len(settings)
        for setting in settings[start:] + settings[:start]:
            name, octets = setting
            found[setting].append(cell.run(zlink, **({name: octets} if name else {})))
    return found


def relative(found):
    """{setting: median of its quotients with the default of the same round}"""
    return {setting: statistics.median(value / base for value, base in zip(values, found[DEFAULT]))
            for setting, values in found.items() if setting != DEFAULT}


def spread(values):
    """How far values lie apart, in percent of their median."""
    return 100 * (max(values) - min(values)) / statistics.median(values)


def line_of(where, found, variable, batches):
    """One row of a variable's table."""
    quotients = relative(found)
    return [where[0], where[1], str(where[2]), tables.plain(statistics.median(found[DEFAULT]) / 1e6),
            *("%.2f" % quotients[variable, batch] for batch in batches), "%.0f %%" % spread(found[DEFAULT])]


def document(args, machine, measured):
    """The whole text: a table for each variable. `measured` is [(where, {setting: values})]."""
    text = ["Throughput relative to the default; median of %d rounds. The default is in million messages a second. %s."
            % (args.rounds, tables.machine_line(machine))]
    head = ["pattern", "transport", "octets", "default", *map(tables.short_size, args.batches), "spread"]
    for name in args.variables:
        text += ["### " + VARIABLES[name],
                 tables.markdown(head, [line_of(where, found, VARIABLES[name], args.batches)
                                        for where, found in measured])]
    return "\n\n".join(text) + "\n"


def forget_settings():
    """Sizes that are set already would become the default that is compared with."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        print("%s=%s is not used in a sweep" % (name, os.environ.pop(name)), file=sys.stderr)


def sweep(args):
    runner.build(args.build_dir, args.reuse_build)
    zlink = runner.Library("zlink", os.path.join(args.build_dir, "lib"))
    hwm = runner.list_from("BENCH_HWM", [1000])[0]
    settings = settings_of(args)
    wanted = list(itertools.product(args.patterns, args.transports, args.sizes))
    runs = len(wanted) * len(settings) * args.rounds
    print("%d cells, %d runs, about %.0f minutes" % (len(wanted), runs, runs * 1.5 * args.seconds / 60), file=sys.stderr)
    measured, failures = [], []
    for number, where in enumerate(wanted, 1):
        cell = pairs.Cell(args, hwm, *where, "throughput")
        try:
            cell.calibrate([zlink])
            measured.append((where, rounds(cell, zlink, settings, args.rounds)))
        except runner.Failure as failure:
            failures.append(str(failure))
        print("[%d/%d] %s %s %d" % (number, len(wanted), *where), file=sys.stderr, flush=True)
    text = document(args, pairs.about(pinned=args.pinned), measured)
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)
    print(text, end="")
    for failure in failures:
        print("FAILED " + failure, file=sys.stderr)
    return 1 if failures else 0


def main(argv):
    args = parse(argv)
    forget_settings()
    try:
        return sweep(args)
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
