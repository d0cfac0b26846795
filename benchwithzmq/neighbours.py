"""Busy neighbours: processes that do nothing but burn a processor each, while a cell is measured beside them.

BUSY:4 is PUSH_PULL beside four of them: what containers, machines that build, and laptops have. Neighbours begin before the
first run of a cell and end after the last one, and when whoever began them ends.
"""

import contextlib
import os
import subprocess
import sys

ROW = "BUSY:4"
PATTERN = "PUSH_PULL"
SIZES = (64, 1024, 65536)
# One that nobody ends, because the benchmark was killed, ends by itself: its parent is another one then.
BURN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n for _ in range(1 << 16): pass"


def parts(row):
    """The pattern of a row of the matrix, and how many neighbours its cells have."""
    return (PATTERN, int(row.split(":")[1])) if row == ROW else (row, 0)


@contextlib.contextmanager
def busy(count):
    """So many neighbours, until the block ends."""
    started = []
    try:
        for _ in range(count):
            started.append(subprocess.Popen([sys.executable, "-IS", "-c", BURN, str(os.getpid())]))
        yield started
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()
