"""A script that stands in for bench_zmq, and the cells that the tests of benchwithzmq/ begin with."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchwithzmq"))

import pairs  # noqa: E402  (found through the path above)

# Prints the lines of bench_zmq, and writes each call into the file CALLS names. zlink moves 4 messages where libzmq moves one,
# and 0.5 where they are large; input batches of 1024 octets halve what zlink moves, and so does ws, which with a sender that connects
# moves a quarter of that.
FAKE_BENCH = """#!/usr/bin/python3 -IS
import os, sys
library, pattern, transport, size, measure = sys.argv[1:6]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(" ".join(sys.argv[1:6]) + " " + os.environ.get("BENCH_MSG_COUNT", "-") + "\\n")
if pattern == "ROUTER_ROUTER":
    sys.exit("send: failed")
if os.environ.get("ZMQ_ASIO_IN_BATCH_SIZE") == "7":
    print("zlink: ZMQ_ASIO_IN_BATCH_SIZE=7 is ignored: a number is expected", file=sys.stderr)
better = 1 if library == "libzmq" else 4 if int(size) < 65536 else 0.5
if os.environ.get("ZMQ_ASIO_IN_BATCH_SIZE") == "1024":
    better /= 2
if transport == "ws":
    better /= 8 if "--sender=connects" in sys.argv else 2
print("LIBRARY,%s,%s/libzmq.so.5,4.3.4" % (library, os.environ["LD_LIBRARY_PATH"]))
for each, value in (("throughput", 1e6 * better), ("latency", 20 / better)):
    if measure in (each, "both"):
        print("RESULT,%s,%s,%s,%s,%s,%.3f" % (library, pattern, transport, size, each, value))
"""


@pytest.fixture(name="build_dir")
def fake_build(tmp_path, monkeypatch):
    """A build directory with the script, and two files to be taken for the libraries."""
    for folder in ("build/bench", "build/lib", "distribution"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("build/lib/libzmq.so.5", "distribution/libzmq.so.5"):
        (tmp_path / file).touch()
    script = tmp_path / "build/bench/bench_zmq"
    script.write_text(FAKE_BENCH)
    script.chmod(0o755)
    for name in [name for name in os.environ if name.startswith(("BENCH_", "ZMQ_ASIO_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BENCH_LIBZMQ_LIB_DIR", str(tmp_path / "distribution"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return str(tmp_path / "build")


def calls(build_dir):
    with open(os.path.join(os.path.dirname(build_dir), "calls"), encoding="utf-8") as file:
        return file.read().splitlines()


def cell(pattern="PAIR", transport="tcp", size=64, measure="throughput", hwm=1000, runs=((1e6, 5e6),)):
    return dict(pattern=pattern, transport=transport, size=size, measure=measure, hwm=hwm, count=1,
                **pairs.summary(measure, runs), runs=[list(run) for run in runs])


def results_of(cells):
    machine = {"date": "2026-01-02", "processor": "A Processor", "processors": 2, "kernel": "6.1.0-1", "libzmq": "4.3.4"}
    return {"machine": machine, "cells": cells, "failures": []}


def is_picture(path):
    with open(path, "rb") as file:
        start = file.read(1000)
    signs = {".png": b"\x89PNG\r\n", ".svg": b"<svg"}
    return os.path.getsize(path) > 2000 and signs[os.path.splitext(path)[1]] in start
