#!/usr/bin/python3
"""The page, a PUB with rates that wander, and a ROUTER that echoes: for browsers, over ws://.

  LD_LIBRARY_PATH=build/release/lib server.py [--port PORT]

Any pyzmq that loads zlink will do. PORT is that of the page (default 8080; 0: any), which the program prints.
"""

import argparse
import functools
import http.server
import json
import os
import random
import threading

import zmq

HERE = os.path.dirname(os.path.abspath(__file__))
RATES = {"rate.eur": 1.0, "rate.gbp": 0.85, "rate.jpy": 160.0}
PAUSE_MS = 50


class Page(http.server.SimpleHTTPRequestHandler):
    def __init__(self, endpoints, *rest):
        self.endpoints = endpoints
        super().__init__(*rest, directory=HERE)

    def do_GET(self):
        if self.path != "/endpoints.json":
            super().do_GET()
            return
        body = json.dumps(self.endpoints).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(feed, echo):
    """One thread has both sockets: answers what comes, and publishes each time nothing came for a while."""
    poller = zmq.Poller()
    poller.register(echo, zmq.POLLIN)
    number = 0
    rates = dict(RATES)
    while True:
        if poller.poll(PAUSE_MS):
            echo.send_multipart(echo.recv_multipart())
            continue
        number += 1
        for topic in rates:
            rates[topic] *= 1 + random.gauss(0, 0.001)
            feed.send_multipart([topic.encode(), b"%d" % number, b"%.4f" % rates[topic]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args().port
    if not zmq.has("ws"):  # libzmq answers to upper case only
        raise SystemExit("this is not zlink, but libzmq %s. Is LD_LIBRARY_PATH set?" % zmq.zmq_version())
    context = zmq.Context()
    feed, echo = context.socket(zmq.PUB), context.socket(zmq.ROUTER)
    feed.bind("ws://127.0.0.1:*/feed")
    echo.bind("ws://127.0.0.1:*/echo")
    endpoints = {name: socket.last_endpoint.decode().rstrip("\0") for name, socket in (("feed", feed), ("echo", echo))}
    try:
        listening = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Page, endpoints))
    except OSError as error:
        raise SystemExit("cannot serve the page at port %d: %s. --port 0 takes any" % (port, error)) from error
    with listening as page:
        print("http://127.0.0.1:%d/" % page.server_address[1], flush=True)
        threading.Thread(target=page.serve_forever, daemon=True).start()
        try:
            serve(feed, echo)
        except KeyboardInterrupt:
            context.destroy(linger=0)


if __name__ == "__main__":
    main()
