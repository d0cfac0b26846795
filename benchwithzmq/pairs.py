"""Measures cells of the matrix on both libraries in alternating pairs of runs, and keeps the results as JSON.

Method: one process, a sender thread and a receiver thread, one context with one I/O thread, or one for each of the two. Counts grow until the
faster library needs the time asked for, or the slower one LONGEST_RUN_S, unless BENCH_MSG_COUNT or BENCH_LAT_COUNT
gives them. Pairs of runs alternate, and so does who goes first. The ratio of a cell is the median of the ratios of its
pairs; its spread is the smallest and the largest of them.
It lies if something else keeps the processors busy: look at the spread.
"""

import datetime
import itertools
import json
import os
import platform
import statistics
import subprocess

import neighbours
import runner

COUNT_VARIABLE = {"throughput": "BENCH_MSG_COUNT", "latency": "BENCH_LAT_COUNT"}
FIRST_MESSAGES = 20_000
FIRST_BYTES = 64 << 20
# Twice the usual high-water mark: fewer messages would all fit into the queues.
FEWEST_MESSAGES = 2_000
FIRST_ROUND_TRIPS = 1_000
# From here on a message is a matter of milliseconds, and what one that a queue holds costs is no more to be neglected.
LARGE = runner.LARGE_SIZES[0]
FEWEST_OF_LARGE = 8
# What is sent before the watch starts, where the size is large.
WARMUP_BYTES = 64 << 20
# Unless --sizes names them, large messages are measured for these.
LARGE_PATTERNS = ["PAIR", "PUSH_PULL"]
GREATEST_GROWTH = 50
CLOSE_ENOUGH = 0.7
# What the slower library may need for one run, about.
LONGEST_RUN_S = 2.0
# And how many times what the faster one shall need.
LONGEST_RUN = 10
# Without a mark the whole run may stand in the queue, so its size has a limit.
MOST_BYTES = 4 << 30
MOST_MESSAGES = 100_000_000


def add_options(group, pairs, seconds, transports=tuple(runner.TRANSPORTS)):
    """The options that say which cells are measured and how."""
    group.add_argument("--patterns", type=runner.list_of(runner.PATTERNS + [neighbours.ROW]), default=None)
    group.add_argument("--transports", type=runner.list_of(transports), default=None)
    group.add_argument("--sizes", type=runner.numbers, default=None)
    group.add_argument("--measures", type=runner.list_of(runner.MEASURES), default=runner.MEASURES)
    group.add_argument("--hwm", type=runner.numbers, default=None, help="high-water marks to try (or BENCH_HWM)")
    group.add_argument("--contexts", type=runner.numbers, default=None,
                       help="1: one for both ends, 2: one for each, or both; not over inproc (1)")
    group.add_argument("--bodies", type=runner.list_of(runner.BODIES), default=["copied"],
                       help="zmq_send, or messages: allocated by the library and filled, or lent (copied)")
    group.add_argument("--pairs", type=int, default=pairs, help="pairs of runs of each cell (%(default)s)")
    group.add_argument("--seconds", type=float, default=seconds,
                       help="time the faster library shall need for one run (%(default)s)")
    group.add_argument("--one-thread", action="store_true", help="latency with both ends in one thread")
    group.add_argument("--limit", type=float, default=runner.LONGEST_RUN_S,
                       help="seconds after which a run is given up (%(default)s)")
    group.add_argument("--pinned", action="store_true", help="all threads of a run on one processor")


def fill_in(args, hwm, large_sizes=(), contexts=(1,), transports=tuple(runner.TRANSPORTS)):
    """What the options leave open is taken from the BENCH_* variables, or is the whole matrix."""
    args.large_patterns = args.patterns or (runner.PATTERNS if args.sizes else LARGE_PATTERNS)
    args.contexts = args.contexts or list(contexts)
    args.patterns = args.patterns or runner.PATTERNS + [neighbours.ROW]
    args.transports = args.transports or runner.list_from("BENCH_TRANSPORTS", list(transports))
    args.sizes = args.sizes or runner.list_from("BENCH_MSG_SIZES", runner.SIZES + list(large_sizes))
    args.hwm = args.hwm or runner.list_from("BENCH_HWM", hwm)


# What tells one cell from another.
FIELDS = ("hwm", "pattern", "transport", "size", "measure", "contexts", "bodies")


def cells(args):
    """The FIELDS of each cell asked for."""
    def is_there(cell):
        _, pattern, transport, size, _, contexts, bodies = cell
        if pattern == neighbours.ROW:
            return size in neighbours.SIZES and contexts == min(args.contexts) and bodies == args.bodies[0]
        return not (transport == "inproc" and contexts == 2) and (size < LARGE or pattern in args.large_patterns)
    return list(filter(is_there, itertools.product(args.hwm, args.patterns, args.transports, args.sizes, args.measures,
                                                   args.contexts, args.bodies)))


