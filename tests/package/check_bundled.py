#!/usr/bin/python3
"""Looks at the libraries that bring all they need: what they leave to others, and what they let others see. Builds and runs programs of C with
the archive and the C library alone, also as pkg-config and find_package() say.

Usage: check_bundled.py CMAKE SOURCE_DIRECTORY SHARED_LIBRARY ARCHIVE SYMBOLS...
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import check_package

# The C library in its parts, and the unwinder of the process.
OF_THE_SYSTEM = r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+)"
OF_OTHERS = re.compile(r"_Z|SSL_|EVP_|crypto_|sodium_|__cxa_(?!atexit|finalize|thread_atexit_impl)|__gxx_")
PROGRAM = r"""
#include <zmq.h>
#include <stdio.h>
int main(void) {
    void *context = zmq_ctx_new(), *pull = zmq_socket(context, ZMQ_PULL);
    int refused = zmq_bind(pull, "tls://127.0.0.1:*"); /* it has no certificate, and so OpenSSL was asked */
    int bound = zmq_bind(pull, "tcp://127.0.0.1:*");
    zmq_close(pull);
    zmq_ctx_term(context);
    printf("%d %d %d %d\n", zmq_has("tls"), zmq_has("curve"), refused, bound);
    return 0;
}
"""


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def faults_of_shared(library):
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", library)):
        if not re.fullmatch(OF_THE_SYSTEM, needed):
            yield f"{library} needs {needed}"


def faults_of_archive(archive, interface):
    members = output_of("ar", "t", archive).split()
    if len(members) != 1:
        yield f"{archive} holds {len(members)} objects"
    seen = {line.split()[-1] for line in output_of("nm", "-g", "--defined-only", archive).splitlines()[2:]}
    yield from (f"the archive lets others see {name}" for name in sorted(seen - interface))
    yield from (f"the archive lacks {name}" for name in sorted(interface - seen))
    for line in output_of("nm", "-u", archive).splitlines():
        if " U " in line and OF_OTHERS.match(line.split()[-1]):
            yield f"the archive leaves to others {line.split()[-1]}"


def check_program(archive, include, place):
    source, program = place / "program.c", place / "program"
    source.write_text(PROGRAM)
    for how in ([], ["-static"], ["-static-libgcc"]):
        check_package.run("cc", "-DZMQ_STATIC", "-I", include, source, archive, "-o", program, *how, "-ldl", "-lpthread")
        said = check_package.run(program)
        if not re.fullmatch(r"(1 \d -1|0 \d -1) 0\n", said):
            sys.exit(f"a program with the archive, {how}, says {said!r}")


def check_installed(cmake, sources, libraries, place):
    """What a build with ZLINK_BUNDLED would install beside these libraries. The build itself would take minutes."""
    prefix, build, source = place / "prefix", place / "build", place / "source"
    check_package.run(cmake, "-S", sources, "-B", build, "-DZLINK_BUNDLED=ON", "-DCMAKE_INSTALL_LIBDIR=lib", f"-DCMAKE_INSTALL_PREFIX={prefix}")
    for folder, files in (("lib", libraries), ("lib/pkgconfig", [build / "libzmq.pc"]), ("lib/cmake/ZeroMQ", build.glob("ZeroMQ*.cmake"))):
        (prefix / folder).mkdir(parents=True)
        for file in files:
            shutil.copy(file, prefix / folder)
    shutil.copytree(sources / "include", prefix / "include")
    source.mkdir()
    (source / "program.c").write_text(check_package.PROGRAM)
    (source / "CMakeLists.txt").write_text(check_package.PROJECT.format(targets="libzmq libzmq-static"))
    check_package.check_static_flags(place, dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")))
    check_package.run(cmake, "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    check_package.run(cmake, "--build", source / "build")
    for target in ("libzmq", "libzmq-static"):
        check_package.expect(check_package.run(source / "build" / f"with_{target}"), f"find_package(ZeroMQ), bundled, {target}")


def main(cmake, sources, library, archive, *lists):
    interface = set()
    for path in lists:
        interface.update(pathlib.Path(path).read_text(encoding="ascii").split())
    faults = [*faults_of_shared(library), *faults_of_archive(archive, interface)]
    if faults:
        sys.exit("\n".join(faults))
    sources = pathlib.Path(sources)
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        check_program(archive, sources / "include", place)
        check_installed(cmake, sources, [pathlib.Path(library).with_name("libzmq.so.5"), archive], place)


if __name__ == "__main__":
    main(*sys.argv[1:])
