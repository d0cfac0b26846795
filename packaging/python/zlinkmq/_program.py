"""Whether a program would come to use zlink if it is started with LD_PRELOAD: asked before one is started under a policy."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import struct
import sys

_LONGEST_FIRST_LINE = 255  # the kernel reads no further, and follows five of them
_DEEPEST = 5
_PT_INTERP = 3
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM


def obstacle(path: str) -> str | None:
    """Why the program in this file would not be on zlink; None where nothing is known against it. OSError if it cannot be read."""
    runs = _file_that_runs(path)
    if runs is None:
        return "its first line does not tell which program it runs"
    with open(runs, "rb") as file:
        octets = file.read()
    with open(sys.executable, "rb") as own:
        kind = own.read(20)
    if octets[:4] != b"\x7fELF":
        return "it is no program that the dynamic linker loads"
    if octets[4:6] != kind[4:6] or octets[18:20] != kind[18:20]:
        return "it is made for another kind of processor than this Python"
    if octets[4] != 2:
        return "it has addresses of 32 bits"
    try:
        if _PT_INTERP not in (segment[0] for segment in _table(octets, "I52x", 32, 54)):
            return "it is linked statically, and loads no library"
        defines = _defined(octets)
    except struct.error:
        return "its tables do not lie within the file"
    if _has_rights_of_its_own(runs):
        return "it is setuid, setgid or has capabilities, and the system preloads nothing there"
    if b"zmq_ctx_new" in defines and b"zlink_version" not in defines:
        return "it has a libzmq linked into it"
    return None


def _file_that_runs(path: str) -> str | None:
    """What the system runs for that file: itself, or of a script what its first line names, also by way of `env NAME`."""
    for _ in range(_DEEPEST):
        with open(path, "rb") as file:
            first = file.read(_LONGEST_FIRST_LINE)
        if first[:2] != b"#!":
            return path
        line, newline, _ = first[2:].partition(b"\n")
        words = os.fsdecode(line).split()
        if not newline or not words:
            return None
        path = words[0]
        if os.path.basename(path) == "env":
            # Its flags and variables can change what is loaded.
            if len(words) != 2 or words[1].startswith("-") or "=" in words[1]:
                return None
            found = shutil.which(words[1])
            if found is None:
                return None
            path = found
    return None


def _table(octets: bytes, record: str, offset_at: int, sizes_at: int) -> list[tuple]:
    """The records of a table that the header tells of: where it begins, how large a record is, and how many there are."""
    (begin,) = struct.unpack_from("=Q", octets, offset_at)
    size, count = struct.unpack_from("=HH", octets, sizes_at)
    return [struct.unpack_from("=" + record, octets, begin + i * size) for i in range(count)]


def _defined(octets: bytes) -> set[bytes]:
    """The names of libzmq's and zlink's functions, of two that tell, that the file itself defines."""
    sections = _table(octets, "4xI8x8xQQI12x8x", 40, 58)  # type, offset, size, link
    found = set()
    for kind, begin, size, link in sections:
        if kind not in _SYMBOL_TABLES or link >= len(sections):
            continue
        names = octets[sections[link][1] : sections[link][1] + sections[link][2]]
        wanted = {names.find(b"\0" + name + b"\0") + 1: name for name in (b"zmq_ctx_new", b"zlink_version")}
        for name, section in struct.iter_unpack("=I2xH16x", octets[begin : begin + size // 24 * 24]):
            if section != 0 and name != 0 and name in wanted:
                found.add(wanted[name])
    return found


def _has_rights_of_its_own(path: str) -> bool:
    if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
        return True
    # os.getxattr is not in every Python: those for musl went without it for long.
    getxattr = ctypes.CDLL(None).getxattr
    getxattr.restype, getxattr.argtypes = ctypes.c_ssize_t, (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    return getxattr(os.fsencode(path), b"security.capability", None, 0) > 0
