#!/usr/bin/python3
# xpython (libxeus6, libxeus-python0): a kernel runs a cell
import hashlib
import hmac
import json
import pathlib
import subprocess
import tempfile

import zmq

PORTS = {"shell_port": 15606, "control_port": 15607, "iopub_port": 15608, "stdin_port": 15609, "hb_port": 15610}


def message(kind, content):
    header = {"msg_id": kind, "session": "s", "username": "u", "date": "2026-01-01T00:00:00Z", "msg_type": kind, "version": "5.3"}
    parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
    return [b"<IDS|MSG>", hmac.new(b"key", b"".join(parts), hashlib.sha256).hexdigest().encode(), *parts]


with tempfile.TemporaryDirectory() as place:
    connection = pathlib.Path(place, "connection.json")
    connection.write_text(json.dumps({**PORTS, "ip": "127.0.0.1", "transport": "tcp", "key": "key", "signature_scheme": "hmac-sha256",
                                      "kernel_name": "xpython"}), encoding="utf-8")
    with subprocess.Popen(["xpython", "-f", connection]) as kernel, zmq.Context() as context:
        with context.socket(zmq.REQ) as heart, context.socket(zmq.DEALER) as shell:
            heart.connect(f"tcp://127.0.0.1:{PORTS['hb_port']}")
            heart.send(b"beat")
            assert heart.recv() == b"beat"
            shell.connect(f"tcp://127.0.0.1:{PORTS['shell_port']}")
            shell.send_multipart(message("execute_request", {"code": "6 * 7", "silent": False, "store_history": False,
                                                             "user_expressions": {"answer": "6 * 7"}, "allow_stdin": False}))
            answer = json.loads(shell.recv_multipart()[-1])
        kernel.kill()
assert answer["status"] == "ok" and "42" in json.dumps(answer), answer
