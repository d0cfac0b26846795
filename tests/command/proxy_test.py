"""zlink proxy, between sockets of libzmq, and contexts."""

import os
import signal
import time

import pytest
import zmq
from conftest import LIMIT, run


def started(start, *flags):
    proxy = start("proxy", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "-v", *flags)
    return proxy, (proxy.bound(), proxy.bound())


def test_a_queue_passes_requests_and_replies(peer, start):
    proxy, (frontend, backend) = started(start)
    req, rep = peer(zmq.REQ), peer(zmq.REP)
    req.socket.connect(frontend)
    rep.socket.connect(backend)
    req.socket.send(b"ping")
    rep.socket.send(rep.socket.recv() + b" pong")
    assert req.socket.recv() == b"ping pong"
    proxy.process.send_signal(signal.SIGINT)
    proxy.end(status=130)


def test_a_forwarder_passes_what_is_subscribed(peer, start):
    _, (frontend, backend) = started(start, "--kind", "forwarder")
    pub, sub = peer(zmq.XPUB), peer(zmq.SUB)
    pub.socket.connect(frontend)
    sub.socket.subscribe(b"a")
    sub.socket.connect(backend)
    assert pub.socket.recv() == b"\1a"
    pub.socket.send(b"a news")
    assert sub.socket.recv() == b"a news"


def test_a_streamer_is_steered_and_captured(peer, start):
    proxy = start("proxy", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "-v", "--kind", "streamer", "--control", "tcp://127.0.0.1:*")
    control, frontend, backend = (proxy.bound() for _ in range(3))
    push, pull, req = peer(zmq.PUSH), peer(zmq.PULL), peer(zmq.REQ)
    push.socket.connect(frontend)
    pull.socket.connect(backend)
    req.socket.connect(control)
    push.socket.send(b"x")
    assert pull.socket.recv() == b"x"
    for order, answer in ((b"PAUSE", b"OK"), (b"RESUME", b"OK"), (b"what", b"PAUSE, RESUME, STATISTICS or TERMINATE")):
        req.socket.send(order)
        assert req.socket.recv() == answer
    req.socket.send(b"STATISTICS")
    assert b"frontend in 1" in req.socket.recv()
    req.socket.send(b"TERMINATE")
    assert req.socket.recv() == b"OK"
    proxy.end()


def test_what_passes_is_published_where_asked_for(peer, start):
    proxy = start("proxy", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "-v", "--kind", "streamer", "--capture", "tcp://127.0.0.1:*")
    frontend, backend, capture = (proxy.bound() for _ in range(3))
    pull, push = peer(zmq.PULL), peer(zmq.PUSH)
    pull.socket.connect(backend)
    push.socket.connect(frontend)
    sub = start("sub", capture, "-n", "1")
    ends = time.monotonic() + LIMIT
    while sub.process.poll() is None and time.monotonic() < ends:  # what passes before it has subscribed it does not see
        push.socket.send(b"seen")
        assert pull.socket.recv() == b"seen"
    assert sub.end() == b"seen\n"


@pytest.mark.parametrize("ends", ["TERMINATE", "SIGTERM"])
def test_what_it_has_taken_goes_out_after_its_end(peer, start, ends):
    small = ("-o", "sndbuf=30000", "-o", "rcvbuf=30000")
    proxy = start("proxy", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "-v", "--kind", "streamer", "--control", "tcp://127.0.0.1:*", *small)
    control, frontend, backend = (proxy.bound() for _ in range(3))
    push, pull, req = peer(zmq.PUSH), peer(zmq.PULL), peer(zmq.REQ)
    pull.socket.rcvhwm, pull.socket.rcvbuf = 1, 30000
    for each, endpoint in ((push, frontend), (pull, backend), (req, control)):
        each.socket.connect(endpoint)
    for number in range(20):
        push.socket.send(b"%50000d" % number)
    said = b""
    while b"backend out 20," not in said:
        req.socket.send(b"STATISTICS")
        said = req.socket.recv()
    if ends == "TERMINATE":
        req.socket.send(b"TERMINATE")
        assert req.socket.recv() == b"OK"
    else:
        proxy.process.send_signal(signal.SIGTERM)
    pull.socket.rcvtimeo = 10000
    assert [int(pull.socket.recv()) for _ in range(20)] == list(range(20))
    proxy.end(status=0 if ends == "TERMINATE" else 130)


def test_a_proxy_needs_both_sides():
    run("proxy", "tcp://127.0.0.1:*", status=2)
    run("proxy", "tcp://127.0.0.1:*", "nonsense", status=2)


@pytest.fixture
def in_context(tmp_path):
    (tmp_path / "zlink").mkdir()

    def write(text):
        (tmp_path / "zlink/feed.toml").write_text(text)
        return dict(os.environ, XDG_CONFIG_HOME=str(tmp_path))

    return write


def test_a_context_gives_what_the_command_line_does_not(peer, in_context):
    pull = peer(zmq.PULL)
    environment = in_context(f'endpoint = "{pull.bind()}"\noption = ["sndhwm=7"]\n')
    run("push", "--context", "feed", "-m", "x", env=environment)
    assert pull.socket.recv() == b"x"
    run("push", "-m", "y", env=dict(environment, ZLINK_CONTEXT="feed"))
    assert pull.socket.recv() == b"y"
    other = peer(zmq.PULL)
    run("push", other.bind(), "--context", "feed", "-m", "z", env=environment)
    assert other.socket.recv() == b"z"


def test_a_context_that_cannot_be_understood_is_a_fault_of_usage(in_context):
    run("push", "--context", "feed", "-m", "x", status=2, env=in_context("nothing = 1\n"))
    run("push", "--context", "none", "-m", "x", status=2, env=in_context(""))
    run("push", "--context", "../x", "-m", "x", status=2, env=in_context(""))
    run("push", "--context", "", "tcp://127.0.0.1:1", "-m", "x", "-W", "1", status=2)


@pytest.mark.parametrize("name", ["cert", "key", "ca", "curve-server-key", "curve-cert", "username", "password"])
def test_what_is_to_protect_and_is_empty_in_a_context_is_refused(peer, in_context, name):
    run("push", peer(zmq.PULL).bind(), "--context", "feed", "-m", "in clear", status=2, env=in_context(f'{name} = ""\n'))
    assert f"{name} is empty" in run.err
