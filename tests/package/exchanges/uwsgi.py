#!/usr/bin/python3
# uwsgi-core: its log comes out of a PULL
import subprocess

import zmq

with zmq.Context().socket(zmq.PULL) as log:
    log.bind("tcp://127.0.0.1:15611")
    with subprocess.Popen(["uwsgi", "--plugins", "logzmq", "--logger", "zeromq:tcp://127.0.0.1:15611", "--socket", "127.0.0.1:15612"]) as server:
        lines = [log.recv() for _ in range(5)]
        server.kill()
assert b"uWSGI" in b"".join(lines), lines
