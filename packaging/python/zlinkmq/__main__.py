"""python -m zlinkmq run | doctor | library | command | include"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from . import _doctor, _program
from ._library import __version__, get_command, get_include, get_library, preload, set_rules

REFUSED = 5


def run(command: list[str], policy: str | None, log: str | None) -> int:
    """Becomes that program, on zlink. Returns only where it cannot."""
    environment = dict(os.environ)
    preload(environment)
    set_rules(environment, policy, log)
    try:
        found = shutil.which(command[0]) or command[0]
        why = _program.obstacle(found)
        if why and "ZLINK_POLICY" in environment:
            print(f"zlinkmq: {found} would obey no policy: {why}", file=sys.stderr)
            return REFUSED
        if why:
            print(f"zlinkmq: {found} will not run on zlink: {why}", file=sys.stderr)
        os.execve(found, command, environment)  # the very file that was looked at
    except OSError as error:
        print(f"zlinkmq: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m zlinkmq", description="zlink in place of libzmq")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="run a program on zlink", usage="python -m zlinkmq run [--policy FILE] [--log LEVEL] -- PROGRAM ...",
                             epilog="Under a policy a program that would not load zlink is refused with 5; without one a warning is written.")
    runs.add_argument("--policy", metavar="FILE", help="rules what the sockets of the program may bind and connect to (ZLINK_POLICY)")
    runs.add_argument("--log", metavar="LEVEL", help="what it writes to stderr (ZLINK_LOG): warn, info")
    runs.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...")
    commands.add_parser("doctor", help="tell which libzmq this interpreter uses, and why; 0 if it is zlink").add_argument(
        "pid", nargs="?", type=int, help="of a process that runs already")
    commands.add_parser("library", help="print the path of the library")
    commands.add_parser("command", help="print the path of the command zlink")
    commands.add_parser("include", help="print the folder of zmq.h")
    asked = parser.parse_args(arguments)
    if asked.command == "run":
        program = asked.program[1:] if asked.program[:1] == ["--"] else asked.program
        if not program:
            runs.error("no program is named")
        return run(program, asked.policy, asked.log)
    if asked.command == "doctor":
        return _doctor.of_process(asked.pid) if asked.pid else _doctor.of_interpreter()
    print({"library": get_library, "command": get_command, "include": get_include}[asked.command]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
