"""What a program in Python gains: pyzmq on the libzmq that it comes with, and on zlink, in turn.

  python_figures.py LIBRARY [--python PYTHON] [--pairs N] [--only WORDS] [--quick]

LIBRARY is zlink's libzmq.so.5, which is preloaded: that works for pyzmq of a distribution and for wheels that carry their own.
PYTHON is an interpreter that has pyzmq (this one unless told). Each end is a process of its own. A cell says how much passes in a second, or how
long a round trip takes, and the processor time of both ends together for the same work; a ratio above 1 says that zlink is the better
one. The medians of N pairs (5) are printed as a table in Markdown; in brackets are the least and the greatest ratio. With --quick a
hundredth of the messages go, once each: that shows whether it works, and its figures say nothing.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


QUICKER = 100


class Cell:
    """One kind of work: what passes, over what, how often."""

    def __init__(self, name, kind, transport, size, count):
        self.name, self.kind, self.transport, self.size, self.count = name, kind, transport, size, count

    @property
    def is_round_trip(self):
        return self.kind.startswith("req")


def cells():
    rows = []
    for transport in ("tcp", "ipc"):
        rows.append(Cell("REQ/REP 64 B, µs a round trip", "req", transport, 64, 20000))
        rows.append(Cell("REQ/REP 64 B asyncio, µs a round trip", "req-asyncio", transport, 64, 5000))
        rows.append(Cell("PUSH/PULL 64 B, k/s", "push", transport, 64, 300000))
        rows.append(Cell("PUSH/PULL 64 B asyncio, k/s", "push-asyncio", transport, 64, 30000))
        rows.append(Cell("PUSH/PULL 1 KiB, k/s", "push", transport, 1024, 200000))
        for size, count, text in ((64 << 10, 20000, "64 KiB"), (1 << 20, 2000, "1 MiB"), (16 << 20, 100, "16 MiB"),
                                  (64 << 20, 25, "64 MiB")):
            rows.append(Cell("PUSH/PULL %s copy=False, k/s" % text, "push-lent", transport, size, count))
        rows.append(Cell("PUB to 10 SUBs 64 B, k/s sent", "pub", transport, 64, 30000))
    return rows


# The two ends. Each makes its socket, says when it is ready, does its work and says what it took.

def say(**facts):
    print(json.dumps(facts), flush=True)


def wait_for_receiver():
    """Until it has all. Over ipc, where the machine is busy, a PUSH of libzmq 4.3.4 that is closed before loses messages."""
    sys.stdin.readline()


def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def bound(zmq, context, kind, wanted):
    socket = context.socket(kind)
    socket.set_hwm(1000)
    if kind == zmq.PUB:
        socket.setsockopt(zmq.XPUB_NODROP, 1)
    socket.bind(wanted)
    say(endpoint=socket.getsockopt(zmq.LAST_ENDPOINT).rstrip(b"\0").decode())
    return socket


def serve_requests(zmq, context, where, count, **_):
    socket = bound(zmq, context, zmq.REP, where)
    for _ in range(count):
        socket.send(socket.recv())
    say(cpu=spent())
    socket.recv()  # the other end says that it has all


def ask(zmq, context, where, size, count, **_):
    socket = context.socket(zmq.REQ)
    socket.connect(where)
    body = b"x" * size
    begin = time.perf_counter()
    for _ in range(count):
        socket.send(body)
        socket.recv()
    say(seconds=time.perf_counter() - begin, cpu=spent())
    socket.send(b"")
    socket.close()
    context.term()  # it has gone out


def serve_requests_asyncio(zmq, where, count, **_):
    import zmq.asyncio

    async def serve():
        socket = bound(zmq, zmq.asyncio.Context(), zmq.REP, where)
        for _ in range(count):
            await socket.send(await socket.recv())
        say(cpu=spent())
        await socket.recv()

    asyncio.run(serve())


def ask_asyncio(zmq, where, size, count, **_):
    import zmq.asyncio

    async def work():
        context = zmq.asyncio.Context()
        socket = context.socket(zmq.REQ)
        socket.connect(where)
        body = b"x" * size
        begin = time.perf_counter()
        for _ in range(count):
            await socket.send(body)
            await socket.recv()
        say(seconds=time.perf_counter() - begin, cpu=spent())
        await socket.send(b"")
        socket.close()
        context.term()

    asyncio.run(work())


def pull(zmq, context, where, count, copy, **_):
    socket = bound(zmq, context, zmq.PULL, where)
    socket.recv(copy=copy)
    begin = time.perf_counter()
    for _ in range(count - 1):
        socket.recv(copy=copy)
    say(seconds=time.perf_counter() - begin, cpu=spent())


def push(zmq, context, where, size, count, copy, **_):
    socket = context.socket(zmq.PUSH)
    socket.set_hwm(1000 if size <= 65536 else 8)
    socket.connect(where)
    body = b"x" * size
    for _ in range(count):
        socket.send(body, copy=copy)
    wait_for_receiver()
    socket.close()
    context.term()
    say(cpu=spent())


def pull_asyncio(zmq, where, count, **_):
    import zmq.asyncio

    async def work():
        socket = bound(zmq, zmq.asyncio.Context(), zmq.PULL, where)
        await socket.recv()
        begin = time.perf_counter()
        for _ in range(count - 1):
            await socket.recv()
        say(seconds=time.perf_counter() - begin, cpu=spent())

    asyncio.run(work())


def push_asyncio(zmq, where, size, count, **_):
    import zmq.asyncio

    async def work():
        context = zmq.asyncio.Context()
        socket = context.socket(zmq.PUSH)
        socket.set_hwm(1000)
        socket.connect(where)
        body = b"x" * size
        for _ in range(count):
            await socket.send(body)
        wait_for_receiver()
        socket.close()
        context.term()
        say(cpu=spent())

    asyncio.run(work())


SUBSCRIBERS = 10


def publish(zmq, context, where, size, count, **_):
    gate = context.socket(zmq.PULL)
    gate.bind("tcp://127.0.0.1:*")
    socket = bound(zmq, context, zmq.PUB, where)
    say(gate=gate.getsockopt(zmq.LAST_ENDPOINT).rstrip(b"\0").decode())
    waiting = SUBSCRIBERS
    body = b"x" * size
    while waiting:  # until each has heard one of the first messages
        socket.send(b"?")
        waiting -= gate.poll(10) and len(gate.recv())
    for _ in range(count):
        socket.send(body)
    say(cpu=spent())
    gate.recv()


def subscribe(zmq, context, where, size, count, gate, **_):
    done = context.socket(zmq.PUSH)
    done.connect(gate)
    poller = zmq.Poller()
    heard = {}
    for _ in range(SUBSCRIBERS):
        socket = context.socket(zmq.SUB)
        socket.set_hwm(1000)
        socket.subscribe(b"")
        socket.connect(where)
        poller.register(socket, zmq.POLLIN)
        heard[socket] = 0
    begin = None
    first = set()
    missing = SUBSCRIBERS * count
    while missing:
        for socket, _ in poller.poll():
            for _ in range(100):
                try:
                    body = socket.recv(zmq.NOBLOCK)
                except zmq.Again:
                    break
                if len(body) == size:
                    begin = begin or time.perf_counter()
                    missing -= 1
                elif socket not in first:
                    first.add(socket)
                    done.send(b"x")
    say(seconds=time.perf_counter() - begin, cpu=spent())
    done.send(b"")
    done.close()
    for socket in heard:
        socket.close()
    context.term()


ENDS = {  # kind: who binds and who connects
    "req": (serve_requests, ask), "req-asyncio": (serve_requests_asyncio, ask_asyncio), "push": (pull, push),
    "push-lent": (pull, push), "push-asyncio": (pull_asyncio, push_asyncio), "pub": (publish, subscribe),
}


def end(arguments):
    import zmq

    work = json.loads(arguments.end)
    does = ENDS[work["kind"]][work["side"]]
    work["copy"] = work["kind"] != "push-lent"
    if not work["kind"].endswith("asyncio"):
        work["context"] = zmq.Context()
    does(zmq, **work)
    # A wheel's own library is mapped beside a preloaded one. libzmq has no TLS.
    mapped = {line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "zmq" in line and ".so.5" in line}
    say(mapped=sorted(mapped), is_zlink=bool(zmq.has("tls")))
    sys.stdout.flush()
    os._exit(0)


# The run.

class Child:
    def __init__(self, python, environment, work):
        self.process = subprocess.Popen([python, os.path.abspath(__file__), "-", "--end", json.dumps(work)], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = {}

    def read(self, name):
        while name not in self.facts:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("an end stopped before it told its " + name)
            self.facts.update(json.loads(line))
        return self.facts[name]


def measure(python, library, cell, folder):
    """Seconds of the work, and processor seconds of both ends."""
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if library:
        environment["LD_PRELOAD"] = library
    work = {"kind": cell.kind, "side": 0, "size": cell.size, "count": cell.count,
            "where": "tcp://127.0.0.1:*" if cell.transport == "tcp" else "ipc://%s/%d" % (folder, time.monotonic_ns())}
    binds = Child(python, environment, work)
    work.update(side=1, where=binds.read("endpoint"))
    if cell.kind == "pub":
        work["gate"] = binds.read("gate")
    connects = Child(python, environment, work)
    takes_time = binds if cell.kind.startswith("push") else connects
    seconds = takes_time.read("seconds")
    connects.process.stdin.close()
    cpu = binds.read("cpu") + connects.read("cpu")
    for child in (binds, connects):
        if child.read("is_zlink") != bool(library) or library and os.path.realpath(library) not in child.read("mapped"):
            raise SystemExit("it ran on another library: " + ", ".join(child.read("mapped")))
        child.process.wait(timeout=60)
        child.process.stdin.close()
        child.process.stdout.close()
    return seconds, cpu


def row(python, library, cell, pairs, folder):
    theirs, ours = [], []
    for pair in range(pairs):
        order = [(None, theirs), (library, ours)]
        for which, results in order if pair % 2 == 0 else reversed(order):
            results.append(measure(python, which, cell, folder))
    ratios = [a[0] / b[0] for a, b in zip(theirs, ours)]
    middle = lambda values: statistics.median(values)
    unit = (lambda s: s / cell.count * 1e6) if cell.is_round_trip else (lambda s: cell.count / s / 1000)
    return "| %s, %s | %.3g | %.3g | **%.2f** (%.2f to %.2f) | %.2f | %.2f |" % (
        cell.name, cell.transport, unit(middle([t[0] for t in theirs])), unit(middle([o[0] for o in ours])), middle(ratios),
        min(ratios), max(ratios), middle([t[1] for t in theirs]), middle([o[1] for o in ours]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--end", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.end:
        return end(arguments)
    versions = subprocess.run([arguments.python, "-c", "import sys, zmq; print('Python %d.%d, pyzmq %s, libzmq %s' % ("
                               "*sys.version_info[:2], zmq.__version__, zmq.zmq_version()))"],
                              check=True, capture_output=True, text=True).stdout.strip()
    print(versions + "\n")
    print("| | libzmq | zlink | times | processor s, libzmq | zlink |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for cell in cells():
            if arguments.quick:
                cell.count, arguments.pairs = max(cell.count // QUICKER, 2), 1
            if arguments.only in "%s %s" % (cell.name, cell.transport):
                print(row(arguments.python, os.path.abspath(arguments.library), cell, arguments.pairs, folder), flush=True)


if __name__ == "__main__":
    main()
