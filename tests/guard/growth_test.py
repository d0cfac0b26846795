"""Counts the instructions of what peers do to a socket, some times and many times: one of many must not cost more than one of some.

  growth_test.py PROGRAM [CASE ...]

PROGRAM is growth_program. What depends on the number of things (a set that is gone through for each of them) costs several times
as much when there are eight times as many.
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import tools

SOME = 250
MANY = 8 * SOME
MARGIN = 1.5  # caches of processors are not counted; tables that grow in steps are


def collected(program, case, count):
    done = tools.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, case, str(count)])
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if not found:
        raise SystemExit("callgrind does not say what it counted:\n" + done.stderr[-2000:])
    return int(found.group(1))


def each(program, case, count):
    """Of the second half of so many."""
    return (collected(program, case, count) - collected(program, case, count // 2)) / (count - count // 2)


def main():
    tools.require_tool("valgrind")
    program, cases = sys.argv[1], sys.argv[2:]
    cases = cases or tools.run([program]).stdout.split()
    guard = tools.Guard()
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # valgrind keeps one processor busy, however many threads a program has
        many, some = ([pool.submit(each, program, case, count) for case in cases] for count in (MANY, SOME))
        for case, of_many, of_some in zip(cases, many, some):
            guard.at_most("%s: instructions each" % case, of_many.result(), MARGIN * of_some.result())
    return guard.status()


if __name__ == "__main__":
    sys.exit(main())
