"""A stranger names four of a hundred peers: the slow one, the one that comes and goes, the silent one and the one that is kept out.
The server is a program on zlink, the peers are libzmq's; what the stranger knows is what zlink tells."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import COMMAND, LIMIT, run

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/guide/which-peer"
HOST = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.2"  # other tests may use the guide's port


@pytest.fixture
def where(start, tmp_path):
    """The address of the server's numbers, once it has lost something to the slow one, and the other three have done what they do."""
    for path in EXAMPLE.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8").replace("127.0.0.1", HOST), encoding="utf-8")
    numbers = f"unix:{tmp_path}/numbers"
    server = start("run", "--metrics", numbers, "--", sys.executable, "server.py", cwd=tmp_path)
    while not (tmp_path / "keys.json").exists() or not (tmp_path / "keys.json").read_text(encoding="utf-8").endswith("}"):
        assert server.process.poll() is None, server.process.communicate()
    with subprocess.Popen([sys.executable, "clients.py"], cwd=tmp_path) as clients:
        told = {}
        while told.get("peers") != 99 or not all(told.get(each, 0) > 0 for each in ("messages_dropped_hwm", "disconnects_peer", "handshakes_failed_auth")):
            assert clients.poll() is None
            told = next((each for each in json.loads(run("stats", numbers, "-f", "json"))["sockets"] if each["type"] == "ROUTER"), {})
        yield numbers
        clients.kill()


def test_a_stranger_names_four_of_a_hundred_peers(where, tmp_path):
    environment = dict(os.environ, PATH=f"{os.path.dirname(COMMAND)}:{os.environ['PATH']}")
    done = subprocess.run([sys.executable, tmp_path / "who.py", where], env=environment, capture_output=True, timeout=LIMIT, check=True)
    assert sorted(done.stdout.decode().splitlines()) == ["comes and goes: client-42", "kept out: 127.1.0.88 auth", "silent: client-63", "slow: client-17"]
    said = run("top", where, "--once", "--sort", "silent").decode()
    assert re.search(r"^GONE .*\nclient-42 127\.1\.0\.42 +left: peer +\d+ +\ds ", said, re.M)
    assert re.search(r"^127\.1\.0\.88 +kept out: auth +\d+ +\d+s ", said, re.M)
    assert re.search(r"^PEER .*\nclient-63 ", said, re.M)
    assert re.search(r"^PEER .*\nclient-17 ", run("top", where, "--once").decode(), re.M)
    assert re.search(r"^ROUTER .* words +the authentication handler does not accept the peer: 400$", run("stats", where, "--peers").decode(), re.M)
