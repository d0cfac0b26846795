"""The command as a process, and pyzmq on the distribution's libzmq at the other end."""

import os
import re
import subprocess

import pytest
import zmq

COMMAND = os.environ["ZLINK_COMMAND"]
LIMIT = int(os.environ.get("ZLINK_TEST_LIMIT", "60"))  # seconds that nothing takes; it ends a test that hangs


class Started:
    """A command that runs. Its stderr tells what happens to its connections."""

    def __init__(self, arguments, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more}
        self.process = subprocess.Popen([COMMAND, *arguments], stderr=subprocess.PIPE, **more)

    def until(self, pattern):
        """Reads stderr until a line matches."""
        seen = b""
        for line in self.process.stderr:
            seen += line
            if found := re.search(pattern, line.decode()):
                return found
        raise AssertionError(f"no line of stderr matches {pattern}: {seen!r}")

    def bound(self):
        return self.until(r"bound to (\S+)").group(1)

    def line(self):
        return self.process.stdout.readline()

    def end(self, status=0):
        out, err = self.process.communicate(timeout=LIMIT)
        assert self.process.returncode == status, err.decode()
        return out


def run(*arguments, status=0, octets=b"", **more):
    """Runs the command to its end; what it has written on stdout."""
    done = subprocess.run([COMMAND, *arguments], input=octets, capture_output=True, timeout=LIMIT, check=False, **more)
    assert done.returncode == status, (arguments, done.returncode, done.stderr.decode())
    run.err = done.stderr.decode()
    return done.stdout


@pytest.fixture
def start():
    running = []

    def begin(*arguments, **more):
        running.append(Started(arguments, **more))
        return running[-1]

    yield begin
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait()
        for stream in (each.process.stdin, each.process.stdout, each.process.stderr):
            if stream:
                stream.close()


class Peer:
    """A socket of pyzmq, bound to a port that was free."""

    def __init__(self, context, kind):
        self.socket = context.socket(kind)
        self.socket.linger = 0
        self.socket.rcvtimeo = self.socket.sndtimeo = LIMIT * 1000

    def bind(self, address="tcp://127.0.0.1:*"):
        self.socket.bind(address)
        return self.socket.last_endpoint.decode()


@pytest.fixture
def peer():
    context = zmq.Context()
    peers = []

    def make(kind):
        peers.append(Peer(context, kind))
        return peers[-1]

    yield make
    for each in peers:
        each.socket.close()
    context.term()


@pytest.fixture
def free_port():
    """An endpoint where nobody listens."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        yield "tcp://127.0.0.1:%d" % taken.getsockname()[1]
