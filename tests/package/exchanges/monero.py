#!/usr/bin/python3
# monero: monerod answers 20 requests in JSON
import json
import subprocess
import tempfile

import zmq

with tempfile.TemporaryDirectory() as place:
    command = ["monerod", "--regtest", "--offline", "--fixed-difficulty=1", "--non-interactive", f"--data-dir={place}",
               "--zmq-rpc-bind-port=15603", "--rpc-bind-port=15604", "--p2p-bind-port=15605"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as monerod:
        with zmq.Context().socket(zmq.REQ) as client:
            client.connect("tcp://127.0.0.1:15603")
            for number in range(20):
                client.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "get_height", "params": {}}).encode())
                answer = json.loads(client.recv())
                assert answer["result"]["height"] == 1 and answer["id"] == number, answer
        monerod.terminate()
