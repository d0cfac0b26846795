"""Counts the instructions that a message of many parts costs, and of four times as many: each part costs the same.

  parts_test.py PROGRAM

PROGRAM is parts_program, which valgrind's callgrind runs.
"""

import argparse
import re
import sys

import tools

FEW = 4000
MANY = 16000
# Four, but for what other threads do where other programs keep the processors.
MOST = 6


def collected(program, parts):
    done = tools.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(parts)])
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if not found:
        raise SystemExit("callgrind does not say what it counted:\n" + done.stderr[-2000:])
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    arguments = parser.parse_args()
    tools.require_tool("valgrind")
    guard = tools.Guard()
    none = collected(arguments.program, 1)
    few = collected(arguments.program, FEW) - none
    many = collected(arguments.program, MANY) - none
    print("instructions: %d for %d parts, %d for %d" % (few, FEW, many, MANY), flush=True)
    guard.at_most("instructions of four times as many parts", many / few, MOST)
    return guard.status()


if __name__ == "__main__":
    sys.exit(main())
