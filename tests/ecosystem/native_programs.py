"""Bindings of compiled languages, which use libzmq's C interface: Go by cgo, Rust, czmq in C, and the addon of zeromq.js."""

import glob
import os
import re
import shutil
import subprocess

import fetch
from frame import DISTRIBUTION_PYTHON, Failed, HERE, Program, Unavailable, require_tools

CZMQ = "libczmq.so.4"


# czmq

def czmq_tests():
    """The self-tests that Debian's czmq exports, zactor_test and so on."""
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True, env=dict(os.environ, PATH="/sbin:/usr/sbin:" +
                                                                                                 os.environ["PATH"])).stdout
    path = re.search(re.escape(CZMQ) + r" .*=> (\S+)", known).group(1)
    symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r" T (z\w+_test)$", symbols, re.MULTILINE)))


def get_czmq(place):
    version = fetch.apt(place, "libczmq4", "binutils")
    for folder in ("selftest-rw", "selftest-ro"):  # where czmq's tests look for files of their own
        os.makedirs(place.path("src", folder), exist_ok=True)
    return version


def run_czmq(place, library):
    tests = czmq_tests()
    bad = []
    for test in tests:
        call = "import ctypes; ctypes.CDLL('%s').%s(False)" % (CZMQ, test)
        try:
            status = place.command([DISTRIBUTION_PYTHON, "-c", call], library, patience_s=60, check=False)[0]
        except Failed as failure:
            raise Failed("%s: %s" % (test, failure)) from failure
        if status != 0:
            bad.append("%s (%d)" % (test, status))
    if bad:
        raise Failed("%d of %d: %s" % (len(bad), len(tests), ", ".join(bad)))
    return "%d of %d" % (len(tests), len(tests))


# Go by cgo

def go_source(place, module, version):
    """A copy of a module that can be written to."""
    require_tools("go")
    wanted = "%s@%s" % (module, version)
    try:
        place.command(["go", "mod", "download", wanted])
    except Failed as failure:
        raise Unavailable("the Go proxy gives no %s: %s" % (module, failure)) from failure
    said = place.output(["go", "mod", "download", "-json", wanted])
    return fetch.copy_of(re.search(r'"Dir": "([^"]+)"', said).group(1), place.path("source"))


def compile_go_tests(place, source):
    place.command(["go", "test", "-c", "-o", place.path("tests"), "."], cwd=source)


def get_pebbe(place):
    fetch.apt(place, "libzmq3-dev", "pkg-config")
    compile_go_tests(place, go_source(place, "github.com/pebbe/zmq4", "v1.4.0"))
    return "1.4.0"


GOCZMQ = "github.com/zeromq/goczmq"
# They publish before they know that the subscriber's own thread has subscribed, send before they know that the proxy pauses, and send
# by a socket whose only peer may have refused it for good: any library can lose these races.
GOCZMQ_RACING = ("TestPubSubChanneler", "TestPubSubChannelerNoInitialSubscription", "TestProxy", "TestAuthPlain")


def get_goczmq(place):
    """The newest version that the Go proxy gives: one from before modules, which has no go.mod."""
    fetch.apt(place, "libczmq-dev", "libzmq3-dev", "libsodium-dev", "pkg-config")
    source = go_source(place, GOCZMQ, "v4.1.0+incompatible")
    with open(os.path.join(source, "go.mod"), "w", encoding="utf-8") as out:
        out.write("module %s\n\ngo 1.20\n" % GOCZMQ)
    compile_go_tests(place, source)
    return "4.1.0"


def run_goczmq(place, library):
    shutil.rmtree(place.path("source", "testauth"), ignore_errors=True)  # left by a run that was ended
    return run_go_tests(place, library, GOCZMQ_RACING)


def run_go_tests(place, library, but=()):
    left_out = ["-test.skip", "^(%s)$" % "|".join(but)] if but else []
    status, output = place.command([place.path("tests"), "-test.v", "-test.timeout", "200s", *left_out], library,
                                   cwd=place.path("source"), check=False)
    passed, failed, skipped = (re.findall(r"^--- %s: (\S+)" % word, output, re.MULTILINE) for word in ("PASS", "FAIL", "SKIP"))
    still = re.findall(r"^\t+(\w+) \(\w+\)$", output.partition("running tests:")[2], re.MULTILINE)
    said = "%d passed, %d skipped" % (len(passed), len(skipped))
    if status or failed:
        bad = failed + ["%s stands still" % test for test in still]
        raise Failed("%s; %s" % (", ".join(bad) or "exit %d" % status, said))
    return said


# Rust

def crate_source(place, name, version):
    """A copy of a crate's source, as the registry gives it."""
    require_tools("cargo")
    os.makedirs(place.path("wanted", "src"), exist_ok=True)
    with open(place.path("wanted", "Cargo.toml"), "w", encoding="utf-8") as out:
        out.write('[package]\nname = "wanted"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n%s = "=%s"\n' %
                  (name, version))
    with open(place.path("wanted", "src", "lib.rs"), "w", encoding="utf-8"):
        pass
    try:
        place.command(["cargo", "fetch"], cwd=place.path("wanted"))
    except Failed as failure:
        raise Unavailable("no crate %s %s: %s" % (name, version, failure)) from failure
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    return fetch.copy_of(glob.glob(os.path.join(home, "registry", "src", "*", "%s-%s" % (name, version)))[0], place.path("source"))


