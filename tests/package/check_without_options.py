#!/usr/bin/python3
"""Compiles what depends on TLS, CURVE or policies without any of them, and throws it away. With --whole it builds the library so, and asks it
what it has: that takes minutes, and finds a function that nobody defines any more.

Usage: check_without_options.py COMPILER SOURCE_DIRECTORY [--whole BUILD_DIRECTORY]
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys

OPTIONS = ("WITH_TLS", "WITH_CURVE", "WITH_POLICY")
FLAGS = ("-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror")
DEFINED = ("-DBOOST_ASIO_SEPARATE_COMPILATION", "-DBOOST_ASIO_NO_DEPRECATED", "-DZMQ_BUILD_DRAFT_API")
DEPENDS = re.compile(r'ZLINK_WITH_(TLS|CURVE|POLICY)|"core/built\.hpp"')
IN_THEIR_PLACE = ("zmtp/curve_box_none.cpp", "zmtp/mask_keys_of_system.cpp")
EPROTONOSUPPORT, EINVAL = 93, 22
PAIR, CURVE_SERVER = 0, 47


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")


def check_syntax(compiler, sources):
    src = sources / "src"
    needs_them = re.compile((src / "CMakeLists.txt").read_text().split('set(with_sodium "')[1].split('"')[0])
    for source in sorted(src.rglob("*.cpp")):
        name = str(source.relative_to(src))
        is_left_out = needs_them.search("/" + name) or name.startswith("transport/tls")
        if not is_left_out and (name in IN_THEIR_PLACE or DEPENDS.search(source.read_text())):
            run(compiler, *FLAGS, *DEFINED, f"-I{sources / 'include'}", f"-I{src}", source)


def ask(library):
    """It has none of them, says so in the ways that libzmq has for that, and is a library."""
    zmq = ctypes.CDLL(str(library))
    zmq.zmq_ctx_new.restype = zmq.zmq_socket.restype = ctypes.c_void_p
    context = ctypes.c_void_p(zmq.zmq_ctx_new())
    a, b = (ctypes.c_void_p(zmq.zmq_socket(context, PAIR)) for _ in range(2))
    one, got = ctypes.c_int(1), ctypes.create_string_buffer(2)
    endpoint = b"ipc://@without-options-" + str(os.getpid()).encode()
    found = (
        (zmq.zmq_has(b"tls"), zmq.zmq_has(b"curve")),
        (zmq.zmq_bind(a, b"tls://127.0.0.1:*"), zmq.zmq_errno()),
        (zmq.zmq_bind(a, b"wss://127.0.0.1:*"), zmq.zmq_errno()),
        (zmq.zmq_setsockopt(a, CURVE_SERVER, ctypes.byref(one), 4), zmq.zmq_errno()),
        (zmq.zmq_bind(a, endpoint), zmq.zmq_connect(b, endpoint), zmq.zmq_send(b, b"hi", 2, 0), zmq.zmq_recv(a, got, 2, 0), got.raw),
    )
    for each in (a, b):
        zmq.zmq_close(each)
    zmq.zmq_ctx_term(context)
    expected = ((0, 0), (-1, EPROTONOSUPPORT), (-1, EPROTONOSUPPORT), (-1, EINVAL), (0, 0, 2, 2, b"hi"))
    if found != expected:
        sys.exit(f"{found}\ninstead of\n{expected}")


def build_whole(sources, build):
    switches = [f"-D{option}=OFF" for option in (*OPTIONS, "BUILD_TESTS", "BUILD_STATIC")]
    # What it costs to run says nothing here, and what it costs to build does.
    run("cmake", "-S", sources, "-B", build, *switches, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DZLINK_CCACHE=ON")
    run("cmake", "--build", build, "--target", "libzmq")
    ask(next(pathlib.Path(build).rglob("libzmq.so.5")))


if __name__ == "__main__":
    check_syntax(sys.argv[1], pathlib.Path(sys.argv[2]))
    if sys.argv[3:4] == ["--whole"]:
        build_whole(sys.argv[2], sys.argv[4])
