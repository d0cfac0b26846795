"""What every program of the ecosystem needs: a place of its own, commands that are logged, and the proof of which library ran.

Everything lies below build/ecosystem, a folder for each program. A program that is not to be had raises Unavailable with the reason,
one that did not do what it should raises Failed.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
INTEROP = os.path.join(ROOT, "tests", "interop")
DISTRIBUTION_PYTHON = "/usr/bin/python3"
PATIENCE_S = 900
ENDED_BY_US = -signal.SIGKILL  # the status of a command that has taken too long
MAPPED = re.compile(r"calling init: (\S*/libzmq[^/\s]*\.so\S*)")

sys.path.insert(0, INTEROP)
import libraries  # noqa: E402

SONAME = libraries.SONAME


class Unavailable(Exception):
    """The program cannot be had on this machine; the text says why."""


class Failed(Exception):
    """The program ran, and not as it should; the text says what was seen."""


class Library:
    """One of the two: its name in the table, its directory, its file and that file's checksum."""

    def __init__(self, name, directory):
        self.name = name
        self.directory = os.path.abspath(directory)
        self.file = os.path.join(self.directory, SONAME)
        if not os.path.exists(self.file):
            raise SystemExit("no %s: build the library first" % self.file)
        with open(self.file, "rb") as octets:
            self.checksum = hashlib.sha256(octets.read()).hexdigest()[:16]

    @property
    def is_zlink(self):
        return self.name == "zlink"


@dataclass
class Program:
    """A row of the table.

    get(place) fetches and builds, once, and answers the version. run(place, library) runs it, and says in a few words what went well.
    brings_its_own: it has a libzmq inside, which is what "on libzmq" then means; zlink comes before it by LD_PRELOAD.
    """

    name: str
    title: str
    what: str
    get: Callable
    run: Callable
    brings_its_own: bool = False


class Place:
    """The folder of one program, and the commands that run for it."""

    def __init__(self, below, program, zlink):
        self.program = program
        self.zlink = zlink
        self.directory = os.path.join(below, program.name)
        self.log = None
        os.makedirs(self.directory, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def got(self):
        """The version of what was fetched, fetching it if that has not been done."""
        stamp = self.path("version")
        if not os.path.exists(stamp):
            self.log = self.path("get.log")
            version = self.program.get(self)
            with open(stamp, "w", encoding="utf-8") as out:
                out.write(version)
        with open(stamp, encoding="utf-8") as text:
            return text.read()

    def run_on(self, library):
        self.log = self.path("on-%s.log" % library.name)
        if os.path.exists(self.log):
            os.remove(self.log)
        return self.program.run(self, library)

    def command(self, argv, library=None, patience_s=PATIENCE_S, cwd=None, check=True, **variables):
        """Runs a command, with a library if one is given, and answers its exit status and output. Its output goes to the log, too."""
        environment = dict(os.environ, **variables)
        mapped = self.path("mapped")
        if library:
            shutil.rmtree(mapped, ignore_errors=True)
            os.makedirs(mapped)
            environment.update(LD_DEBUG="libs", LD_DEBUG_OUTPUT=os.path.join(mapped, "process"))
            environment.update(self._switch(library))
        status, output = self._logged(argv, cwd or self.directory, environment, patience_s)
        if library:
            self._require(mapped, library)
        if check and status != 0:
            last = (output.strip().splitlines() or [""])[-1].strip()
            raise Failed("%s: exit %d: %s" % (os.path.basename(argv[0]), status, last[:160]))
        return status, output

    def _logged(self, argv, cwd, environment, patience_s):
        """Runs a command that writes to the log, and answers its exit status and what it wrote."""
        with open(self.log, "a+", encoding="utf-8", errors="replace") as log:
            log.write("$ %s\n" % " ".join(argv))
            log.flush()
            begun_at, begun = log.tell(), time.monotonic()
            try:
                child = subprocess.Popen(argv, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                         start_new_session=True)
            except FileNotFoundError as missing:
                raise Unavailable("no `%s` here" % missing.filename) from missing
            try:
                status = child.wait(patience_s)
            except subprocess.TimeoutExpired:
                status = ENDED_BY_US
            finally:
                end_group(child)
            log.seek(begun_at)
            output = log.read()
            log.write("exit %d after %.0f s\n" % (status, time.monotonic() - begun))
        return status, output

    def output(self, argv, library=None, **more):
        return self.command(argv, library, **more)[1]

    def _switch(self, library):
        if not self.program.brings_its_own:
            return {"LD_LIBRARY_PATH": library.directory}
        return {"LD_PRELOAD": library.file} if library.is_zlink else {}

    def _require(self, mapped, library):
        """Fails unless the processes have mapped the library, and no other but the one that the program brings."""
        found = set()
        for name in os.listdir(mapped):
            with open(os.path.join(mapped, name), encoding="utf-8", errors="replace") as lines:
                found.update(os.path.realpath(path) for path in MAPPED.findall(lines.read()))
        own = {path for path in found if path.startswith(os.path.realpath(self.directory) + os.sep)}
        wanted = os.path.realpath(library.file)
        if self.program.brings_its_own:
            good = own and found - own == ({wanted} if library.is_zlink else set())
        else:
            good = found == {wanted}
        if not good:
            raise Failed("mapped %s" % (" and ".join(sorted(found)) or "no libzmq at all"))


def end_group(child):
    """Ends what a command has left running, and the command, too."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def require_tools(*names):
    for name in names:
        if not shutil.which(name):
            raise Unavailable("no `%s` here" % name)
