#!/usr/bin/python3
"""Installs a build to a place of its own, and builds and runs a small program with what stands there. Then takes the source directory as
a part of another project.

Usage: check_package.py CMAKE SOURCE_DIRECTORY BUILD_DIRECTORY TARGET...
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <zmq.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    int major, minor, patch, own = -1;
    char got[3] = "";
    void *context = zmq_ctx_new();
    void *a = zmq_socket(context, ZMQ_PAIR), *b = zmq_socket(context, ZMQ_PAIR);
    zmq_bind(a, "inproc://a");
    zmq_connect(b, "inproc://a");
    zmq_send(b, "hi", 2, 0);
    zmq_recv(a, got, 2, 0);
    zmq_close(a);
    zmq_close(b);
    zmq_ctx_term(context);
    zmq_version(&major, &minor, &patch);
    zlink_version(&own, &own, &own);
    printf("%s %d.%d.%d %s\n", got, major, minor, patch, own >= 0 ? "zlink" : "");
    return 0;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
find_package(ZeroMQ 4.3 REQUIRED CONFIG)
foreach(target {targets})
    add_executable(with_${{target}} program.c)
    target_link_libraries(with_${{target}} ZeroMQ::${{target}} ${{target}})
endforeach()
"""
# It passes what bindings pass to libzmq, and has targets whose names a library may not take away.
PARENT = """
cmake_minimum_required(VERSION 3.22)
project(parent LANGUAGES C)
foreach(name library tests unit_tests bench_programs curve_keygen objects flags)
    add_custom_target(${{name}})
endforeach()
set(CMAKE_UNITY_BUILD ON)
set(BUILD_TESTS ON)
set(WITH_PERF_TOOL OFF)
set(ENABLE_DRAFTS ON)
{options}
add_subdirectory({source} zlink)
set(CMAKE_UNITY_BUILD OFF)
foreach(target {targets})
    foreach(name ${{target}} ZeroMQ::${{target}})
        string(MAKE_C_IDENTIFIER with_${{name}} program)
        add_executable(${{program}} program.c)
        target_link_libraries(${{program}} PRIVATE ${{name}})
    endforeach()
endforeach()
if(TEST layering OR CMAKE_BUILD_TYPE OR CMAKE_CXX_COMPILER_LAUNCHER)
    message(FATAL_ERROR "zlink decides for its parent")
endif()
"""
DRAFTS_ARE_SEEN = """
#ifndef ZMQ_SERVER
#error no drafts
#endif
"""
EXPECTED = "hi 4.3.5 zlink\n"

PAGES = ["man3/zmq_send.3", "man3/zmq_ctx_get_ext.3", "man7/zlink.7", "man7/zlink_options.7"]


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(said, who):
    if said != EXPECTED:
        sys.exit(f"{who} says {said!r} instead of {EXPECTED!r}")


def check_keys(said, library):
    """The two keys that curve_keygen has printed belong together."""
    lines = said.splitlines()
    public, secret = (lines[lines.index(f"== CURVE {name} KEY ==") + 1] for name in ("PUBLIC", "SECRET"))
    if len(public) != 40 or len(secret) != 40:
        sys.exit(f"curve_keygen prints no keys:\n{said}")
    if library.exists():
        derived = ctypes.create_string_buffer(41)
        if ctypes.CDLL(str(library)).zmq_curve_public(derived, secret.encode()) != 0 or derived.value.decode() != public:
            sys.exit(f"curve_keygen prints keys that do not belong together:\n{said}")


def check_static_flags(place, environment):
    """What pkg-config says of a static library is enough to link it."""
    flags = run("pkg-config", "--cflags", "--libs", "--static", "libzmq", env=environment).split()
    flags = ["-l:libzmq.a" if flag == "-lzmq" else flag for flag in flags]
    run("cc", "-DZMQ_STATIC", place / "source/program.c", "-o", place / "with_static_flags", *flags)
    expect(run(place / "with_static_flags"), "pkg-config --static")


def check_part_of_another(cmake, source, place, targets):
    """Another project configures with the source directory below it, and a file of it compiles. The library itself would take minutes."""
    options = {"curve": "set(ENABLE_CURVE ON)\nset(WITH_LIBSODIUM ON)\nset(ENABLE_WS ON)", "no_curve": "set(ENABLE_CURVE OFF)\nset(ENABLE_WS OFF)",
               "no_ws": "set(ENABLE_CURVE OFF)\nset(DISABLE_WS ON)"}
    for name, lines in options.items():
        parent, build = place / name, place / name / "build"
        parent.mkdir()
        (parent / "program.c").write_text(PROGRAM + DRAFTS_ARE_SEEN)
        (parent / "CMakeLists.txt").write_text(PARENT.format(source=source, options=lines, targets=" ".join(targets)))
        run(cmake, "-G", "Unix Makefiles", "-S", parent, "-B", build)
        run("make", "-C", build, "program.o")
        commands = "".join(path.read_text() for path in build.rglob("link.txt"))
        if ("sodium" in commands) != (name == "curve"):
            sys.exit(f"{name}: libsodium is not linked as the options say:\n{commands}")
        flags = "".join(path.read_text() for path in build.rglob("flags.make"))
        if ("ZLINK_WITH_WS" in flags) != (name == "curve"):
            sys.exit(f"{name}: WebSocket is not built as the options say:\n{flags}")


def main(cmake, sources, build, targets):
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        prefix, source = place / "prefix", place / "source"
        run(cmake, "--install", build, "--prefix", prefix)
        missing = [page for page in PAGES if not (prefix / "share/man" / page).exists()]
        if missing:
            sys.exit(f"pages of the manual are not installed: {missing}")
        source.mkdir()
        (source / "program.c").write_text(PROGRAM)
        (source / "CMakeLists.txt").write_text(PROJECT.format(targets=" ".join(targets)))
        run(cmake, "-S", source, "-B", place / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        run(cmake, "--build", place / "build")
        for target in targets:
            expect(run(place / "build" / f"with_{target}"), f"find_package(ZeroMQ), {target}")

        pc_file = next(prefix.rglob("libzmq.pc"))
        environment = dict(os.environ, PKG_CONFIG_PATH=str(pc_file.parent))
        environment["LD_LIBRARY_PATH"] = str(pc_file.parent.parent)
        flags = run("pkg-config", "--cflags", "--libs", "libzmq", env=environment).split()
        if keygen := next(prefix.rglob("curve_keygen"), None):
            check_keys(run(keygen, env=environment), pc_file.parent.parent / "libzmq.so.5")
        if "libzmq" in targets:
            run("cc", source / "program.c", "-o", place / "with_pkg_config", *flags)
            expect(run(place / "with_pkg_config", env=environment), "pkg-config")
        if "libzmq-static" in targets:
            check_static_flags(place, environment)
        check_part_of_another(cmake, sources, place, targets)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], [target for target in sys.argv[4:] if target])
