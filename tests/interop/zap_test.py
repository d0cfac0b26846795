"""PLAIN and handlers of ZAP with the distribution's pyzmq: what docs/secure.md shows, pyzmq's own authenticators, and libzmq at the other end."""

import os
import subprocess

import pytest

from conftest import blocks_of_the_guide

PYTHON = "/usr/bin/python3"
OURS = os.environ["ZLINK_LIBRARY_DIR"]

CLIENT = """
import sys, zmq
context = zmq.Context()
client = context.socket(zmq.PUSH)
client.plain_username, client.plain_password = b"alice", sys.argv[2].encode()
client.linger = 0
monitor = client.get_monitor_socket()
client.connect(sys.argv[1])
from zmq.utils.monitor import recv_monitor_message
while True:
    event = recv_monitor_message(monitor)["event"]
    if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
        client.linger = -1
        client.send(b"hello")
        break
    if event in (zmq.EVENT_HANDSHAKE_FAILED_AUTH, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL):
        print("refused" if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH else "not understood")
        break
client.disable_monitor()
monitor.close()
client.close()
context.term()
"""

SERVER = """
import sys, zmq
from zmq.auth.thread import ThreadAuthenticator
context = zmq.Context()
judge = ThreadAuthenticator(context)
judge.start()
judge.configure_plain(domain="*", passwords={"alice": "secret"})
server = context.socket(zmq.PULL)
server.plain_server = True
server.bind("tcp://127.0.0.1:*")
print(server.last_endpoint.decode(), flush=True)
message = server.recv(copy=False)
print(message.bytes.decode(), message.get("User-Id"), flush=True)
server.close()
judge.stop()
context.term()
"""


def on(library, *arguments):
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if library == "zlink":
        env["LD_LIBRARY_PATH"] = OURS
    return subprocess.Popen([PYTHON, "-c", *arguments], env=env, stdout=subprocess.PIPE, text=True)


# libzmq's client of PLAIN takes no ERROR but the misspelt one of its server; ours takes both.
@pytest.mark.parametrize(
    "server,client,heard",
    [("zlink", "zlink", "refused"), ("zlink", "libzmq", "not understood"), ("libzmq", "zlink", "refused")])
def test_a_password_lets_in_and_keeps_out(server, client, heard):
    bound = on(server, SERVER)
    endpoint = bound.stdout.readline().strip()
    stranger = on(client, CLIENT, endpoint, "guessed")
    assert stranger.communicate(timeout=60)[0] == heard + "\n"
    friend = on(client, CLIENT, endpoint, "secret")
    assert friend.communicate(timeout=60)[0] == ""
    assert bound.communicate(timeout=60)[0] == "hello alice\n"
    assert bound.returncode == 0


def test_the_handler_of_the_guide():
    (listing,) = blocks_of_the_guide("Names, passwords and handlers", "python")
    bound = on("zlink", listing.replace("tcp://127.0.0.1:5555", "tcp://127.0.0.1:*") + """
print(server.last_endpoint.decode(), flush=True)
message = server.recv(copy=False)
print(message.bytes.decode(), message.get("User-Id"), flush=True)
import os
os._exit(0)
""")
    endpoint = bound.stdout.readline().strip()
    assert on("zlink", CLIENT, endpoint, "guessed").communicate(timeout=60)[0] == "refused\n"
    assert on("libzmq", CLIENT, endpoint, "secret").communicate(timeout=60)[0] == ""
    assert bound.communicate(timeout=60)[0] == "hello alice\n"

