#!/usr/bin/python3
"""Proves the library of the wheel for musl in programs of C and C++, with musl's own dynamic linker: what a cancelled thread leaves behind,
children of fork, messages over each transport, and the library closed and opened again. Each program has a C++ library and an unwinder of its
own beside those inside the library. Prints what was seen.

Another processor's are run by qemu, where the tests are left out that look in /proc for the system call a thread sleeps in: the emulator tells
its own.

It needs the network, googletest, and some minutes. What it has built stays in DIRECTORY, and is taken the next time.

Usage: musl_programs.py WHEELS PROCESSOR DIRECTORY      WHEELS is where `make wheel LIBC=musl` has put its own: build/wheel/musl
"""

import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

import musl_system

ROOT = pathlib.Path(__file__).resolve().parents[2]
GTEST = pathlib.Path("/usr/src/googletest/googletest")
TESTS = ("support/files_main.cpp", "capi/life/cancel_test.cpp", "capi/life/fork_test.cpp")
FLAGS = ("-std=c++20", "-O1", "-w", "-fno-sanitize=all")
# They wait until a thread sleeps in poll(2), by its number.
ASLEEP = ("*/cancelled.*", "*/cancelled_awake.only_when_it_allows_that/*", "*/half_a_body_when_cancelled.*", "cancelled_in_term.*")


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def unpack_library(wheels, place):
    """The library as it is in the wheel."""
    (wheel,) = pathlib.Path(wheels).glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        library = pathlib.Path(files.extract("zlinkmq/libzmq.so.5", place))
    return wheel.name, library


def build(compilers, library, place):
    """The tests of the C interface, and the program that opens the library."""
    include = ["-I", ROOT / "include", "-I", ROOT / "tests/support", "-I", ROOT / "tests", "-I", GTEST / "include", "-I", GTEST]
    objects = []
    for source in (*(ROOT / "tests" / name for name in TESTS), GTEST / "src/gtest-all.cc"):
        made = place / f"{source.stem}.o"
        if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
            subprocess.run([compilers / "c++", *FLAGS, *include, "-c", source, "-o", made], check=True)
        objects.append(made)
    subprocess.run([compilers / "c++", *objects, library, "-o", place / "tests"], check=True)
    subprocess.run([compilers / "cc", "-O1", "-I", ROOT / "include", ROOT / "tests/package/reopened.c", "-o", place / "reopened"], check=True)


def main(wheels, processor, directory):
    place = pathlib.Path(directory).resolve()
    place.mkdir(parents=True, exist_ok=True)
    name, library = unpack_library(wheels, place)
    loader = musl_system.fetch_loader(place.parent / "musl_system", processor)
    build(pathlib.Path(wheels).resolve() / "root/bin", library, place)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
                    "-days", "2", "-subj", "/CN=musl", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, cwd=place, capture_output=True)
    is_emulated = processor != platform.machine()
    emulator = [f"qemu-{processor}-static"] if is_emulated else []
    tells = [line.strip() for line in output_of("readelf", "-h", library).splitlines() if "Machine:" in line]
    needs = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", library))
    print(f"- {name}: {tells[0].split(None, 1)[1]}, needs {', '.join(needs)}")
    print(f"- musl {musl_system.version_of(loader, *emulator)}{', by qemu' if is_emulated else ''}", flush=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LD_", "ZLINK_"))}
    wrong = []
    left_out = f"--gtest_filter=-{':'.join(ASLEEP)}" if is_emulated else "--gtest_filter=*"
    for title, command, expected in (
            ("the tests of cancel_test.cpp and fork_test.cpp", ["tests", left_out], r"^\[  PASSED  \] (\d+ tests)"),
            ("three times opened and closed", ["reopened", library, place], "^((tcp ipc inproc curve tls ){3}- stays)"),
    ):
        done = subprocess.run([*emulator, loader, "--library-path", library.parent, *command], env=environment, cwd=place, text=True,
                              capture_output=True, timeout=1200, check=False)
        found = re.search(expected, done.stdout, re.MULTILINE)
        in_order = done.returncode == 0 and found
        print(f"- {title}: {found[1] if in_order else 'failed'}", flush=True)
        if not in_order:
            wrong.append(f"{title}: {done.returncode}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
    if wrong:
        sys.exit("\n".join(["", "wrong:", *wrong]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
