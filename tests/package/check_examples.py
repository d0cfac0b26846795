#!/usr/bin/python3
"""Does what the examples say of themselves: builds them by the commands that stand in them, and runs them. Git ignores what they leave.

Usage: check_examples.py SOURCE_DIRECTORY DIRECTORY_OF_LIBRARY [WITHOUT_TLS]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from left_behind import left_behind, remember  # noqa: E402

PATIENCE = 60


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False, timeout=PATIENCE, **more)
    if done.returncode != 0:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(said, wanted, who):
    if said != wanted:
        sys.exit(f"{who} says {said!r} instead of {wanted!r}")


def check_hello(place):
    source = place / "examples/hello.c"
    text = source.read_text(encoding="utf-8")
    # Its port may be somebody's on this machine.
    source.write_text(text.replace("tcp://127.0.0.1:5555", "ipc://hello.socket"), encoding="utf-8")
    for command in re.findall(r"\bcc .*", text):
        if "libzmq.a" not in command or (place / "build/release/lib/libzmq.a").exists():
            run("sh", "-ec", command, cwd=place)
            expect(run("./hello", cwd=place), "hello\n", command)


def check_steering(sources, place):
    program = (place / "examples/steering.c").read_text(encoding="utf-8")
    page = pathlib.Path(sources, "docs/steering.md").read_text(encoding="utf-8")
    for listing in re.findall(r"```c\n(.*?)```", page, re.DOTALL):
        if listing not in program:
            sys.exit(f"docs/steering.md shows what examples/steering.c does not do:\n{listing}")
    run("sh", "-ec", re.findall(r"\bcc .*", program)[0], cwd=place)
    expect(run("./steering", cwd=place), "0 lost\n", "steering.c")


class Server:
    """The server of examples/tls, at a port that is free."""

    def __init__(self, place, requests):
        self.process = subprocess.Popen(["./server", "tls://127.0.0.1:*", str(requests)], cwd=place, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=dict(os.environ, ZLINK_LOG="warn"))
        line = self.process.stdout.readline()
        said = re.fullmatch(r"listening at tls://127\.0\.0\.1:(\d+)\n", line)
        if not said:
            sys.exit(f"the server says {line!r} {self.process.communicate()[1]}")
        self.endpoint = f"tls://localhost:{said[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def wait(self):
        said, faults = self.process.communicate(timeout=PATIENCE)
        if self.process.returncode != 0:
            sys.exit(f"the server fails: {faults}")
        return said


def check_tls(place):
    page = (place / "examples/tls/README.md").read_text(encoding="utf-8")
    certificates, programs, _ = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    run("sh", "-ec", certificates, cwd=place)
    place = place / "build/tls"
    run("sh", "-ec", programs, cwd=place)
    with Server(place, 1) as server:
        expect(run("./client", server.endpoint, "good day", cwd=place), "good day, CN=alice\n", "the client")
        expect(server.wait(), "good day, CN=alice\n", "the server")
    check_stranger(place, certificates)


def check_stranger(place, certificates):
    """A client with another authority has no answer, and both sides know why."""
    stranger = place / "stranger"
    stranger.mkdir()
    run("sh", "-ec", certificates, cwd=stranger)
    stranger /= "build/tls"
    with Server(place, 1) as server:
        client = subprocess.Popen([place / "client", server.endpoint], cwd=stranger, text=True, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, env=dict(os.environ, ZLINK_LOG="warn"))
        words = client.stderr.readline()
        client.kill()
        client.communicate()
        if not words.startswith(f"zlink: warn: REQ {server.endpoint}: "):
            sys.exit(f"a client that does not trust the server is told {words!r}")
        words = server.process.stderr.readline()
        if not words.startswith("zlink: warn: REP tls://127.0.0.1:"):
            sys.exit(f"a server whom a client does not trust is told {words!r}")


def main(sources, libraries, without_tls=""):
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        run("cp", "-r", pathlib.Path(sources, "examples"), place)
        for name, real in (("include", pathlib.Path(sources, "include")), ("build/release/lib", pathlib.Path(libraries))):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).symlink_to(real.resolve())
        remember(place, pathlib.Path(sources))
        check_hello(place)
        check_steering(sources, place)
        if not without_tls:
            check_tls(place)
        if left := left_behind(place):
            sys.exit(f"git add -A would take {left}")


if __name__ == "__main__":
    main(*sys.argv[1:])
