"""Where the two libraries are, and the proof that a process has mapped the right one."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchwithzmq"))

import runner

SONAME = runner.SONAME


def distribution_library_dir():
    """The directory of the distribution's libzmq; ends the program when there is none."""
    try:
        return runner.distribution_library_dir()
    except runner.Failure as failure:
        raise SystemExit(str(failure))


def require_from(path, directory):
    """Stops everything if a process has mapped another file than the one in the directory."""
    if os.path.realpath(path) != os.path.realpath(os.path.join(directory, SONAME)):
        raise SystemExit("a process mapped %s instead of the library in %s" % (path, directory))
