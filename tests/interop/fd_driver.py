"""What makes a socket's descriptor (ZMQ_FD) readable, on both libraries: zlink's has to be wherever libzmq's is.

  fd_driver.py PROGRAM LIBRARY_DIR

PROGRAM is the fd_program. A transport that libzmq is built without is held to what it does over tcp. zlink has long to say what libzmq
has said; and before a case counts as a fault both are asked anew, with more rest between the steps of a case.
"""

import argparse
import os
import subprocess
import sys

import libraries

STAND_IN = {"ws": "tcp"}
TRANSPORTS = ("inproc", "tcp", "ipc", "ws")
QUIET_MS = 300
LATER_MS = 2000
TIME_TO_TELL_MS = 300
PATIENCE_MS = 10000
LONGEST_S = 60
MOST_SHOWN = 20


def run(program, directory, transport, quiet_ms, longest_ms, expected=()):
    """The names of the cases in which the descriptor is readable, and of all."""
    said = subprocess.run([program, transport, str(quiet_ms), str(longest_ms), *sorted(expected)], text=True, check=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=directory), stdout=subprocess.PIPE, timeout=LONGEST_S)
    readable, known = set(), set()
    for line in said.stdout.splitlines():
        name, _, what = line.rpartition(" ")
        if name == "library":
            libraries.require_from(what, directory)
            continue
        known.add(name)
        if what == "readable":
            readable.add(name)
    return readable, known


def faults(program, ours, theirs, transport, quiet_ms):
    """The cases in which libzmq's descriptor is readable and zlink's is not, and how many there are."""
    there, _ = run(program, theirs, STAND_IN.get(transport, transport), quiet_ms, TIME_TO_TELL_MS)
    readable, known = run(program, ours, transport, quiet_ms, PATIENCE_MS, there)
    return there & known - readable, len(known)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("library_dir")
    args = parser.parse_args()
    theirs = libraries.distribution_library_dir()
    worst = 0
    for transport in TRANSPORTS:
        found, count = faults(args.program, args.library_dir, theirs, transport, QUIET_MS)
        if found:
            found &= faults(args.program, args.library_dir, theirs, transport, LATER_MS)[0]
        print("%s: %d cases, %d in which libzmq's descriptor is readable and zlink's is not" % (transport, count, len(found)))
        for name in sorted(found)[:MOST_SHOWN]:
            print("  " + name)
        worst = max(worst, len(found), 0 if count else 1)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
