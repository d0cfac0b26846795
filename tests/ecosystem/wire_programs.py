"""Peers that speak the protocol by themselves, and meet pyzmq on the library."""

import glob
import os
import re
import shutil

import fetch
from frame import DISTRIBUTION_PYTHON, HERE, INTEROP, Failed, Program, Unavailable, require_tools

PEERS = os.path.join(HERE, "peers")


def converse(mechanisms):
    """What runs every conversation of wire.py with the program called peer."""
    def run(place, library):
        output = place.command([DISTRIBUTION_PYTHON, os.path.join(PEERS, "wire.py"), mechanisms, place.path("peer")], library,
                               check=False)[1]
        last = output.strip().splitlines()[-1]
        broken = [line for line in output.splitlines() if line.startswith("their") and ": 1000 here, 1000 there" not in line]
        if broken or not re.match(r"\d+ of \d+ conv", last):
            raise Failed("; ".join([*broken, last]))
        return last
    return run


def get_go(place):
    require_tools("go")
    source = fetch.copy_of(os.path.join(PEERS, "go"), place.path("source"))
    try:
        place.command(["go", "mod", "tidy"], cwd=source)
    except Failed as failure:
        raise Unavailable("go: %s" % failure) from failure
    place.command(["go", "build", "-o", place.path("peer"), "."], cwd=source, CGO_ENABLED="0")
    return place.output(["go", "list", "-m", "-f", "{{.Version}}", "github.com/go-zeromq/zmq4"], cwd=source).strip().lstrip("v")


def get_crate(folder, crate):
    """What builds the peer in a folder with a crate."""
    def get(place):
        require_tools("cargo")
        source = fetch.copy_of(os.path.join(PEERS, folder), place.path("source"))
        try:
            place.command(["cargo", "fetch"], cwd=source)
        except Failed as failure:
            raise Unavailable("cargo: %s" % failure) from failure
        place.command(["cargo", "build", "-j1"], cwd=source, CARGO_TARGET_DIR=place.path("target"), CARGO_PROFILE_DEV_DEBUG="0")
        shutil.copy(place.path("target", "debug", "peer"), place.path("peer"))
        return place.output(["cargo", "pkgid", crate], cwd=source).strip().split("#")[-1].split("@")[-1]
    return get


# JeroMQ

JARS = {"jeromq": "org.zeromq:jeromq:0.6.0", "jnacl": "eu.neilalexander:jnacl:1.0.0"}


def get_jeromq(place):
    for artifact in JARS.values():
        fetch.maven(place, artifact, place.path("jars"))
    return JARS["jeromq"].split(":")[-1]


def run_jeromq(place, library):
    jars = sorted(glob.glob(place.path("jars", "*.jar")))
    output = place.output([DISTRIBUTION_PYTHON, os.path.join(INTEROP, "jeromq.py"), *jars], library)
    return "%d conversations of 1000 questions, NULL, PLAIN and CURVE" % output.count(": 1000 here, 1000 there")


PROGRAMS = [
    Program("jeromq", "JeroMQ (Java)", "REQ and REP with pyzmq", get_jeromq, run_jeromq),
    Program("go-zeromq", "go-zeromq/zmq4 (Go)", "PUSH, PULL, REQ and REP with pyzmq", get_go, converse("NULL")),
    Program("zeromq-crate", "`zeromq` (Rust)", "PUSH, PULL, REQ and REP with pyzmq", get_crate("zeromq_crate", "zeromq"),
            converse("NULL")),
    Program("omq", "`omq-tokio` (Rust)", "the same, NULL and CURVE", get_crate("omq", "omq-tokio"), converse("NULL,CURVE")),
]
