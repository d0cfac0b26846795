#!/usr/bin/env python3
"""Shows zlink at work, in about a minute and without a question.

First programs written for libzmq, the distribution's pyzmq as it is, move the machine's package lists line by line:
pushers and a puller, a publisher and its subscribers, in processes of their own over tcp and ipc and in threads over
inproc, on libzmq and on zlink in turn. Both ends compare what went through. Then the C benchmark compares the speed of
the two. Exit status 0 if nothing was lost and nothing differed.

  run.py [--build-dir PATH] [--lines N]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "benchwithzmq"))

import runner  # noqa: E402  (the benchmark's own runner, found through the path above)
import stream  # noqa: E402

DISTRIBUTION_PYTHON = "/usr/bin/python3"
LONGEST_S = 120
PAIRS = 3
# pattern, transport, size, measure, messages or round trips
HEADLINES = [
    ("PUSH_PULL", "tcp", 64, "throughput", 1_500_000),
    ("PUSH_PULL", "ipc", 64, "throughput", 1_500_000),
    ("PUSH_PULL", "inproc", 64, "throughput", 2_500_000),
    ("PUBSUB", "tcp", 64, "throughput", 1_500_000),
    ("DEALER_ROUTER", "tcp", 64, "throughput", 1_000_000),
    ("PAIR", "tcp", 1024, "throughput", 200_000),
    ("PAIR", "tcp", 65536, "throughput", 20_000),
    ("PAIR", "tcp", 64, "latency", 3_000),
]
COUNT_VARIABLE = {"throughput": "BENCH_MSG_COUNT", "latency": "BENCH_LAT_COUNT"}


class Fault(Exception):
    """Something was lost, differed, or ran on the wrong library."""


def start(library, role, path, endpoint, peers):
    env = dict(os.environ, LD_LIBRARY_PATH=library.directory, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.Popen([DISTRIBUTION_PYTHON, os.path.join(HERE, "worker.py"), role, path, endpoint, str(peers)],
                            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def result_of(process, library):
    """The digest a worker prints, once it is clear which library it ran on. Ends its standard input."""
    out, err = process.communicate()
    if process.returncode != 0:
        raise Fault("a worker ended with %d: %s" % (process.returncode, err.strip().splitlines()[-1:]))
    said = json.loads(out.splitlines()[-1])
    if os.path.realpath(said["library"]) != os.path.realpath(library.file):
        raise Fault("a worker mapped %s instead of %s" % (said["library"], library.file))
    return said["result"]


def converse(library, binder, connectors):
    """One binding worker and its peers, all on one library: the binder's result, and the list of the others'."""
    role, path, endpoint, peers = binder
    processes = [start(library, role, path, endpoint, peers)]
    watchdog = threading.Timer(LONGEST_S, lambda: [each.kill() for each in processes])
    watchdog.start()
    try:
        first = processes[0].stdout.readline()
        if not first:
            result_of(processes[0], library)
        name = json.loads(first)["endpoint"]
        processes += [start(library, peer_role, path, name, 0) for peer_role, path in connectors]
        results = {}
        # A sender stays until its standard input ends, so the receivers come first.
        for process in processes if role == "pull" else reversed(processes):
            results[process] = result_of(process, library)
        return results[processes[0]], [results[process] for process in processes[1:]]
    finally:
        watchdog.cancel()
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def same(sent, received, keys, what):
    for key in keys:
        if sent[key] != received[key]:
            raise Fault("%s: %s sent is %s, received %s" % (what, key, sent[key], received[key]))


def pipeline(library, files, endpoint):
    """Two pushers with half the lines each, one puller: lines a second."""
    pulled, pushed = converse(library, ("pull", files["all"], endpoint, 2),
                              [("push", files["first half"]), ("push", files["second half"])])
    total = {key: sum(each[key] for each in pushed) for key in ("count", "bytes", "unordered")}
    same(total, pulled, total, "push/pull")
    return pulled["count"] / pulled["seconds"]


def news(library, files, endpoint):
    """One publisher, two subscribers that must both get everything in order: deliveries a second."""
    published, heard = converse(library, ("publish", files["all"], endpoint, 2),
                                [("subscribe", files["all"]), ("subscribe", files["all"])])
    for each in heard:
        same(published, each, ("count", "bytes", "unordered", "ordered"), "publish/subscribe")
    return sum(each["count"] for each in heard) / max(each["seconds"] for each in heard)


def threads(library, files):
    """Both patterns between threads of one process: lines a second of each."""
    process = start(library, "threads", files["all"], "inproc://demo", 0)
    watchdog = threading.Timer(LONGEST_S, process.kill)
    watchdog.start()
    try:
        found = result_of(process, library)
    finally:
        watchdog.cancel()
    keys = ("count", "bytes", "unordered", "ordered")
    same(found["push"], found["pull"], keys, "push/pull in threads")
    same(found["publish"], found["subscribe"], keys, "publish/subscribe in threads")
    return [found[role]["count"] / found[role]["seconds"] for role in ("pull", "subscribe")]


class Table:
    """Values of both libraries in rows, printed as they come and once more at the end."""

    def __init__(self):
        self.rows = {}
        self.faults = []

    def put(self, row, measure, library, value):
        self.rows.setdefault((row, measure), {})[library.name] = value
        print("  %-44s %-7s %s" % (row, library.name, runner.shown(measure, value)), flush=True)

    def fault(self, row, library, error):
        self.faults.append("%s on %s: %s" % (row, library.name, error))
        print("  %-44s %-7s FAULT: %s" % (row, library.name, error), flush=True)

    def print(self):
        print("\n%-46s %15s %15s %8s" % ("", "libzmq", "zlink", "ratio"))
        for (row, measure), values in self.rows.items():
            line = "%-46s" % row
            for name in ("libzmq", "zlink"):
                line += " %15s" % (runner.shown(measure, values[name]) if name in values else "-")
            if len(values) == 2:
                line += " %7.2fx" % runner.ratio(measure, values["libzmq"], values["zlink"])
            print(line)
        print("(ratio: how many times faster zlink is)")


def write_files(directory, lines):
    half = len(lines) // 2
    parts = {"all": lines, "first half": lines[:half], "second half": lines[half:]}
    files = {}
    for name, part in parts.items():
        files[name] = os.path.join(directory, name.replace(" ", "-"))
        with open(files[name], "wb") as file:
            file.write(b"\n".join(part))
    return files


def exchange(libraries, table, lines):
    with tempfile.TemporaryDirectory(prefix="zlink-demo-") as directory:
        files = write_files(directory, lines)
        endpoints = {"tcp": "tcp://127.0.0.1:*", "ipc": "ipc://%s/socket" % directory}
        for transport, endpoint in endpoints.items():
            for name, job in (("2 pushers, 1 puller", pipeline), ("1 publisher, 2 subscribers", news)):
                for library in libraries:
                    row = "pyzmq %s, %s" % (name, transport)
                    try:
                        table.put(row, "throughput", library, job(library, files, endpoint))
                    except Fault as fault:
                        table.fault(row, library, fault)
        for library in libraries:
            try:
                for row, value in zip(("push/pull", "publish/subscribe"), threads(library, files)):
                    table.put("pyzmq %s in threads, inproc" % row, "throughput", library, value)
            except Fault as fault:
                table.fault("pyzmq in threads, inproc", library, fault)


def headlines(build_dir, libraries, table):
    for pattern, transport, size, measure, count in HEADLINES:
        row = "C %s, %s, %d B, %s" % (pattern, transport, size, measure)
        values = {library: [] for library in libraries}
        try:
            for _ in range(PAIRS):
                for library in libraries:
                    found, _ = runner.run_cell(build_dir, library, pattern, transport, size, measure,
                                               **{COUNT_VARIABLE[measure]: count})
                    values[library].append(found[measure])
        except runner.Failure as failure:
            table.fault(row, library, failure)
            continue
        for library in libraries:
            table.put(row, measure, library, statistics.median(values[library]))


def build_benchmark(build_dir):
    """The benchmark is not part of an ordinary build."""
    if os.path.exists(os.path.join(build_dir, "bench", "bench_zmq")):
        return
    print("building the benchmark ...", flush=True)
    for command in (["cmake", "-S", ROOT, "-B", build_dir, "-DBUILD_BENCHMARKS=ON"],
                    ["cmake", "--build", build_dir, "--target", "bench_zmq"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=runner.default_build_dir())
    parser.add_argument("--lines", type=int, default=300_000)
    args = parser.parse_args(argv)
    args.build_dir = os.path.abspath(args.build_dir)
    build_benchmark(args.build_dir)
    try:
        both = runner.libraries(args.build_dir)
    except runner.Failure as failure:
        sys.exit(str(failure))
    for library in both:
        print("%-7s %s" % (library.name, os.path.realpath(library.file)))

    lines = stream.lines(args.lines)
    print("\nPrograms written for libzmq, unmodified: %d lines of package lists, %.1f MB" % (
        len(lines), sum(map(len, lines)) / 1e6), flush=True)
    table = Table()
    exchange(both, table, lines)
    print("\nThe C benchmark, median of %d runs each" % PAIRS, flush=True)
    headlines(args.build_dir, both, table)

    table.print()
    if table.faults:
        print("\nNOT IN ORDER, something was lost, differed or failed:")
        for fault in table.faults:
            print("  " + fault)
        return 1
    print("\nNothing was lost and nothing differed: both ends of every exchange agree on both libraries.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
