#!/usr/bin/env python3
"""Runs bench_peers on libzmq and zlink in turn, and on the system's own sockets where that can be compared.

  run_peers.py [--cells LIST] [--transports LIST] [--pairs N] [--seconds S] [--hwm N] [--io-threads N]
               [--build-dir PATH] [--output FILE] [--list]

Method: not pinned. The count of messages grows until the fastest contestant needs about the seconds asked for (PACED:
as many as are due in them, and BURST, too). Rounds of runs alternate, and so does who goes first. A ratio is the median over the
rounds, and above 1 where zlink is the better one: a quotient of rates, or the inverse one of times and octets. `raw`
is a socket without a library (for inproc the wake of one thread by another through an eventfd), and its column
zlink/raw is made the same way.
Prints a markdown table; --output writes every run as JSON.
It lies if something else keeps the processors busy: look at the spread.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

import runner

FIRST_COUNT = {"throughput": 20_000, "latency": 2_000}
GREATEST_GROWTH = 50
CLOSE_ENOUGH = 0.7
MOST_MESSAGES = 100_000_000
MOST_BYTES = 4 << 30
BURSTS_A_SECOND = 10_000

WITH_RAW = ("LOCK_STEP", "HANDSHAKE_CURVE", "PING", "STREAM")
SMALL = (64, 256, 1024, 8192)
LARGE = (65536, 131072, 262144)
PINGS = ["PING_ONE_THREAD", "PING_TWO_THREADS", "PING_TWO_PROCESSES", "PING_TWO_PROCESSES_POLL"]

# cell, transport, size, measure
CELLS = (
    [("FAN_OUT:100", "tcp", 64, "throughput")]
    + [("FAN_IN:100", transport, 64, "throughput") for transport in ("tcp", "ipc")]
    + [("LOCK_STEP:%d" % peers, "tcp", 64, "throughput") for peers in (100, 1000)]
    + [("TOPICS:10000", transport, 64, "throughput") for transport in ("tcp", "inproc")]
    + [("%s:%d" % (cell, topics), transport, 64, "throughput")
       for cell in ("MATCH", "MISS") for topics in (10_000, 1_000_000) for transport in ("tcp", "inproc")]
    + [("%s:%d" % (cell, topics), transport, 16, "memory")
       for cell, transport in (("TOPIC_MEMORY", "tcp"), ("TOPIC_MEMORY_ALONE", "none"))
       for topics in (10_000, 1_000_000)]
    + [("IDLE:10000", "tcp", 64, "memory")]
    + [("%s:16" % cell, "tcp", 64, "throughput") for cell in ("HANDSHAKE", "HANDSHAKE_CURVE")]
    + [(cell, transport, 64, "latency") for cell in PINGS for transport in runner.TRANSPORTS
       if transport != "inproc" or "PROCESSES" not in cell]
    + [("POLL_AMONG:%d" % sockets, transport, 64, "latency") for sockets in (100, 450)
       for transport in ("tcp", "ipc")]
    + [("WORK:%d" % ns, transport, 64, "throughput") for ns in (400, 1000, 2000, 10_000) for transport in ("tcp", "ipc")]
    + [("PACED:%d" % ns, transport, 64, "latency") for ns in (1000, 2000, 5000, 20_000) for transport in ("tcp", "ipc")]
    + [("BURST:%d" % together, transport, 64, "latency") for together in (1, 5, 10, 20) for transport in ("tcp", "ipc")]
    + [("STREAM", transport, size, "throughput") for transport in ("tcp", "ipc") for size in SMALL]
    + [(cell, transport, size, "throughput") for transport in runner.TRANSPORTS for size in LARGE
       for cell in ("STREAM", "STREAM_MSG", "STREAM_DATA")]
    + [("STREAM_DATA", transport, size, "throughput") for transport in runner.TRANSPORTS for size in (16, 64, 512)]
)


def words(text):
    return text.replace(",", " ").split()


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=words, default=[], help="names or beginnings of names, in capitals")
    parser.add_argument("--transports", type=words, default=[])
    parser.add_argument("--sizes", type=lambda text: [int(word) for word in words(text)], default=[])
    parser.add_argument("--pairs", type=int, default=5, help="rounds of runs (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="time the fastest shall need for one run (1)")
    parser.add_argument("--hwm", type=int, default=None, help="high-water mark (the libraries' own)")
    parser.add_argument("--io-threads", type=int, default=1)
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--output", help="write every run as JSON")
    parser.add_argument("--list", action="store_true", help="print the cells and do nothing")
    return parser.parse_args(argv)


def chosen(args):
    return [cell for cell in CELLS
            if (not args.cells or any(cell[0].startswith(word) for word in args.cells))
            and (not args.transports or cell[1] in args.transports)
            and (not args.sizes or cell[2] in args.sizes)]


def has_raw(cell, transport):
    """STREAM over inproc has no counterpart; that of a copying cell stands for those that move bodies, too."""
    if not cell.startswith(WITH_RAW):
        return False
    return transport != "inproc" or cell.startswith("PING_TWO_THREADS")


def command_of(args, name, cell, transport, size):
    program = [os.path.join(args.build_dir, "bench", "bench_peers"), name]
    if name != "raw":
        return program + [cell, transport, str(size)]
    if transport == "inproc":
        return program + ["WAKE", "eventfd", str(size), "--raw"]
    return program + ["STREAM" if cell.startswith("STREAM") else cell, transport, str(size), "--raw"]


class Cell:
    """One cell, its contestants, and what was measured."""

    def __init__(self, args, contestants, cell, transport, size, measure):
        self.args = args
        self.where = (cell, transport, size)
        self.measure = measure
        self.names = ["libzmq", "zlink"] + (["raw"] if has_raw(cell, transport) else [])
        self.libraries = contestants
        self.count = FIRST_COUNT.get(measure)
        self.rounds = []

    def run(self, name):
        """One run of one contestant: {measure: value}."""
        library = self.libraries[name]
        env = dict(os.environ, LD_LIBRARY_PATH=library.directory, BENCH_IO_THREADS=str(self.args.io_threads))
        if self.args.hwm is not None:
            env["BENCH_HWM"] = str(self.args.hwm)
        if self.count is not None:
            env["BENCH_MSG_COUNT"] = str(self.count)
        command = command_of(self.args, name, *self.where)
        told = " ".join(command[1:])
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=runner.LONGEST_RUN_S)
        except subprocess.TimeoutExpired:
            raise runner.Failure("%s: no end after %d s" % (told, runner.LONGEST_RUN_S))
        except OSError as error:
            raise runner.Failure(str(error))
        if done.returncode != 0:
            raise runner.Failure("%s: exit %d %s" % (told, done.returncode, done.stderr.strip()))
        values = {}
        for line in done.stdout.splitlines():
            fields = line.split(",")
            if fields[0] == "LIBRARY" and os.path.realpath(fields[2]) != os.path.realpath(library.file):
                raise runner.Failure("%s: loaded %s instead of %s" % (told, fields[2], library.file))
            if fields[0] == "RESULT":
                values[fields[5]] = float(fields[6])
        if self.measure not in values:
            raise runner.Failure("%s: no %s in what it printed" % (told, self.measure))
        return values

    def seconds_of(self, value):
        return self.count / value if self.measure == "throughput" else self.count * 2 * value / 1e6

    def calibrate(self):
        """Finds the count; only the contestant that was fastest in the first trial is asked again."""
        if self.count is None:
            return
        if self.where[0].startswith("PACED"):
            self.count = int(self.args.seconds * 1e9 / int(self.where[0].split(":")[1]))
            return
        if self.where[0].startswith("BURST"):
            self.count = int(self.args.seconds * BURSTS_A_SECOND * int(self.where[0].split(":")[1]))
            return
        if self.where[0].startswith("STREAM"):
            self.count = max(1000, min(self.count, (1 << 30) // self.where[2]))
        limit = min(MOST_MESSAGES, MOST_BYTES // self.where[2] if self.args.hwm == 0 else MOST_MESSAGES)
        values = {name: self.run(name)[self.measure] for name in self.names}
        fastest = min(values, key=lambda name: self.seconds_of(values[name]))
        value = values[fastest]
        while self.count < limit:
            needed = self.seconds_of(value)
            if needed >= CLOSE_ENOUGH * self.args.seconds:
                break
            growth = min(GREATEST_GROWTH, self.args.seconds / needed)
            self.count = min(limit, int(self.count * growth) + 1)
            value = self.run(fastest)[self.measure]

    def measure_rounds(self):
        self.calibrate()
        for number in range(self.args.pairs):
            order = self.names if number % 2 == 0 else self.names[::-1]
            self.rounds.append({name: self.run(name) for name in order})

    def found(self):
        """A row for each measure that was printed."""
        rows = []
        for measure in self.rounds[0]["zlink"]:
            columns = {name: [each[name].get(measure, each[name].get(self.measure)) for each in self.rounds]
                       for name in self.names}
            row = {"cell": self.where[0], "transport": self.where[1], "size": self.where[2], "measure": measure,
                   "count": self.count, "runs": columns}
            row.update({name: statistics.median(values) for name, values in columns.items()})
            for baseline in self.names:
                if baseline != "zlink":
                    ratios = [better(measure, *pair) for pair in zip(columns[baseline], columns["zlink"])]
                    row["to_" + baseline] = [statistics.median(ratios), min(ratios), max(ratios)]
            rows.append(row)
        return rows


def better(measure, baseline, zlink):
    """How many times better zlink is. Memory that did not grow at all counts as one octet."""
    if measure == "throughput":
        return zlink / baseline
    return max(baseline, 1.0) / max(zlink, 1.0) if measure.startswith("memory") else baseline / zlink


def shown(measure, value):
    if value is None:
        return ""
    if measure == "throughput":
        return "%.4g M/s" % (value / 1e6) if value >= 1e6 else "%.4g k/s" % (value / 1e3)
    return "%.3g µs" % value if measure.startswith(("latency", "processor")) else "%.0f octets" % value


def line_of(row):
    ratios = ["%.2f (%.2f to %.2f)" % tuple(row["to_" + name]) if "to_" + name in row else ""
              for name in ("libzmq", "raw")]
    values = [shown(row["measure"], row.get(name)) for name in ("libzmq", "zlink", "raw")]
    return "| %s |" % " | ".join([row["cell"], row["transport"], str(row["size"]), row["measure"], *values, *ratios])


def machine():
    commit = subprocess.run(["git", "-C", runner.HERE, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {"processors": os.cpu_count(), "kernel": platform.release(), "commit": commit.stdout.strip(),
            "load": os.getloadavg()}


def write(args, rows, failures):
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            json.dump({"machine": machine(), "cells": rows, "failures": failures}, file, indent=1)


def main(argv):
    args = parse(argv)
    cells = chosen(args)
    if args.list or not cells:
        print("\n".join("%s %s %d %s" % cell for cell in cells) or "no such cell", flush=True)
        return 0 if cells else 2
    try:
        libzmq, zlink = runner.libraries(args.build_dir)
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 2
    program = command_of(args, "", *cells[0][:3])[0]
    if not os.access(program, os.X_OK):
        print("there is no %s: cmake --preset release -DBUILD_BENCHMARKS=ON && "
              "cmake --build build/release --target bench_peers libzmq" % program, file=sys.stderr)
        return 2
    print("libzmq is %s\nzlink  is %s\n" % (os.path.realpath(libzmq.file), os.path.realpath(zlink.file)))
    print("| cell | transport | octets | measure | libzmq | zlink | raw | ratio | zlink/raw |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    rows, failures = [], []
    for where in cells:
        cell = Cell(args, {"libzmq": libzmq, "zlink": zlink, "raw": zlink}, *where)
        try:
            cell.measure_rounds()
        except runner.Failure as failure:
            failures.append(str(failure))
            continue
        rows += cell.found()
        for row in rows[-len(cell.rounds[0]["zlink"]):]:
            print(line_of(row), flush=True)
        write(args, rows, failures)
    for failure in failures:
        print("FAILED %s" % failure, flush=True)
    write(args, rows, failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