def first_count(measure, size):
    if size >= LARGE:
        return max(FEWEST_OF_LARGE, 4 * FIRST_BYTES // size)
    if measure == "latency":
        return FIRST_ROUND_TRIPS
    return max(FEWEST_MESSAGES, min(FIRST_MESSAGES, FIRST_BYTES // size))


def warmup_of(size):
    """BENCH_WARMUP_COUNT of a size; None is the program's own."""
    if size < LARGE or "BENCH_WARMUP_COUNT" in os.environ:
        return None
    return max(2, WARMUP_BYTES // size)


def seconds_of(measure, value, count):
    return count / value if measure == "throughput" else count * 2 * value / 1e6


def longest_run(args):
    """Seconds that the slowest contestant may need, about."""
    return min(LONGEST_RUN_S, LONGEST_RUN * args.seconds)


class Cell:
    """One cell of the matrix under one high-water mark."""

    def __init__(self, args, hwm, pattern, transport, size, measure, contexts=1, bodies="copied"):
        self.args = args
        self.row = pattern
        pattern, self.neighbours = neighbours.parts(pattern)
        self.where = (pattern, transport, size)
        self.measure = measure
        self.hwm = hwm
        self.count = first_count(measure, size)
        self.contexts = contexts
        self.bodies = bodies
        self.extra = ["--one-thread"] if args.one_thread and measure == "latency" else []
        self.extra += ["--contexts=%d" % contexts] if contexts != 1 else []
        self.extra += ["--bodies=" + bodies] if bodies != "copied" else []
        self.prefix = runner.pinned() if args.pinned else ()

    def run(self, library, **more):
        """One run's value; `more` are further environment variables."""
        variables = {"BENCH_HWM": self.hwm, "BENCH_IO_THREADS": 1,
                     "BENCH_WARMUP_COUNT": warmup_of(self.where[2]), **more, COUNT_VARIABLE[self.measure]: self.count}
        values, _ = runner.run_cell(self.args.build_dir, library, *self.where, self.measure, prefix=self.prefix,
                                    extra=self.extra, limit=getattr(self.args, "limit", runner.LONGEST_RUN_S), **variables)
        return values[self.measure]

    def calibrate(self, contestants):
        """Finds the count; only the library that was faster in the first trial is asked again."""
        given = os.environ.get(COUNT_VARIABLE[self.measure])
        if given:
            self.count = int(given)
            return
        first = {library: self.run(library) for library in contestants}
        taken = {library: seconds_of(self.measure, value, self.count) for library, value in first.items()}
        faster = min(taken, key=taken.get)
        value = first[faster]
        limit = min(MOST_MESSAGES, int(self.count * longest_run(self.args) / max(taken.values())))
        if self.measure == "throughput":
            limit = min(limit, MOST_BYTES // self.where[2])
        while self.count < limit:
            needed = seconds_of(self.measure, value, self.count)
            if needed >= CLOSE_ENOUGH * self.args.seconds:
                break
            growth = min(GREATEST_GROWTH, self.args.seconds / needed)
            self.count = min(limit, int(self.count * growth) + 1)
            value = self.run(faster)

    def measured(self, libzmq, zlink):
        """Runs all pairs: the medians, the ratio and its spread, and every run."""
        runs = []
        with neighbours.busy(self.neighbours):
            self.calibrate((libzmq, zlink))
            for pair in range(self.args.pairs):
                order = (libzmq, zlink) if pair % 2 == 0 else (zlink, libzmq)
                values = {library: self.run(library) for library in order}
                runs.append((values[libzmq], values[zlink]))
        _, transport, size = self.where
        return dict(pattern=self.row, transport=transport, size=size, measure=self.measure, hwm=self.hwm,
                    contexts=self.contexts, bodies=self.bodies, count=self.count, **summary(self.measure, runs), runs=runs)


def summary(measure, runs):
    """Medians of pairs of values: those of libzmq, those of zlink, and those of the pairs' ratios with their spread."""
    ratios = [runner.ratio(measure, *pair) for pair in runs]
    return {
        "libzmq": statistics.median(pair[0] for pair in runs),
        "zlink": statistics.median(pair[1] for pair in runs),
        "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
    }


def is_lost(found):
    return found["ratio"] < runner.PARITY


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def commit():
    """The commit of the sources, with -dirty behind it if they were changed since."""
    try:
        done = subprocess.run(["git", "-C", runner.HERE, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=10"],
                              capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def about(**more):
    """When, on what machine and of what the results are."""
    return {"date": datetime.date.today().isoformat(), "processor": processor(), "processors": os.cpu_count(),
            "kernel": platform.release(), "commit": commit(), **more}


def about_pairs(args, libzmq):
    return about(libzmq=libzmq.version, pairs=args.pairs, pinned=args.pinned)


def write(path, machine, found, failures, besides=()):
    """Replaces the file at once, so that a reader or an interruption never meets half of it."""
    if not path:
        return
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"machine": machine, "cells": found, "beside": besides, "failures": failures}, file, indent=1)
    os.replace(path + ".new", path)


def read(path):
    """What write() wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    except (OSError, ValueError) as error:
        raise runner.Failure("%s: no results: %s" % (path, error))
    if not results.get("cells") and not results.get("beside"):
        raise runner.Failure("%s: no cell has a result" % path)
    return results
