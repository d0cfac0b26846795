"""The end of each subcommand that goes on until somebody ends it."""

import fcntl
import os
import pty
import signal
import subprocess
import termios

import pytest
import zmq
from conftest import LIMIT


ENDLESS = {
    "pull": lambda start, at: start("pull", f"@ipc://{at}/s", "-v").bound(),
    "sub": lambda start, at: start("sub", f"@ipc://{at}/s", "-v").bound(),
    "rep": lambda start, at: start("rep", f"@ipc://{at}/s", "-v", "--echo").bound(),
    "pub": lambda start, at: start("pub", f"@ipc://{at}/s", "-v", "-m", "x").bound(),
    "proxy": lambda start, at: start("proxy", f"@ipc://{at}/s", f"@ipc://{at}/t", "-v").bound(),
    "dump": lambda start, at: start("dump", "--relay", f"ipc://{at}/s", f"ipc://{at}/t").bound(),
    "bench --bind": lambda start, at: start("bench", "--bind", f"ipc://{at}/s").bound(),
}


@pytest.fixture
def last():
    """Starts a command, and keeps it."""
    kept = []

    def wrap(start):
        def begin(*arguments, **more):
            started = start(*arguments, preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGHUP, signal.SIGQUIT)], **more)
            kept.append(started)
            return started

        return begin

    wrap.started = kept
    return wrap


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM])
@pytest.mark.parametrize("name", ENDLESS)
def test_each_ends_in_good_order(start, last, tmp_path, name, number):
    ENDLESS[name](last(start), tmp_path)
    last.started[0].process.send_signal(number)
    last.started[0].end(status=130)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM])
def test_top_and_a_benchmark_end_in_good_order(start, last, tmp_path, number):
    pull = start("pull", f"@ipc://{tmp_path}/s", "-v", env=dict(os.environ, ZLINK_METRICS=f"unix:{tmp_path}/numbers"))
    pull.bound()
    top = last(start)("top", f"unix:{tmp_path}/numbers", "--json", "-d", "50ms")
    assert top.line()
    top.process.send_signal(number)
    top.end(status=130)
    bench = last(start)("bench", "--json", "-p", "push-pull", "-s", "64", "-d", "1h", "--runs", "5")
    while not subprocess.run(["pgrep", "-P", str(bench.process.pid)], capture_output=True, check=False).stdout:
        pass
    bench.process.send_signal(number)
    bench.end(status=130)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_is_ignored_stays_so(start, peer, number):
    push = peer(zmq.PUSH)
    pull = start("pull", ">" + push.bind(), preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    push.socket.send(b"before")
    assert pull.line() == b"before\n"
    pull.process.send_signal(number)
    push.socket.send(b"behind")
    assert pull.line() == b"behind\n"
    pull.process.send_signal(signal.SIGTERM)
    pull.end(status=130)


@pytest.mark.parametrize("owns", [True, False])
def test_a_terminal_that_is_closed_ends_it(start, peer, owns):
    push = peer(zmq.PUSH)
    master, slave = pty.openpty()

    def take_terminal():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.setsid()
        if owns:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    pull = start("pull", ">" + push.bind(), stdout=slave, preexec_fn=take_terminal)
    os.close(slave)
    push.socket.send(b"shown")
    assert os.read(master, 100).strip() == b"shown"
    os.close(master)
    if not owns:
        push.socket.send(b"to nobody")
    assert pull.process.communicate(timeout=LIMIT)[1] == b""
    assert pull.process.returncode == 130