def get_rust(version, override):
    """What fetches a version of the `zmq` crate and compiles its tests; which libzmq they are linked with, pkg-config or an override says."""
    def get(place):
        fetch.apt(place, "libzmq3-dev", "pkg-config")
        source = crate_source(place, "zmq", version)
        with open(os.path.join(source, "Cargo.toml"), "a", encoding="utf-8") as out:
            out.write("\n[workspace]\n")
        if override:
            where = place.output(["pkg-config", "--variable=libdir", "libzmq"]).strip()
            target = re.search(r"host: (\S+)", place.output(["rustc", "-vV"])).group(1)
            os.makedirs(os.path.join(source, ".cargo"), exist_ok=True)
            with open(os.path.join(source, ".cargo", "config.toml"), "w", encoding="utf-8") as out:
                out.write('[target.%s.zmq]\nrustc-link-lib = ["zmq"]\nrustc-link-search = ["native=%s"]\n' % (target, where))
        # The tests of what does not compile need no libzmq, and depend on the words of the compiler.
        os.remove(os.path.join(source, "tests", "compile-tests.rs"))
        place.command(["cargo", "test", "-j1", "--lib", "--tests", "--no-run"], cwd=source, CARGO_TARGET_DIR=place.path("target"))
        return version
    return get


def test_programs(place):
    """The test programs of a crate that have tests; the others may not be linked with libzmq at all."""
    for path in sorted(glob.glob(place.path("target", "debug", "deps", "*-*"))):
        if "." not in os.path.basename(path) and ": test\n" in place.output([path, "--list"]):
            yield path


def run_rust(place, library):
    passed, bad = 0, []
    for program in test_programs(place):
        status, output = place.command([program, "--test-threads=1"], library, patience_s=120, cwd=place.path("source"), check=False)
        passed += output.count(" ... ok")
        failed = re.findall(r"^test (\S+) \.\.\. FAILED", output, re.MULTILINE)
        bad += failed or (["%s: exit %d" % (os.path.basename(program), status)] if status else [])
    if bad:
        raise Failed("%s; %d passed" % (", ".join(bad), passed))
    return "%d passed" % passed


# Node

ZEROMQ_JS = "6.8.0"


def get_node(place):
    """The package zeromq of npm, its addon compiled anew: the one inside brings a libzmq of its own."""
    fetch.apt(place, "libzmq3-dev", "libuv1-dev", "g++")
    require_tools("node", "npm")
    os.makedirs(place.path("node_modules"), exist_ok=True)
    place.command(["npm", "install", "--prefix", place.directory, "--ignore-scripts", "--no-save", "zeromq@" + ZEROMQ_JS,
                   "node-addon-api@8", "node-api-headers@1"])
    modules = place.path("node_modules")
    source = [path for path in glob.glob(os.path.join(modules, "zeromq", "src", "**", "*.cc"), recursive=True) if "win_delay" not in path]
    addon = place.path("addon.node")
    place.command(["g++", "-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-DNAPI_VERSION=8", "-DNAPI_CPP_EXCEPTIONS",
                   "-DNODE_GYP_MODULE_NAME=addon", "-I" + os.path.join(modules, "node-addon-api"),
                   "-I" + os.path.join(modules, "node-api-headers", "include"), *source, "-o", addon, "-lzmq"])
    # Its loader takes the first that the process can load, of whichever version of node.
    for inside in glob.glob(os.path.join(modules, "zeromq", "build", "linux", "*", "node", "glibc-*", "addon.node")):
        shutil.copyfile(addon, inside)
    return ZEROMQ_JS


def run_node(place, library):
    output = place.command(["node", os.path.join(HERE, "exchanges", "exchange.js")], library, check=False,
                           NODE_PATH=place.path("node_modules"))[1]
    last = (output.strip().splitlines() or ["nothing was said"])[-1]
    if " scenes over " not in last:
        raise Failed(last.removeprefix("FAILED: "))
    return last


PROGRAMS = [
    Program("czmq", "czmq (Debian)", "its exported self-tests, each in a process of its own", get_czmq, run_czmq),
    Program("go-pebbe", "pebbe/zmq4 (Go, cgo)", "its own tests", get_pebbe, run_go_tests),
    Program("rust-zmq-0.10", "`zmq` 0.10 (Rust), by the override in `.cargo/config.toml`", "its own tests", get_rust("0.10.0", True),
            run_rust),
    Program("rust-zmq-0.9", "`zmq` 0.9 (Rust), by pkg-config", "its own tests", get_rust("0.9.2", False), run_rust),
    Program("zeromq.js", "zeromq.js (Node), its addon built anew", "sends and receives before connect and bind, questions, topics, time-outs, "
            "events, CURVE", get_node, run_node),
    Program("goczmq", "goczmq (Go, cgo)", "its own tests", get_goczmq, run_goczmq),
]
