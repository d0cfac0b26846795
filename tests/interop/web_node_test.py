"""ws:// against the WebSocket of Node, with the client of examples/web. ZLINK_LIBRARY_DIR says where the library is.

ZLINK_NODE_WEBSOCKET may name a module whose WebSocket is used instead of Node's own.
"""

import os
import pathlib
import shutil
import subprocess
import threading

import pytest

from bare_socket import HEARTBEAT_IVL, HEARTBEAT_TIMEOUT, PATIENCE, REP, ROUTER, SNDHWM, XPUB

COUNT = 10_000
QUESTIONS = 100
EDGES = (0, 1, 123, 124, 125, 126, 127, 254, 255, 256, 65533, 65534, 65535, 65536, 70_000)
OCTETS = bytes(i % 251 for i in range(70_000 + 251))
PROGRAM = pathlib.Path(__file__).with_name("web_client.mjs")


def node_with_websocket():
    """The command, or None where Node is not there or has no WebSocket."""
    node = shutil.which("node")
    for command in ([node], [node, "--experimental-websocket"]) if node else ():
        done = subprocess.run([*command, "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 1)"], capture_output=True, check=False)
        if done.returncode == 0:
            return command
    return None


def body_of(number):
    size = EDGES[number // 97 % len(EDGES)] if number % 97 == 0 else number * 7919 % 1500
    return OCTETS[number % 251 : number % 251 + size]


def publish(xpub):
    assert xpub.receive_frames() == [b"\x01feed"]
    for number in range(COUNT):
        xpub.send(b"feed", b"%d" % number, body_of(number))


def publish_again(xpub):
    """The socket that takes the place of the first one is subscribed to without being asked."""
    assert xpub.receive_frames() == [b"\x01feed"]
    xpub.send(b"feed", b"again")
    assert xpub.receive_frames() == [b"\x00feed"]


def answer(router):
    for _ in range(COUNT):
        frames = router.receive_frames()
        assert frames[0] == b"node"
        router.send(*frames)


def reply(rep):
    for number in range(QUESTIONS):
        assert rep.receive_frames() == [b"question", b"%d" % number]
        rep.send(b"answer", b"%d" % number)


def test_the_client_of_javascript_hears_and_asks(context):
    command = node_with_websocket()
    if command is None:
        pytest.skip("no node with a WebSocket")
    module = os.environ.get("ZLINK_NODE_WEBSOCKET")
    feed, echo, rep = context(XPUB), context(ROUTER), context(REP)
    for each in (feed, echo, rep):
        each.set(SNDHWM, 0)
        each.set(HEARTBEAT_IVL, 20)
        each.set(HEARTBEAT_TIMEOUT, PATIENCE * 1000)
    endpoints = [each.bind("ws://127.0.0.1:*/" + name) for each, name in ((feed, "feed"), (echo, "echo"), (rep, "reply"))]
    faults = []

    def run(job, socket):
        try:
            job(socket)
        except BaseException as fault:  # told to the test, whatever it is
            faults.append(fault)

    serving = [threading.Thread(target=run, args=each) for each in ((answer, echo), (reply, rep))]
    command += [PROGRAM, *endpoints, str(COUNT), *filter(None, [module])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
        for each in serving:
            each.start()
        try:
            publish(feed)
            feed.close_lingering()
            again = context(XPUB)
            again.bind(endpoints[0])
            publish_again(again)
            again.close_lingering()
            said, complaints = node.communicate(timeout=PATIENCE)
        finally:
            node.kill()
            for each in serving:
                each.join()
    assert (node.returncode, said, faults) == (0, "in order\n", []), complaints
