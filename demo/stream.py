"""The stream the demonstration moves: the lines of this machine's own package lists."""

import glob
import subprocess
import sys
import zlib

APT_LISTS = "/var/lib/apt/lists/*Packages*"
APT_HELPER = "/usr/lib/apt/apt-helper"
DPKG_LISTS = ["/var/lib/dpkg/available", "/var/lib/dpkg/status"]


def texts():
    """The package lists, decompressed; dpkg's own lists where apt has none."""
    for path in sorted(glob.glob(APT_LISTS)):
        done = subprocess.run([APT_HELPER, "cat-file", path], capture_output=True, check=False)
        if done.returncode == 0:
            yield done.stdout
    for path in DPKG_LISTS:
        try:
            with open(path, "rb") as file:
                yield file.read()
        except OSError:
            continue


def lines(count):
    """So many lines, without their ends; the lists are repeated as often as it takes."""
    found = []
    for text in texts():
        found += text.split(b"\n")
        if len(found) >= count:
            return found[:count]
    if not found:
        sys.exit("no package list found")
    while len(found) < count:
        found += found
    return found[:count]


class Digest:
    """What is compared at both ends: how many lines and bytes, their sum in any order, and their sum in order."""

    def __init__(self):
        self.count = self.bytes = self.unordered = self.ordered = 0

    def add(self, line):
        self.count += 1
        self.bytes += len(line)
        self.unordered += zlib.crc32(line)
        self.ordered = zlib.crc32(line, self.ordered)

    def values(self):
        return {"count": self.count, "bytes": self.bytes, "unordered": self.unordered & (1 << 64) - 1,
                "ordered": self.ordered}
