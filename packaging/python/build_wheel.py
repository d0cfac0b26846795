#!/usr/bin/env python3
"""Makes a wheel of zlinkmq from a library and a command that bring all they need (ZLINK_BUNDLED). It needs no network, and the same input makes
the same octets.

Usage: build_wheel.py LIBRARY COMMAND OUTPUT_DIRECTORY

The tag follows from these two: their processor, and the C library that they ask for.
"""

import base64
import hashlib
import pathlib
import re
import stat
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAME = "zlinkmq"
PROCESSORS = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}
# What manylinux takes for granted, and the C library of musl.
OF_THE_SYSTEM = r"ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+|libc\.musl-\w+\.so\.1|libc\.so"
MUSL = "musllinux_1_2"
OLDEST_GLIBC = (2, 17)  # the first for which wheels were tagged by version
EPOCH = (1980, 1, 1, 0, 0, 0)
SECTIONS_OF_OPTIONS = r"(Socket options?[,;]|TLS options,|Deprecated options\.|Draft options\.)"
KINDS_OF_OPTIONS = ("string", "octets", "key", "bool", "int", "int64", "uint64")


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def needs_of(path):
    """Where a library or a program runs: its processor, and the GLIBC that it asks for. None is musl."""
    processor = PROCESSORS[re.search(r"Machine:\s*(.*)", output_of("readelf", "-h", path)).group(1)]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", path))
    foreign = [name for name in needed if not re.fullmatch(OF_THE_SYSTEM, name)]
    if foreign:
        sys.exit(f"{path} needs {', '.join(foreign)}: build it with ZLINK_BUNDLED")
    if not any(name.startswith("libc.so.") for name in needed):
        return processor, None
    asked = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output_of("readelf", "-VW", path))
    return processor, max([OLDEST_GLIBC, *((int(major), int(minor)) for major, minor in asked)])


def tag_of(*paths):
    """Where all of them run: manylinux_2_28_x86_64, for example."""
    processors, versions = zip(*map(needs_of, paths))
    if len(set(processors)) != 1 or len({version is None for version in versions}) != 1:
        sys.exit(f"{' and '.join(map(str, paths))} are for different systems")
    if versions[0] is None:
        return f"{MUSL}_{processors[0]}"
    newest = max(versions)
    return f"manylinux_{newest[0]}_{newest[1]}_{processors[0]}"


def version_of_project():
    return output_of(ROOT / "packaging/version.sh").strip()


def options_of(header):
    """The socket options of zmq.h, which names the type of each: {"tls_cert": (0x5A00, "string")}."""
    options, within = {}, False
    for line in header.splitlines():
        if line.startswith("/* "):
            within = re.match(SECTIONS_OF_OPTIONS, line[3:]) is not None
        row = re.match(r"#define ZMQ_(\w+)\s+(0x[0-9A-F]+|\d+)\s+/\* (\w+)", line)
        if within and row and row[3] in KINDS_OF_OPTIONS:
            options[row[1].lower()] = (int(row[2], 0), row[3])
    return options


def files_of_wheel(library, command, tag):
    """What is in it, by name: the package, and what pip reads."""
    version = version_of_project()
    info = f"{NAME}-{version}.dist-info"
    header = (ROOT / "include/zmq.h").read_text(encoding="utf-8")
    files = {f"{NAME}/{path.name}": path.read_bytes() for path in sorted((HERE / NAME).glob("*.py"))}
    files[f"{NAME}/py.typed"] = b""
    files[f"{NAME}/_built.py"] = (
        f'"""Made with the wheel."""\n\nVERSION = "{version}"\nOPTIONS = {options_of(header)!r}\n'.encode())
    files[f"{NAME}/libzmq.so.5"] = pathlib.Path(library).read_bytes()
    files[f"{NAME}/zlink"] = pathlib.Path(command).read_bytes()
    for path in sorted((ROOT / "include").glob("*.h")):
        files[f"{NAME}/include/{path.name}"] = path.read_bytes()
    for path in (ROOT / "LICENSE", HERE / "BUNDLED-LICENSES.txt"):
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: zlink in place of libzmq, for pyzmq\n"
        "License: MPL-2.0\nRequires-Python: >=3.9\nLicense-File: LICENSE\nLicense-File: BUNDLED-LICENSES.txt\n"
        "Description-Content-Type: text/markdown\n\n".encode() + (HERE / "README.md").read_bytes())
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode()
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\nzlink = {NAME}._command:main\n".encode()
    rows = [f"{name},sha256={digest(octets)},{len(octets)}" for name, octets in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    return f"{NAME}-{version}-py3-none-{tag}.whl", files


def digest(octets):
    return base64.urlsafe_b64encode(hashlib.sha256(octets).digest()).rstrip(b"=").decode()


def main(library, command, directory):
    name, files = files_of_wheel(library, command, tag_of(library, command))
    place = pathlib.Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(place / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, octets in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # pip heeds it where it says that it is of a file.
            entry.external_attr = (stat.S_IFREG | (0o755 if octets.startswith(b"\x7fELF") else 0o644)) << 16
            wheel.writestr(entry, octets)
    print(place / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
