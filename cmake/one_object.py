#!/usr/bin/env python3
"""Makes an archive hold one object: what it holds, with what that needs of other archives, and nothing global but the interface.

Usage: one_object.py ARCHIVE MAP LINKER OBJCOPY AR OTHER_ARCHIVE...

MAP is the version script of the shared library, which names the interface.
"""

import pathlib
import re
import struct
import subprocess
import sys

SYMBOL_TABLE = 2  # SHT_SYMTAB
GLOBAL = 1        # STB_GLOBAL
UNIQUE = 10       # STB_GNU_UNIQUE


def make_unique_global(path):
    """objcopy leaves symbols that are one in the whole process as they are, and the linker takes them for defined twice."""
    octets = bytearray(path.read_bytes())
    if octets[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"{path} is not an object of 64 bits, little-endian")
    (sections,) = struct.unpack_from("<Q", octets, 40)
    size, count = struct.unpack_from("<HH", octets, 58)
    if count == 0:  # they are too many for that field
        (count,) = struct.unpack_from("<Q", octets, sections + 32)
    for section in range(sections, sections + size * count, size):
        (kind,) = struct.unpack_from("<I", octets, section + 4)
        if kind == SYMBOL_TABLE:
            offset, length = struct.unpack_from("<QQ", octets, section + 24)
            for symbol in range(offset, offset + length, 24):
                if octets[symbol + 4] >> 4 == UNIQUE:
                    octets[symbol + 4] = GLOBAL << 4 | octets[symbol + 4] & 15
    path.write_bytes(octets)


def main(archive, version_script, linker, objcopy, ar, *others):
    script = pathlib.Path(version_script).read_text(encoding="ascii")
    interface = re.findall(r"[\w*]+(?=;)", script.split("global:")[1].split("local:")[0])
    archive = pathlib.Path(archive)
    whole = archive.with_suffix(".o")
    # Groups are dissolved: otherwise the linker of a program would take one of the program's own for one of ours.
    subprocess.run([linker, "-r", "-d", "--force-group-allocation", "-o", whole, "--whole-archive", archive, "--no-whole-archive",
                    "--start-group", *others, "--end-group"], check=True)
    make_unique_global(whole)
    subprocess.run([objcopy, "--wildcard", *(f"--keep-global-symbol={name}" for name in interface), whole], check=True)
    archive.unlink()
    subprocess.run([ar, "rcs", archive, whole], check=True)
    whole.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
