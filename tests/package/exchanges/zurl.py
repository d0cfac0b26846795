#!/usr/bin/python3
# zurl: it answers a request in JSON, and keeps to its policy
import json
import pathlib
import subprocess
import tempfile

import zmq

with tempfile.TemporaryDirectory() as place:
    configuration = pathlib.Path(place, "zurl.conf")
    configuration.write_text(f"[General]\nin_spec=ipc://{place}/in\nin_stream_spec=ipc://{place}/stream\nout_spec=ipc://{place}/out\n"
                             f"in_req_spec=ipc://{place}/req\ndefpolicy=deny\n", encoding="utf-8")
    with subprocess.Popen(["zurl", f"--config={configuration}"]) as zurl, zmq.Context().socket(zmq.REQ) as client:
        client.connect(f"ipc://{place}/req")
        client.send(b"J" + json.dumps({"id": "1", "method": "GET", "uri": "http://127.0.0.1/"}).encode())
        answer = client.recv()
        zurl.kill()
assert answer[:1] == b"J" and json.loads(answer[1:])["condition"] == "policy-violation", answer
