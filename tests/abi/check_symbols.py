"""Compares what a shared library exports, and its soname, with the lists of what it shall export.

Usage: check_symbols.py LIBRARY LIST...
"""

import subprocess
import sys

SONAME = "libzmq.so.5"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """The defined dynamic names, with a version behind an @ where there is one."""
    return {line.split()[-1] for line in output_of("nm", "-D", "--defined-only", library).splitlines()}


def main():
    library, lists = sys.argv[1], sys.argv[2:]
    expected = set()
    for path in lists:
        with open(path, encoding="ascii") as file:
            expected.update(file.read().split())
    found = exported(library)
    faults = [f"missing: {name}" for name in sorted(expected - found)]
    # The sanitizers' runtimes add names of their own.
    faults += [f"not wanted: {name}" for name in sorted(found - expected) if not name.startswith("__")]
    if f"[{SONAME}]" not in output_of("readelf", "-d", library):
        faults.append(f"the soname is not {SONAME}")
    print("\n".join(faults) or f"{len(found)} names, as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
