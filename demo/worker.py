"""One process of the demonstration, written for pyzmq as anybody would.

  worker.py push|pull|publish|subscribe|threads FILE ENDPOINT PEERS

FILE holds the lines. A puller or publisher binds and has PEERS peers; a pusher or subscriber connects. `threads` does
both patterns over inproc in one process. Prints one line of JSON with the digest of what went through and the library.
"""

import json
import sys
import threading
import time

import zmq

import stream

END = b"\0 end of stream"
PATIENCE_MS = 60_000


def mapped_library():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split(maxsplit=5)[5].strip() for line in maps if "libzmq.so" in line)


def read_lines(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")


def make_socket(context, kind):
    made = context.socket(kind)
    made.linger = made.rcvtimeo = made.sndtimeo = PATIENCE_MS
    return made


def send(socket, lines):
    digest = stream.Digest()
    for line in lines:
        socket.send(line)
        digest.add(line)
    socket.send(END)
    stay()
    return digest.values()


def stay():
    """Keeps the connection until standard input ends, which is when the receivers have everything.

    libzmq may lose the rest of a stream over ipc when the sender closes while the receiver's queue is full.
    """
    sys.stdin.read()


def receive(socket, senders):
    """Receives until every sender has ended; an error here is a loss. The time runs from the first message."""
    digest = stream.Digest()
    line = socket.recv()
    start = time.monotonic()
    while True:
        if line != END:
            digest.add(line)
        elif senders == 1:
            break
        else:
            senders -= 1
        line = socket.recv()
    return dict(digest.values(), seconds=time.monotonic() - start)


def push(context, lines, endpoint, _):
    with make_socket(context, zmq.PUSH) as socket:
        socket.connect(endpoint)
        return send(socket, lines)


def pull(context, _, endpoint, pushers):
    with make_socket(context, zmq.PULL) as socket:
        announce(socket, endpoint)
        return receive(socket, pushers)


def publish(context, lines, endpoint, subscribers):
    """An XPUB hears its subscribers; it waits for all, and for room instead of dropping."""
    with make_socket(context, zmq.XPUB) as socket:
        socket.setsockopt(zmq.XPUB_NODROP, 1)
        socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        announce(socket, endpoint)
        for _ in range(subscribers):
            assert socket.recv() == b"\x01"
        return send(socket, lines)


def subscribe(context, _, endpoint, __):
    with make_socket(context, zmq.SUB) as socket:
        socket.subscribe(b"")
        socket.connect(endpoint)
        return receive(socket, 1)


def announce(socket, endpoint):
    socket.bind(endpoint)
    if not endpoint.startswith("inproc"):
        print(json.dumps({"endpoint": socket.last_endpoint.decode()}), flush=True)


def in_threads(context, lines, *jobs):
    """Runs (function, endpoint, peers) on a thread each: their results, in order."""
    results = [None] * len(jobs)

    def run(index, job, endpoint, peers):
        results[index] = job(context, lines, endpoint, peers)

    threads = [threading.Thread(target=run, args=(index,) + job) for index, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def threads(context, lines, endpoint, _):
    pushed, pulled = in_threads(context, lines, (push, endpoint + "-line", 1), (pull, endpoint + "-line", 1))
    published, heard = in_threads(context, lines, (publish, endpoint + "-news", 1), (subscribe, endpoint + "-news", 1))
    return {"push": pushed, "pull": pulled, "publish": published, "subscribe": heard}


def main(role, path, endpoint, peers):
    context = zmq.Context()
    job = {"push": push, "pull": pull, "publish": publish, "subscribe": subscribe, "threads": threads}[role]
    result = job(context, read_lines(path), endpoint, int(peers))
    context.term()
    print(json.dumps({"library": mapped_library(), "version": zmq.zmq_version(), "result": result}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
