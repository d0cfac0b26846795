"""monerod, alone and without a network, makes blocks; a SUB hears each, and its RPC over ZeroMQ answers. pyzmq and monerod on one library."""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import zmq

PATIENCE_S = 60
BLOCKS = 20  # at least
ADDRESS = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"


def free_port():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def ask_by_http(port, method, **given):
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": given}).encode()
    request = urllib.request.Request("http://127.0.0.1:%s/json_rpc" % port, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        said = json.load(answer)
    if "result" not in said:
        raise OSError("%s: %s" % (method, said))
    return said["result"]


def make_block(port):
    return ask_by_http(port, "generateblocks", amount_of_blocks=1, wallet_address=ADDRESS)


def make_first_block(port):
    """A block, as soon as the daemon listens and is ready."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return make_block(port)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def height_of_next(sub):
    return json.loads(sub.recv().split(b":", 1)[1])["first_height"]


def hear_of_blocks(http, sub):
    """The heights of the blocks that are heard of, one after another."""
    make_first_block(http)
    heights = []
    while len(heights) < BLOCKS:  # the first are made before the subscription has arrived, perhaps
        make_block(http)
        if heights or sub.poll(500):
            heights.append(height_of_next(sub))
    return heights


def talk(context, http, published, questions):
    with context.socket(zmq.SUB) as sub, context.socket(zmq.REQ) as req:
        for each, port in ((sub, published), (req, questions)):
            each.linger, each.rcvtimeo = 0, PATIENCE_S * 1000
            each.connect("tcp://127.0.0.1:%s" % port)
        sub.subscribe(b"json-minimal-chain_main")
        heights = hear_of_blocks(http, sub)
        req.send_string(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "get_height", "params": {}}))
        height = json.loads(req.recv())["result"]["height"]
        while heights[-1] < height - 1:
            heights.append(height_of_next(sub))
        if heights != list(range(height - len(heights), height)):
            raise SystemExit("heard of blocks %s, and the height is %d" % (heights, height))


def end(daemon):
    daemon.terminate()
    try:
        daemon.wait(PATIENCE_S)
    except subprocess.TimeoutExpired as late:
        daemon.kill()
        raise SystemExit("monerod did not end within %d s" % PATIENCE_S) from late


def main():
    http, published, questions, p2p = (str(free_port()) for _ in range(4))
    with tempfile.TemporaryDirectory() as data, zmq.Context() as context:
        daemon = subprocess.Popen(
            ["monerod", "--regtest", "--offline", "--disable-dns-checkpoints", "--check-updates", "disabled", "--no-igd",
             "--fixed-difficulty", "1", "--non-interactive", "--data-dir", data, "--rpc-bind-port", http, "--p2p-bind-port", p2p,
             "--p2p-bind-ip", "127.0.0.1", "--zmq-pub", "tcp://127.0.0.1:" + published, "--zmq-rpc-bind-port", questions],
            stdout=subprocess.DEVNULL)
        try:
            talk(context, http, published, questions)
        finally:
            end(daemon)
    print("every block heard of, 1 question answered, ended when told")


if __name__ == "__main__":
    sys.exit(main())
