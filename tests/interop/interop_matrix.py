"""Two processes, one on each library, for every pair of socket types that may talk to each other.

  interop_matrix.py PEER LIBRARY_DIR [OTHER_LIBRARY_DIR] [--pairs LIST] [--transports LIST] [--mechanisms LIST]
                    [--messages COUNT] [--every NUMBER]

PEER is the interop_peer program. The other library is the distribution's unless a directory is given. Every pair runs
over tcp and ipc, with either side on either library and either side binding; with PLAIN and CURVE, either side is the
server. --every 5 runs each fifth of these conversations.
"""

import argparse
import itertools
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import libraries

PAIRS = ["PAIR-PAIR", "PUB-SUB", "PUB-XSUB", "XPUB-SUB", "XPUB-XSUB", "PUSH-PULL", "DEALER-ROUTER", "DEALER-DEALER",
         "ROUTER-ROUTER", "REQ-REP", "REQ-ROUTER", "DEALER-REP"]
TRANSPORTS = ["tcp", "ipc"]
LONGEST_S = 90


class Fault(Exception):
    """A cell that did not go as it should."""


class Peer:
    """A running interop_peer; what it says arrives in a queue as (peer, line), and its end as (peer, "")."""

    def __init__(self, spoken, program, library_dir, pair, side, how, endpoint, more):
        self.name = "%s (%s, %s)" % (side, how, library_dir)
        self.library_dir = library_dir
        self.done = False
        self.process = subprocess.Popen([program, pair, side, how, endpoint, *more], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, LD_LIBRARY_PATH=library_dir))
        self.reader = threading.Thread(target=self.listen, args=(spoken,))
        self.reader.start()

    def listen(self, spoken):
        for line in self.process.stdout:
            spoken.put((self, line))
        spoken.put((self, ""))

    def go(self):
        self.process.stdin.write("GO\n")
        self.process.stdin.flush()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def talk(peers, spoken, start_connector):
    """Starts the connecting side when the endpoint is known, and passes READY on as GO, until both have ended."""
    deadline = time.monotonic() + LONGEST_S
    ended = set()
    while len(ended) < 2:
        try:
            peer, line = spoken.get(timeout=max(0.001, deadline - time.monotonic()))
        except queue.Empty:
            raise Fault("no end after %d s; done: %s" % (LONGEST_S, [each.name for each in peers if each.done]))
        word, _, rest = line.strip().partition(" ")
        if word == "LIBRARY":
            libraries.require_from(rest, peer.library_dir)
        elif word == "ENDPOINT":
            peers.append(start_connector(rest))
        elif word == "READY":
            next(each for each in peers if each is not peer).go()
        elif word == "DONE":
            peer.done = True
        elif word == "FAILED" or not peer.done or peer.process.wait() != 0:
            raise Fault("%s: exit %s %s" % (peer.name, peer.process.poll(), rest))
        else:
            ended.add(peer)


def run_cell(program, directory, pair, transport, library_of, binding_side, mechanism="NULL", server="a", messages=None):
    """One conversation; library_of maps a side to a library directory, server is the side that is one."""
    endpoint = "tcp://127.0.0.1:*" if transport == "tcp" else "ipc://%s/%d" % (directory, time.monotonic_ns())
    spoken = queue.Queue()

    def start(side, how, name):
        more = [mechanism, "server" if side == server else "client"] + ([str(messages)] if messages else [])
        return Peer(spoken, program, library_of[side], pair, side, how, name, more)

    peers = [start(binding_side, "bind", endpoint)]
    try:
        talk(peers, spoken, lambda name: start("b" if binding_side == "a" else "a", "connect", name))
    finally:
        for peer in peers:
            peer.end()


def theirs_cannot(mechanism, server, pair, ours_is):
    """libzmq 4.3 as a REQ that is the server of PLAIN does not hear its peer's answers, whoever that is."""
    return mechanism == "PLAIN" and pair.split("-")["ab".index(server)] == "REQ" and server != ours_is


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer")
    parser.add_argument("library_dir")
    parser.add_argument("other_library_dir", nargs="?", default=None)
    parser.add_argument("--pairs", type=lambda text: text.split(","), default=PAIRS)
    parser.add_argument("--transports", type=lambda text: text.split(","), default=TRANSPORTS)
    parser.add_argument("--mechanisms", type=lambda text: text.split(","), default=["NULL"])
    parser.add_argument("--messages", type=int, default=None)
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args(argv)
    ours = os.path.abspath(args.library_dir)
    theirs = os.path.abspath(args.other_library_dir or libraries.distribution_library_dir())
    faults = cells = 0
    with tempfile.TemporaryDirectory(prefix="interop-") as directory:
        every = [(mechanism, server, *cell) for mechanism in args.mechanisms
                 for server in ("a" if mechanism == "NULL" else "ab")
                 for cell in itertools.product(args.pairs, args.transports, "ab", "ab")]
        for mechanism, server, pair, transport, ours_is, binds in every[::args.every]:
            if theirs_cannot(mechanism, server, pair, ours_is):
                continue
            library_of = {"a": ours, "b": theirs} if ours_is == "a" else {"a": theirs, "b": ours}
            name = "%-14s %s ours is %s, %s binds" % (pair, transport, ours_is, binds)
            if mechanism != "NULL":
                name += ", %s, %s is the server" % (mechanism, server)
            cells += 1
            try:
                run_cell(args.peer, directory, pair, transport, library_of, binds, mechanism, server, args.messages)
                print("ok     " + name, flush=True)
            except Fault as fault:
                faults += 1
                print("FAILED %s: %s" % (name, fault), flush=True)
    print("%d of %d conversations in order" % (cells - faults, cells))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
