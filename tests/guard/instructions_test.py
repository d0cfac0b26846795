"""Counts the instructions that a message costs in user space, and compares them with the recorded figures.

  instructions_test.py PROGRAM [--renew]

PROGRAM is instructions_program, which valgrind's callgrind runs with few messages and with many: the difference is what the
messages cost, on all threads, with the loop around them. --renew writes what was measured into instruction_limits.txt.
"""

import argparse
import os
import platform
import re
import sys

import tools

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instruction_limits.txt")
MACHINE = "x86_64"  # what the table was made on: another processor has other instructions
MARGIN = 1.15
FEW = 2000
MANY = 12000
# When other programs keep the processors, more is done by other threads: the least of a few measurements counts.
TRIES = 4

HEADER = """\
# Instructions for one message of 64 octets: a zmq_send and its zmq_recv in one thread, and the I/O thread.
# The limit is 15 % above. To renew: tests/guard/instructions_test.py build/release/bin/instructions_program --renew
#
# pattern          transport  in a row  instructions
"""


def read_table():
    with open(TABLE, encoding="ascii") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [(pattern, transport, int(in_a_row), float(count)) for pattern, transport, in_a_row, count in rows]


def write_table(rows):
    with open(TABLE, "w", encoding="ascii") as file:
        file.write(HEADER)
        for row in rows:
            file.write("%-18s %-9s %9d %13.0f\n" % row)


def collected(program, pattern, transport, in_a_row, messages):
    done = tools.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, pattern, transport,
                      str(in_a_row), str(messages)])
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if not found:
        raise SystemExit("callgrind does not say what it counted:\n" + done.stderr[-2000:])
    return int(found.group(1))


def per_message(program, *work):
    return (collected(program, *work, MANY) - collected(program, *work, FEW)) / (MANY - FEW)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--renew", action="store_true")
    arguments = parser.parse_args()
    tools.require_tool("valgrind")
    judges = platform.machine() == MACHINE
    if arguments.renew and not judges:
        raise SystemExit("the table is for %s" % MACHINE)

    guard = tools.Guard()
    measured = []
    for pattern, transport, in_a_row, recorded in read_table():
        limit = recorded * MARGIN if judges and not arguments.renew else float("inf")
        least = float("inf")
        for _ in range(TRIES if judges else 1):
            least = min(least, per_message(arguments.program, pattern, transport, in_a_row))
            if least <= limit and not arguments.renew:
                break
        what = "%s, %s, %d in a row: instructions a message" % (pattern, transport, in_a_row)
        if limit < float("inf"):
            guard.at_most(what, least, limit)
        else:
            print("%-60s %10.1f (recorded: %.0f)" % (what, least, recorded), flush=True)
        measured.append((pattern, transport, in_a_row, least))
    if arguments.renew:
        write_table(measured)
    if not judges:
        print("not judged: the table was made on " + MACHINE)
    return guard.status()


if __name__ == "__main__":
    sys.exit(main())
