#!/usr/bin/python3
"""Proves what docs/install.md and the README say of builds that others make of zlink, or on it: does what stands there, in bare folders, and
prints what was seen as Markdown.

fetchcontent   a project takes the sources, and the tarball of `make dist`, builds both libraries, links a program with each, and runs it
pyzmq          pyzmq's own build from source takes the tarball for its libzmq (PYZMQ_LIBZMQ_URL); messages go over it
go             a Go program with pebbe/zmq4 is linked whole with the archive that brings all, by the C library of the distribution
go-musl        the same by musl, with the compilers of `make wheel LIBC=musl`, and is run on no file but itself
czmq           czmq of the distribution's sources, its drafts included, is compiled with an installed zlink; its self-tests run
node           zeromq.js gets an addon that is linked with zlink; its exchanges run

It needs the network, and what `make install-proof` installs; go and node have to be there. What cannot be had here is said to be so, and is
no fault. The logs stay in DIRECTORY.

Usage: install_proof.py DIRECTORY [NAME...]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "packaging/python")]
import check_package  # noqa: E402
import musl  # noqa: E402

PATIENCE_S = 1800
GO_PROGRAM = """package main

import (
	"fmt"
	"os"

	zmq "github.com/pebbe/zmq4"
)

func main() {
	rep, _ := zmq.NewSocket(zmq.REP)
	req, _ := zmq.NewSocket(zmq.REQ)
	if err := rep.Bind("tcp://127.0.0.1:*"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	endpoint, _ := rep.GetLastEndpoint()
	req.Connect(endpoint)
	for i := 0; i < 1000; i++ {
		req.SendMessage(i)
		asked, _ := rep.RecvMessage(0)
		rep.SendMessage(asked)
		if got, _ := req.RecvMessage(0); got[0] != fmt.Sprint(i) {
			fmt.Println("got", got)
			os.Exit(1)
		}
	}
	major, minor, patch := zmq.Version()
	fmt.Printf("1000 questions, tls %v, %d.%d.%d\\n", zmq.HasCurve() && has("tls"), major, minor, patch)
}
"""
# pebbe/zmq4 asks for libzmq's own capabilities only.
GO_HAS = """package main

// #cgo pkg-config: libzmq
// #include <zmq.h>
// #include <stdlib.h>
import "C"
import "unsafe"

func has(what string) bool {
	text := C.CString(what)
	defer C.free(unsafe.Pointer(text))
	return C.zmq_has(text) == 1
}
"""
PEBBE = "github.com/pebbe/zmq4@v1.4.0"
PYTHON_PROGRAM = """
import zmq
assert zmq.has("tls"), "another library"
with zmq.Context() as context, context.socket(zmq.PULL) as pull, context.socket(zmq.PUSH) as push:
    push.connect("tcp://127.0.0.1:%d" % pull.bind_to_random_port("tcp://127.0.0.1"))
    for number in range(1000):
        push.send_string(str(number))
    assert [int(pull.recv()) for _ in range(1000)] == list(range(1000))
print("pyzmq", zmq.pyzmq_version(), "1000 messages")
"""


class Unavailable(Exception):
    """It cannot be had on this machine."""


class Proof:
    """A bare folder, and the commands that run there. What they print goes to a log."""

    def __init__(self, below, name):
        self.place, self.log = below / name, below / f"{name}.log"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.log.write_text("", encoding="utf-8")
        # A compiler cache serves them, too, where there is one.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("ZLINK_", "LD_", "ZMQ_", "PYZMQ_"))}
        if shutil.which("ccache"):
            self.environment.update(CMAKE_CXX_COMPILER_LAUNCHER="ccache", CCACHE_BASEDIR=str(self.place), CCACHE_NOHASHDIR="1")

    def run(self, *command, seconds=PATIENCE_S, cwd=None, **variables):
        """Returns what it printed."""
        with self.log.open("a+", encoding="utf-8", errors="replace") as log:
            log.write(f"$ {' '.join(map(str, command))}\n")
            log.flush()
            begun = log.tell()
            done = subprocess.run([str(part) for part in command], cwd=cwd or self.place, env={**self.environment, **variables}, check=False,
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, timeout=seconds)
            log.seek(begun)
            said = log.read()
        if done.returncode:
            raise RuntimeError(f"{command[0]} ends with {done.returncode}: {' '.join(said.strip().splitlines()[-1:])} ({self.log})")
        return said

    def shell(self, commands, **more):
        return self.run("sh", "-ec", commands, **more)


def fence(page, heading, language, has):
    """The commands under a heading of a page, of which they are those that have this in them."""
    section = re.split(rf"^#+ {heading}$", (ROOT / page).read_text(encoding="utf-8"), 1, re.M)[1]
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S) if has in text]
    if not found:
        sys.exit(f"{page} says nothing of {has} under {heading}")
    return found[0]


def require(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Unavailable(f"no `{tool}` here")


def tarball():
    found = sorted((ROOT / "build/dist").glob("zlink-*.tar.xz"))
    if not found:
        sys.exit("no tarball: `make dist` comes first")
    return found[0]


def installed(proof, build):
    """A prefix of its own."""
    prefix = proof.place / "prefix"
    proof.run("cmake", "--install", build, "--prefix", prefix)
    return prefix


def prove_fetchcontent(proof):
    lines = fence("README.md", "Build by hand", "cmake", "FetchContent")
    for name, source in (("sources", f"SOURCE_DIR {ROOT}"), ("tarball", f"URL file://{tarball()}")):
        project = proof.place / name
        project.mkdir()
        (project / "program.c").write_text(check_package.PROGRAM, encoding="utf-8")
        both = lines + lines.splitlines()[-1].replace("your_program", "other_program").replace("-static", "") + "\n"
        both = both.replace("SOURCE_DIR /path/of/zlink", source)
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(yours LANGUAGES C)\n"
            "add_executable(your_program program.c)\nadd_executable(other_program program.c)\n" + both, encoding="utf-8")
        proof.run("cmake", "-B", "build", cwd=project)
        proof.run("cmake", "--build", "build", "-j", os.cpu_count(), cwd=project)
        for program in ("your_program", "other_program"):
            said = proof.run(project / "build" / program)
            if said != check_package.EXPECTED:
                raise RuntimeError(f"{name}, {program} says {said!r}")
    return "of the sources and of the tarball: a program with each library says what it should"


def prove_pyzmq(proof):
    commands = fence("docs/install.md", "pyzmq with zlink inside", "sh", "PYZMQ_LIBZMQ_URL")
    commands = commands.replace("make dist\n", "").replace("$PWD/build/dist/zlink-$(packaging/version.sh).tar.xz", str(tarball()))
    # The distribution's sources stand for the archive of a release, which has a configure.
    musl.fetch_sources(proof.place / "sources", "libsodium")
    source = next(path for path in (proof.place / "sources").iterdir() if path.is_dir() and path.name.startswith("libsodium-"))
    proof.run("autoreconf", "-fi", cwd=source)
    sodium = proof.place / "libsodium.tar.gz"
    proof.run("tar", "-C", source.parent, "-czf", sodium, source.name)
    proof.run("/usr/bin/python3", "-m", "venv", "--without-pip", "python")
    commands = commands.replace("pip install", "/usr/bin/python3 -m pip --python python/bin/python install").replace("\npython -c", "\npython/bin/python -c")
    said = proof.shell(commands, PYZMQ_LIBSODIUM_URL=f"file://{sodium}")
    if said.splitlines()[-1] != "True":
        raise RuntimeError(f"zmq.has says {said.splitlines()[-1]}")
    return proof.run("python/bin/python", "-c", PYTHON_PROGRAM).strip()


def prove_program_of_go(proof, place, commands, **variables):
    place.mkdir()
    (place / "main.go").write_text(GO_PROGRAM, encoding="utf-8")
    (place / "has.go").write_text(GO_HAS, encoding="utf-8")
    proof.run("go", "mod", "init", "yours", cwd=place)
    proof.run("go", "get", PEBBE, cwd=place, **variables)
    proof.shell(commands, cwd=place, **variables)
    if "INTERP" in proof.run("readelf", "-lW", place / "yours"):
        raise RuntimeError("it is not linked whole")
    # A root with nothing in it but the program.
    bare = place / "bare"
    bare.mkdir()
    shutil.copy(place / "yours", bare)
    said = proof.run("unshare", "--map-root-user", f"--root={bare}", "--wd=/", "/yours").strip()
    if not said.startswith("1000 questions, tls true"):
        raise RuntimeError(f"it says {said!r}")
    return said + ", in a root with nothing but itself"


def prove_go(proof):
    require("go")
    first = fence("docs/install.md", "One file", "sh", "ZLINK_BUNDLED=ON")
    proof.shell(first.replace("build/bundled", str(proof.place / "bundled")).replace("-o hello", f"-o {proof.place}/hello").replace("./hello", f"{proof.place}/hello"), cwd=ROOT)
    commands = fence("docs/install.md", "One file", "sh", "go build").replace("build/bundled", str(proof.place / "bundled"))
    commands = commands.replace("/opt/zlink-bundled", str(proof.place / "prefix"))
    proof.shell("\n".join(line for line in commands.splitlines() if "go build" not in line))
    variables = {"PKG_CONFIG_PATH": str(proof.place / "prefix/lib/pkgconfig")}
    return prove_program_of_go(proof, proof.place / "go", commands.splitlines()[-1], **variables)


def newest(archives, processor):
    """The last that was made for that processor, or None."""
    def is_for_it(path):
        said = subprocess.run(["readelf", "-h", path], capture_output=True, text=True, check=False).stdout
        return processor.replace("_", "-").lower() in said.lower()
    return max(filter(is_for_it, archives), key=lambda path: path.stat().st_mtime, default=None)


def prove_go_with_musl(proof):
    require("go")
    root = ROOT / "build/wheel/musl/root"
    if not (root / "toolchain.cmake").exists():
        raise Unavailable("no `build/wheel/musl/root`: `make wheel LIBC=musl` comes first")
    cache = pathlib.Path(os.environ.get("ZIG_GLOBAL_CACHE_DIR", pathlib.Path.home() / ".cache/zig")) / "o"
    cxx = [newest(cache.glob(f"*/{name}.a"), os.uname().machine) for name in ("libc++", "libc++abi")]
    if None in cxx:
        raise Unavailable(f"no archives of the C++ library in {cache}")
    commands = fence("docs/install.md", "musl", "sh", "ZLINK_CXX_ARCHIVES").replace("PATH/libc++.a;PATH/libc++abi.a", ";".join(map(str, cxx)))
    commands = commands.replace("M=$PWD/build/wheel/musl/root", f"M={root}").replace("build/musl", str(proof.place / "musl"))
    commands = commands.replace("-o hello", f"-o {proof.place}/hello").replace("./hello", f"{proof.place}/hello")
    proof.shell(commands, cwd=ROOT)
    prefix = installed(proof, proof.place / "musl")
    pc_file = next(prefix.rglob("libzmq.pc"))
    pc_file.write_text(pc_file.read_text(encoding="utf-8").replace("-lzmq", str(next(prefix.rglob("libzmq.a")))), encoding="utf-8")
    text = " ".join((ROOT / "docs/install.md").read_text(encoding="utf-8").split())
    command = re.search(r"`(CC=\$M/bin/cc go build[^`]*)`", text)[1].replace("$M", str(root))
    return prove_program_of_go(proof, proof.place / "go", command, PKG_CONFIG_PATH=str(pc_file.parent), CC=str(root / "bin/cc"))


def prove_czmq(proof):
    prefix = installed(proof, ROOT / "build/release")
    musl.fetch_sources(proof.place / "sources", "czmq")
    source = next(path for path in (proof.place / "sources").iterdir() if path.is_dir() and path.name.startswith("czmq-"))
    at = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib"), "CMAKE_PREFIX_PATH": str(prefix)}
    proof.run("cmake", "-S", source, "-B", "build", "-DENABLE_DRAFTS=ON", "-DCZMQ_BUILD_STATIC=OFF", "-DCMAKE_POLICY_VERSION_MINIMUM=3.5", **at)
    proof.run("cmake", "--build", "build", "-j", os.cpu_count(), **at)
    loaded = proof.run("ldd", next((proof.place / "build").glob("libczmq.so")), **at)
    if f"=> {prefix}/lib/libzmq.so.5" not in loaded:
        raise RuntimeError(f"it loads another library: {loaded}")
    tests = re.findall(r"^\s+(\w+)\s+- (?:stable|draft)", proof.run("build/czmq_selftest", "--list", **at), re.M)
    for folder in ("selftest-rw", "selftest-ro"):  # where czmq's tests look for files of their own
        (proof.place / "src" / folder).mkdir(parents=True, exist_ok=True)
    bad = []
    for test in tests:
        try:
            proof.run("build/czmq_selftest", "--test", test, seconds=120, **at)
        except (RuntimeError, subprocess.TimeoutExpired):
            bad.append(test)
    if bad or not tests:
        raise RuntimeError(f"of {len(tests)} tests fail {', '.join(bad)}")
    return f"{source.name}: {len(tests)} of {len(tests)} self-tests"


def prove_node(proof):
    require("node", "npm")
    prefix = installed(proof, ROOT / "build/release")
    said = proof.shell(fence("docs/install.md", "Node", "sh", "zeromq@").replace("/opt/zlink", str(prefix)))
    if f"{prefix}/lib/libzmq.so.5" not in said:
        raise RuntimeError("the addon is on another library")
    last = proof.run("node", ROOT / "tests/ecosystem/exchanges/exchange.js", NODE_PATH=str(proof.place / "node_modules")).strip().splitlines()[-1]
    if " scenes over " not in last:
        raise RuntimeError(last)
    return last


PROOFS = {"fetchcontent": prove_fetchcontent, "pyzmq": prove_pyzmq, "go": prove_go, "go-musl": prove_go_with_musl, "czmq": prove_czmq,
          "node": prove_node}


def main(directory, *names):
    below = pathlib.Path(directory).resolve()
    if unknown := set(names) - set(PROOFS):
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(PROOFS)}")
    wrong = []
    print("| what | result | seconds |\n|---|---|---|")
    for name, prove in PROOFS.items():
        if names and name not in names:
            continue
        begun = time.monotonic()
        try:
            result = prove(Proof(below, name))
        except Unavailable as reason:
            result = f"not to be had: {reason}"
        except (RuntimeError, subprocess.SubprocessError) as fault:
            result = f"FAILED: {fault}"
            wrong.append(name)
        print(f"| {name} | {result} | {time.monotonic() - begun:.0f} |", flush=True)
    if wrong:
        sys.exit(f"wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
