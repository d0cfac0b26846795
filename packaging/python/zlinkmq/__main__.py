"""python -m zlinkmq run | doctor | library | include"""

from __future__ import annotations

import argparse
import os
import sys

from . import _doctor
from ._library import __version__, get_include, get_library, preload, set_rules


def run(command: list[str], policy: str | None, log: str | None) -> int:
    """Becomes that program, on zlink. Returns only where it cannot."""
    environment = dict(os.environ)
    preload(environment)
    set_rules(environment, policy, log)
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"zlinkmq: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m zlinkmq", description="zlink in place of libzmq")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="run a program on zlink", usage="python -m zlinkmq run [--policy FILE] [--log LEVEL] -- PROGRAM ...")
    runs.add_argument("--policy", metavar="FILE", help="rules what the sockets of the program may bind and connect to (ZLINK_POLICY)")
    runs.add_argument("--log", metavar="LEVEL", help="what it writes to stderr (ZLINK_LOG): warn, info")
    runs.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...")
    commands.add_parser("doctor", help="tell which libzmq this interpreter uses, and why; 0 if it is zlink").add_argument(
        "pid", nargs="?", type=int, help="of a process that runs already")
    commands.add_parser("library", help="print the path of the library")
    commands.add_parser("include", help="print the folder of zmq.h")
    asked = parser.parse_args(arguments)
    if asked.command == "run":
        program = asked.program[1:] if asked.program[:1] == ["--"] else asked.program
        if not program:
            runs.error("no program is named")
        return run(program, asked.policy, asked.log)
    if asked.command == "doctor":
        return _doctor.of_process(asked.pid) if asked.pid else _doctor.of_interpreter()
    print(get_library() if asked.command == "library" else get_include())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
