"""Random histories of calls on both libraries, one process each, and whether every call returned the same.

  history_driver.py PROGRAM LIBRARY_DIR [--inproc N] [--network N] [--first SEED] [--shrink] [--self-test]

PROGRAM is the history_program. N is the number of seeds. A history that ends libzmq (it aborts at some) is left out.

Quiet:  threads of the library's own are given so long to do their part. Where the two differ, libzmq gets longer, and over the network
        zlink as well: only what differs after the longest is a difference. Over inproc zlink has nothing to wait for.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile

import libraries

QUIET_US = {"inproc": 1000, "ipc": 4000, "tcp": 4000}
LONGER = (5, 25)
STEPS = 60
LONGEST_S = 240
MOST_SHOWN = 5


class Library:
    """Runs histories on one of the two."""

    def __init__(self, program, directory):
        self.program = program
        self.directory = directory

    def start(self, transport, place, quiet_us, first, count, skipped=()):
        command = [self.program, transport, place, str(quiet_us), str(first), str(count), ",".join(map(str, skipped))]
        return subprocess.Popen(command, env=dict(os.environ, LD_LIBRARY_PATH=self.directory), text=True,
                                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process):
        """The transcripts by seed, and the seed it ended at before its time, or None."""
        try:
            said, complaint = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            said, complaint = process.communicate()
        whole = {}
        seed, lines = None, []
        for line in said.splitlines():
            word, _, rest = line.partition(" ")
            if word == "library":
                libraries.require_from(rest, self.directory)
            elif word == "history":
                seed, lines = int(rest), []
            elif word == "end":
                whole[seed] = lines
                seed = None
            else:
                lines.append(line)
        if process.returncode == 0:
            return whole, None
        if seed is None and not whole:
            raise SystemExit("%s on the library in %s: %s" % (self.program, self.directory, complaint))
        if seed is None:  # at the end of its context
            seed = max(whole)
            del whole[seed]
        return whole, seed

    def run(self, *where, skipped=()):
        return self.finish(self.start(*where, skipped=skipped))

    def run_one(self, transport, place, quiet_us, seed, skipped=()):
        """The transcript, or None if it ended before its time."""
        return self.run(transport, place, quiet_us, seed, 1, skipped=skipped)[0].get(seed)


def run_all(library, process, transport, place, quiet_us, first, count):
    """The transcripts of all seeds, without those that end the library."""
    whole, fatal = library.finish(process)
    while fatal is not None:
        rest = first + count - fatal - 1
        if rest == 0:
            break
        more, fatal = library.run(transport, place, quiet_us, fatal + 1, rest)
        whole.update(more)
    return whole


def differ(ours, theirs, transport, place, quiet_us, seed, skipped=()):
    """The two transcripts where they are not the same, or None."""
    mine, other = ours.run_one(transport, place, quiet_us, seed, skipped), None
    if mine is not None:
        other = theirs.run_one(transport, place, quiet_us, seed, skipped)
    return (mine, other) if other is not None and mine != other else None


def looked_at_again(ours, theirs, transport, place, seed, mine):
    for factor in LONGER:
        quiet_us = factor * QUIET_US[transport]
        if transport != "inproc":
            mine = ours.run_one(transport, place, quiet_us, seed)
        other = theirs.run_one(transport, place, quiet_us, seed)
        if other is None or mine == other:
            return None
    return mine, other


def shrink(ours, theirs, transport, place, seed):
    """Leaves out the steps that the difference does not need."""
    quiet_us = 2 * QUIET_US[transport]
    skipped = set()
    size = STEPS // 4
    while size >= 1:
        for end in range(STEPS, 0, -size):
            some = set(range(max(0, end - size), end)) - skipped
            if some and differ(ours, theirs, transport, place, quiet_us, seed, sorted(skipped | some)):
                skipped |= some
        size //= 2
    return differ(ours, theirs, transport, place, quiet_us, seed, sorted(skipped))


def show(transport, seed, found):
    mine, other = found
    print("%s, seed %d" % (transport, seed))
    for i in range(max(len(mine), len(other))):
        ours = mine[i] if i < len(mine) else "-"
        theirs = other[i] if i < len(other) else "-"
        print("  " + (ours if ours == theirs else "%s   | libzmq: %s" % (ours, theirs)))


def compare(ours, theirs, transport, place, first, count, shrinks):
    """How many histories differ."""
    where = (transport, place, QUIET_US[transport], first, count)
    other_place = place + "-" if transport == "ipc" else str(int(place) + 10) if transport == "tcp" else place
    there = (transport, other_place) + where[2:]
    if transport == "ipc":
        os.makedirs(other_place, exist_ok=True)
    both = [(ours, ours.start(*where), where), (theirs, theirs.start(*there), there)]
    mine, other = (run_all(library, process, *at) for library, process, at in both)
    if len(mine) != count:
        raise SystemExit("zlink ended at a history over %s" % transport)
    faults = 0
    for seed in sorted(other):
        if mine[seed] == other[seed]:
            continue
        found = looked_at_again(ours, theirs, transport, place, seed, mine[seed])
        if found:
            faults += 1
            if faults <= MOST_SHOWN:
                show(transport, seed, shrinks and shrink(ours, theirs, transport, place, seed) or found)
    print("%s: %d histories, %d differ, %d end libzmq" % (transport, count, faults, count - len(other)))
    return faults


def self_test(ours):
    """1 if it goes unnoticed that some calls are not made."""
    whole = ours.run_one("inproc", "-", 1000, 1)
    return int(whole is None or whole == ours.run_one("inproc", "-", 1000, 1, skipped=range(20, 40)))


def free_ports():
    """The first of some that are likely to be free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(min(probe.getsockname()[1], 60000))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("library_dir")
    parser.add_argument("--inproc", type=int, default=300)
    parser.add_argument("--network", type=int, default=12)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    ours = Library(args.program, args.library_dir)
    if args.self_test:
        return self_test(ours)
    theirs = Library(args.program, libraries.distribution_library_dir())
    with tempfile.TemporaryDirectory(prefix="history-") as directory:
        places = {"inproc": ("-", args.inproc), "ipc": (directory + "/s", args.network),
                  "tcp": (free_ports(), args.network)}
        os.makedirs(places["ipc"][0])
        return int(sum(compare(ours, theirs, transport, place, args.first, count, args.shrink)
                       for transport, (place, count) in places.items() if count > 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
