"""musl's own dynamic linker, which is also its C library, of Debian's package of it: the oldest that knows packed relocations (RELR, from 1.2.4
on), which the libraries of PyPI's wheels for musl have. The machine's own lists and packages stay as they are."""

import pathlib
import subprocess

import debian_packages

DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


def fetch_loader(place, processor):
    """Its path. It is fetched once."""
    name = f"ld-musl-{processor}.so.1"
    found = place / processor / "usr/lib" / name
    if found.exists():
        return found
    debian_packages.unpack(place, "musl", DEBIAN_NAMES[processor], place / processor)
    return found


def version_of(loader, *emulator):
    """As it tells itself."""
    said = subprocess.run([*emulator, str(pathlib.Path(loader))], capture_output=True, text=True, check=False).stderr
    return next((line.split()[1] for line in said.splitlines() if line.startswith("Version ")), "unknown")
