"""Kills one side of a busy connection again and again; nothing may arrive cut, twice or out of order.

  kill_driver.py PEER LIBRARY_DIR [OTHER_LIBRARY_DIR] [--kills N] [--transports LIST]
  kill_driver.py PEER LIBRARY_DIR --self-test     plants each kind of fault and looks whether it is found

PEER is the kill_peer program. Every transport runs with either side killed and either side binding, with both sides on
our library and with one side on the other, which is the distribution's unless a directory is given.
"""

import argparse
import itertools
import mmap
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time

import libraries

STATE = struct.Struct("QQQ")  # received, lost, next sequence number: the struct `state` of kill_peer
FLOW_LIMIT_S = 30
FEWEST_BEFORE_KILL = 50
MORE_BEFORE_KILL = 150


class Fault(Exception):
    """A promise that was broken."""


class Side:
    """One side of the conversation, which may be started many times."""

    def __init__(self, program, library_dir, role, how, endpoint, state_path, plant=None):
        self.plant = [plant] if plant else []
        self.command = [program, role, how, endpoint, state_path]
        self.library_dir = library_dir
        self.role = role
        self.process = None
        self.epoch = 0

    def start(self):
        self.process = subprocess.Popen(self.command + [str(self.epoch)] + self.plant, text=True, stdout=subprocess.PIPE,
                                        env=dict(os.environ, LD_LIBRARY_PATH=self.library_dir))
        if self.role == "send":
            self.epoch += 1
        line = self.process.stdout.readline().split(maxsplit=1)
        if len(line) != 2 or line[0] != "LIBRARY":
            raise Fault("%s: says %s at its start" % (self.role, line))
        libraries.require_from(line[1].strip(), self.library_dir)

    def require_alive(self):
        if self.process.poll() is not None:
            raise Fault("%s ended by itself (%d): %s" % (self.role, self.process.returncode,
                                                         self.process.stdout.read().strip()))

    def kill(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        rest = self.process.stdout.read().strip()
        self.process.stdout.close()
        self.process = None
        if rest:
            raise Fault("%s: %s" % (self.role, rest))


def free_endpoint(transport, directory):
    """An address that can be bound again after its owner was killed."""
    if transport == "ipc":
        return "ipc://%s/%d" % (directory, time.monotonic_ns())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "tcp://127.0.0.1:%d" % probe.getsockname()[1]


def wait_for_flow(state, sides, messages):
    """Returns when so many more messages have been received."""
    wanted = STATE.unpack_from(state)[0] + messages
    deadline = time.monotonic() + FLOW_LIMIT_S
    while STATE.unpack_from(state)[0] < wanted:
        for side in sides:
            side.require_alive()
        if time.monotonic() > deadline:
            raise Fault("no messages for %d s" % FLOW_LIMIT_S)
        time.sleep(0.001)


def run_cell(program, directory, transport, victim, binder, library_of, kills, chance, plant=None):
    """One conversation with so many kills: (received, lost)."""
    endpoint = free_endpoint(transport, directory)
    state_path = os.path.join(directory, "state")
    with open(state_path, "wb") as file:
        file.write(bytes(STATE.size))
    with open(state_path, "r+b") as file:
        state = mmap.mmap(file.fileno(), STATE.size)
    sides = {role: Side(program, library_of[role], role, "bind" if role == binder else "connect", endpoint, state_path,
                        plant)
             for role in ("send", "receive")}
    both = list(sides.values())
    try:
        for side in both:
            side.start()
        for _ in range(kills):
            wait_for_flow(state, both, FEWEST_BEFORE_KILL + chance.randrange(MORE_BEFORE_KILL))
            sides[victim].kill()
            sides[victim].start()
        wait_for_flow(state, both, FEWEST_BEFORE_KILL)
        for side in both:
            side.require_alive()
        received, lost, _ = STATE.unpack_from(state)
    finally:
        for side in both:
            side.kill()
        state.close()
    return received, lost


def self_test(program, library_dir):
    """1 if a planted fault goes unnoticed."""
    unseen = 0
    library_of = {"send": library_dir, "receive": library_dir}
    with tempfile.TemporaryDirectory(prefix="kill-") as directory:
        for plant in ("twice", "missing", "mixed"):
            try:
                run_cell(program, directory, "tcp", "send", "receive", library_of, 1, random.Random(1), plant)
                print("FAILED: %s went unnoticed" % plant)
                unseen += 1
            except Fault as fault:
                print("ok     %s: %s" % (plant, fault))
    return 1 if unseen else 0


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer")
    parser.add_argument("library_dir")
    parser.add_argument("other_library_dir", nargs="?", default=None)
    parser.add_argument("--kills", type=int, default=100 if "ZLINK_TESTS_WHOLE" in os.environ else 40)  # `make test-long` does the whole
    parser.add_argument("--transports", type=lambda text: text.split(","), default=["tcp", "ipc"])
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args(argv)
    if args.self_test:
        return self_test(args.peer, os.path.abspath(args.library_dir))
    ours = os.path.abspath(args.library_dir)
    theirs = os.path.abspath(args.other_library_dir or libraries.distribution_library_dir())
    chance = random.Random(args.seed)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="kill-") as directory:
        pairs = [("ours", "ours"), ("ours", "theirs"), ("theirs", "ours")]
        for pair, transport, victim, binder in itertools.product(pairs, args.transports, ("send", "receive"),
                                                                 ("send", "receive")):
            where = {"ours": ours, "theirs": theirs}
            library_of = {"send": where[pair[0]], "receive": where[pair[1]]}
            name = "%s sends, %s receives, %s, killed: %s, binds: %s" % (*pair, transport, victim, binder)
            try:
                received, lost = run_cell(args.peer, directory, transport, victim, binder, library_of, args.kills,
                                          chance)
                print("ok     %s: %d received, %d missing after %d kills" % (name, received, lost, args.kills),
                      flush=True)
            except Fault as fault:
                faults += 1
                print("FAILED %s: %s" % (name, fault), flush=True)
    print("%d faults" % faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
