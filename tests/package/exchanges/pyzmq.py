#!/usr/bin/python3
# python3-zmq: 1000 requests and replies, over tcp and ipc
import threading

import zmq


def serve(socket):
    for _ in range(1000):
        socket.send(socket.recv().upper())


for endpoint in ("tcp://127.0.0.1:*", "ipc://*"):
    context = zmq.Context()
    with context.socket(zmq.REP) as server, context.socket(zmq.REQ) as client:
        server.bind(endpoint)
        client.connect(server.last_endpoint.decode())
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        for number in range(1000):
            client.send(b"request %d" % number)
            assert client.recv() == b"REQUEST %d" % number
        thread.join()
    context.term()
