#!/usr/bin/env python3
"""Makes what a shared library is linked with to run on an older GLIBC than that of the build.

Usage: older_glibc.py VERSION DIRECTORY      and then, for CMake: -D CMAKE_SHARED_LINKER_FLAGS=@DIRECTORY/flags

The C library keeps what programs of former years call: each function has the version that it had then beside that of today. A stand-in for
libc.so.6, which holds nothing but names, offers the versions of that time to the linker alone. What came later stands in older_glibc.c.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC", "cc")
KINDS = {"FUNC": "function", "IFUNC": "function", "OBJECT": "object"}


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def number(version):
    return tuple(int(part) for part in version.split("."))


def names_of_then(library, limit):
    """The names of the C library, each with its kind and the newest version that is no newer than the limit."""
    chosen = {}
    for line in output_of("readelf", "-W", "--dyn-syms", library).splitlines():
        row = re.search(r" (FUNC|IFUNC|OBJECT) +(?:GLOBAL|WEAK) +DEFAULT +(?!UND)\S+ (\w+)@@?GLIBC_([\d.]+)$", line)
        if row and number(row[3]) <= limit:
            kind, name, version = row.groups()
            if name not in chosen or number(chosen[name][1]) < number(version):
                chosen[name] = (KINDS[kind], version)
    return chosen


def make_stand_in(names, directory):
    """A libc.so.6 of names."""
    lines = []
    for place, (name, (kind, version)) in enumerate(sorted(names.items())):
        lines += [f".globl s{place}", f".type s{place}, %{kind}", f"s{place}: .byte 0", f".size s{place}, 1",
                  f".symver s{place}, {name}@@GLIBC_{version}, remove"]
    source, script, made = directory / "libc.s", directory / "libc.map", directory / "libc.so.6"
    source.write_text("\n".join(lines) + '\n.section .note.GNU-stack,"",%progbits\n', encoding="ascii")
    versions = sorted({version for _, version in names.values()}, key=number)
    script.write_text("".join(f"GLIBC_{version} {{}};\n" for version in versions), encoding="ascii")
    subprocess.run([CC, "-shared", "-nostdlib", "-Wl,-soname,libc.so.6", f"-Wl,--version-script={script}", source, "-o", made], check=True)
    return made


def main(version, directory):
    directory = pathlib.Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    libc = output_of(CC, "-print-file-name=libc.so.6").strip()
    stand_in = make_stand_in(names_of_then(libc, number(version)), directory)
    later = directory / "later.o"
    subprocess.run([CC, "-O2", "-fPIC", "-fvisibility=hidden", "-c", HERE / "older_glibc.c", "-o", later], check=True)
    # Threads and dlopen were libraries of their own.
    parts = [output_of(CC, f"-print-file-name={name}").strip() for name in ("libpthread.so.0", "libdl.so.2")]
    flags = [str(later), str(stand_in), "-Wl,--push-state,--no-as-needed", *parts, "-Wl,--pop-state"]
    (directory / "flags").write_text("\n".join(flags) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
