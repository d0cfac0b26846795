"""Where the two libraries are, and the proof that a process has mapped the right one."""

import os
import re
import subprocess

SONAME = "libzmq.so.5"


def distribution_library_dir():
    """The directory of the distribution's libzmq, as the linker's cache knows it."""
    chosen = os.environ.get("BENCH_LIBZMQ_LIB_DIR")
    if chosen:
        return os.path.abspath(chosen)
    for tool in ("ldconfig", "/sbin/ldconfig"):
        try:
            cache = subprocess.run([tool, "-p"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        found = re.search(r"^\s*" + re.escape(SONAME) + r" .*=> (\S+)$", cache, re.MULTILINE)
        if found:
            return os.path.dirname(os.path.abspath(found.group(1)))
    raise SystemExit("no %s of the distribution found" % SONAME)


def require_from(path, directory):
    """Stops everything if a process has mapped another file than the one in the directory."""
    if os.path.realpath(path) != os.path.realpath(os.path.join(directory, SONAME)):
        raise SystemExit("a process mapped %s instead of the library in %s" % (path, directory))
