#!/usr/bin/env python3
"""Makes what a shared library, or a program, is linked with to run on an older GLIBC than that of the build.

Usage: older_glibc.py VERSION DIRECTORY      and then, for CMake: -D CMAKE_SHARED_LINKER_FLAGS=@DIRECTORY/flags
                                                          -D CMAKE_EXE_LINKER_FLAGS=@DIRECTORY/flags_of_programs

The C library keeps what programs of former years call: each function has the version that it had then beside that of today. A stand-in for
libc.so.6, which holds nothing but names, offers the versions of that time to the linker alone, and one for libm.so.6. What came later stands in
older_glibc.c.
"""

import os
import pathlib
import re
import subprocess
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC", "cc")
KINDS = {"FUNC": "function", "IFUNC": "function", "OBJECT": "object"}


class Symbol(typing.NamedTuple):
    kind: str
    version: str
    address: str
    size: int
    binding: str


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def number(version):
    return tuple(int(part) for part in version.split("."))


def names_of_then(library, limit):
    """The names of the C library, each as it is in the newest version that is no newer than the limit."""
    chosen = {}
    for line in output_of("readelf", "-W", "--dyn-syms", library).splitlines():
        row = re.search(r"(\w+) +(\w+) (FUNC|IFUNC|OBJECT) +(GLOBAL|WEAK) +DEFAULT +(?!UND)\S+ (\w+)@@?GLIBC_([\d.]+)$", line)
        if row and number(row[6]) <= limit:
            address, size, kind, binding, name, version = row.groups()
            if name not in chosen or number(chosen[name].version) < number(version):
                chosen[name] = Symbol(KINDS[kind], version, address, int(size, 0), binding)
    return chosen


def make_stand_in(soname, limit, directory):
    """A library of names."""
    names = names_of_then(output_of(CC, f"-print-file-name={soname}").strip(), limit)
    lines, places = [".data"], {}
    for name, symbol in sorted(names.items()):
        places.setdefault((symbol.kind, symbol.address), []).append((name, symbol))
    # A program has objects of the C library in its own memory. There, too, the names of one object are so, which the linker knows by the weak ones.
    for place, ((kind, _), found) in enumerate(sorted(places.items())):
        lines.append(".balign 32")
        for which, (name, symbol) in enumerate(found):
            label = f"s{place}_{which}"
            lines += [f".{'weak' if symbol.binding == 'WEAK' else 'globl'} {label}", f".type {label}, %{kind}", f".size {label}, {symbol.size}", f"{label}:",
                      f".symver {label}, {name}@@GLIBC_{symbol.version}, remove"]
        lines.append(f".zero {max(symbol.size for _, symbol in found) if kind == 'object' else 1}")
    source, script, made = directory / f"{soname}.s", directory / f"{soname}.map", directory / soname
    source.write_text("\n".join(lines) + '\n.section .note.GNU-stack,"",%progbits\n', encoding="ascii")
    versions = sorted({symbol.version for symbol in names.values()}, key=number)
    script.write_text("".join(f"GLIBC_{version} {{}};\n" for version in versions), encoding="ascii")
    subprocess.run([CC, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", source, "-o", made], check=True)
    return made


def main(version, directory):
    directory = pathlib.Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    libc, libm = (str(make_stand_in(soname, number(version), directory)) for soname in ("libc.so.6", "libm.so.6"))
    objects = {}
    for name in ("older_glibc", "older_glibc_start"):
        objects[name] = str(directory / f"{name}.o")
        subprocess.run([CC, "-O2", "-fPIC", "-fvisibility=hidden", "-c", HERE / f"{name}.c", "-o", objects[name]], check=True)
    # Threads and dlopen were libraries of their own.
    parts = [output_of(CC, f"-print-file-name={name}").strip() for name in ("libpthread.so.0", "libdl.so.2")]
    needed = lambda *libraries: ["-Wl,--push-state,--no-as-needed", *libraries, "-Wl,--pop-state"]
    flags = [objects["older_glibc"], *needed(libc, *parts)]
    # libgcc_s of the build asks for what the stand-in has not; that of the machine where the program runs asks for what is there.
    of_programs = [objects["older_glibc_start"], *flags, *needed(libm), "-Wl,--allow-shlib-undefined"]
    for name, lines in (("flags", flags), ("flags_of_programs", of_programs)):
        (directory / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
