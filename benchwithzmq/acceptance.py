"""Decides, cell by cell, whether zlink is as much faster than libzmq as it has to be.

Method: not pinned, one process, a sender thread and a receiver thread, one context with one I/O thread. Counts grow
until the faster library needs about a second. Pairs of runs alternate, and so does who goes first. The ratio of a cell
is the median of the ratios of its pairs; its spread is the smallest and the largest of them.
It lies if something else keeps the processors busy: look at the spread.
"""

import json
import os
import platform
import statistics
import subprocess

import runner

ONE_LIKE_ANY_OTHER = ("PAIR", "PUSH_PULL", "DEALER_DEALER", "PUBSUB")
PARITY = 0.97

FIRST_COUNT = {"throughput": 20_000, "latency": 1_000}
COUNT_VARIABLE = {"throughput": "BENCH_MSG_COUNT", "latency": "BENCH_LAT_COUNT"}
GREATEST_GROWTH = 50
CLOSE_ENOUGH = 0.7
# Without a mark the whole run may stand in the queue, so its size has a limit.
MOST_BYTES = 4 << 30
MOST_MESSAGES = 100_000_000


def required(pattern, size, measure):
    """The ratio that passes."""
    if measure == "latency":
        return PARITY
    if size > 8192:
        return 1.2
    if size <= 256 and pattern in ONE_LIKE_ANY_OTHER:
        return 5.0
    return 3.0


def seconds_of(measure, value, count):
    return count / value if measure == "throughput" else count * 2 * value / 1e6


class Cell:
    """One cell of the matrix under one high-water mark."""

    def __init__(self, args, pattern, transport, size, measure, hwm):
        self.args = args
        self.where = (pattern, transport, size)
        self.measure = measure
        self.hwm = hwm
        self.runs = []
        self.count = FIRST_COUNT[measure]

    def run(self, library):
        variables = {"BENCH_HWM": self.hwm, "BENCH_IO_THREADS": 1, COUNT_VARIABLE[self.measure]: self.count}
        extra = ["--one-thread"] if self.args.one_thread and self.measure == "latency" else []
        values, _ = runner.run_cell(self.args.build_dir, library, *self.where, self.measure, extra=extra, **variables)
        return values[self.measure]

    def calibrate(self, contestants):
        """Finds the count; only the library that was faster in the first trial is asked again."""
        first = {library: self.run(library) for library in contestants}
        faster = (max if self.measure == "throughput" else min)(first, key=first.get)
        value = first[faster]
        limit = min(MOST_MESSAGES, MOST_BYTES // self.where[2]) if self.measure == "throughput" else MOST_MESSAGES
        while self.count < limit:
            needed = seconds_of(self.measure, value, self.count)
            if needed >= CLOSE_ENOUGH * self.args.seconds:
                break
            growth = min(GREATEST_GROWTH, self.args.seconds / needed)
            self.count = min(limit, int(self.count * growth) + 1)
            value = self.run(faster)

    def measure_pairs(self, libzmq, zlink):
        self.calibrate((libzmq, zlink))
        for pair in range(self.args.pairs):
            order = (libzmq, zlink) if pair % 2 == 0 else (zlink, libzmq)
            values = {library.name: self.run(library) for library in order}
            self.runs.append((values["libzmq"], values["zlink"]))

    def verdict(self):
        ratios = [runner.ratio(self.measure, *pair) for pair in self.runs]
        need = required(self.where[0], self.where[2], self.measure)
        middle = statistics.median(ratios)
        return {
            "pattern": self.where[0], "transport": self.where[1], "size": self.where[2], "measure": self.measure,
            "hwm": self.hwm, "count": self.count,
            "libzmq": statistics.median(pair[0] for pair in self.runs),
            "zlink": statistics.median(pair[1] for pair in self.runs),
            "ratio": middle, "ratio_min": min(ratios), "ratio_max": max(ratios),
            "required": need, "pass": middle >= need, "runs": self.runs,
        }


def line_of(found):
    return "%-18s %-6s %7d %-10s hwm %-5d libzmq %s zlink %s ratio %6.2f (%.2f .. %.2f) need %.2f %s" % (
        found["pattern"], found["transport"], found["size"], found["measure"], found["hwm"],
        runner.shown(found["measure"], found["libzmq"]), runner.shown(found["measure"], found["zlink"]),
        found["ratio"], found["ratio_min"], found["ratio_max"], found["required"],
        "pass" if found["pass"] else "MISS")


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def commit():
    done = subprocess.run(["git", "-C", runner.HERE, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def judge(args):
    """Measures every cell asked for; 0 if all pass, 1 if any misses, 2 if any has no result."""
    libzmq, zlink = runner.libraries(args.build_dir)
    print("libzmq is %s\nzlink  is %s" % (os.path.realpath(libzmq.file), os.path.realpath(zlink.file)), flush=True)
    found, failures = [], []
    for hwm in args.hwm:
        for pattern in args.patterns:
            for transport in args.transports:
                for size in args.sizes:
                    for measure in args.measures:
                        cell = Cell(args, pattern, transport, size, measure, hwm)
                        try:
                            cell.measure_pairs(libzmq, zlink)
                        except runner.Failure as failure:
                            failures.append(str(failure))
                            print("FAILED %s" % failure, flush=True)
                            continue
                        found.append(cell.verdict())
                        print(line_of(found[-1]), flush=True)
                        write(args.output, found, failures)
    missed = [each for each in found if not each["pass"]]
    print("\n%d cells: %d pass, %d miss, %d without a result" % (
        len(found) + len(failures), len(found) - len(missed), len(missed), len(failures)))
    for each in missed:
        print("  " + line_of(each))
    for each in failures:
        print("  " + each)
    return 2 if failures else 1 if missed else 0


def write(path, found, failures):
    if not path:
        return
    about = {"processor": processor(), "processors": os.cpu_count(), "kernel": platform.release(), "commit": commit()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine": about, "cells": found, "failures": failures}, file, indent=1)
