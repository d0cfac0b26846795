#!/usr/bin/python3
"""Makes a release twice, as two people would: the files are the same, the tarball has what the commit has, and the SBOM names everything.
The Debian packages know each function that the library has.

Usage: check_dist.py SOURCE_DIRECTORY
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

NAMES = {"zlink": "MPL-2.0", "Boost": "BSL-1.0", "toml++": "MIT", "CLI11": "BSD-3-Clause", "fmt": "MIT",
         "OpenSSL": "Apache-2.0", "libsodium": "ISC"}
# What nobody builds a release with, and what must not show in it.
OF_OTHERS = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "tar.umask", "GIT_CONFIG_VALUE_0": "0077"}


def release(source, place, umask, environment):
    subprocess.run([source / "packaging/dist.py", place], check=True, umask=umask, env={**os.environ, **environment},
                   stdout=subprocess.DEVNULL)
    return {path.name: path.read_bytes() for path in place.iterdir()}


def check_sums(files):
    lines = dict(reversed(line.split()) for line in files["SHA256SUMS"].decode().splitlines())
    sums = {name: hashlib.sha256(octets).hexdigest() for name, octets in files.items() if name != "SHA256SUMS"}
    assert lines == sums, f"SHA256SUMS says {lines} of {sums}"


def check_contents(source, path, root):
    listed = subprocess.run(["git", "-c", f"safe.directory={source}", "ls-tree", "-r", "--name-only", "HEAD"], cwd=source, check=True, capture_output=True, text=True)
    with tarfile.open(path) as archive:
        inside = {member.name for member in archive if not member.isdir()}
    expected = {f"{root}/{name}" for name in listed.stdout.splitlines()}
    assert inside == expected, f"tarball and commit differ in {inside ^ expected}"


def check_bill(bill, digest):
    packages = {package["name"]: package for package in bill["packages"]}
    assert {name: package["licenseDeclared"] for name, package in packages.items()} == NAMES, packages
    for package in packages.values():
        assert package["versionInfo"][0].isdigit(), package
    assert packages["zlink"]["checksums"][0]["checksumValue"] == digest, packages["zlink"]
    known = {"SPDXRef-DOCUMENT"} | {package["SPDXID"] for package in packages.values()}
    related = {side for line in bill["relationships"] for side in (line["spdxElementId"], line["relatedSpdxElement"])}
    assert related == known, related ^ known


def check_functions_of_packages(source):
    known = (source / "packaging/debian/zlink-libzmq5.symbols").read_text().splitlines()
    known = {line.split("@")[0].strip() for line in known if line.startswith(" ")}
    exported = set((source / "tests/abi/symbols.txt").read_text().split())
    assert known == exported, f"zlink-libzmq5.symbols and the library differ in {known ^ exported}"


def main(source):
    check_functions_of_packages(source)
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        files = release(source, place / "one", 0o022, {})
        assert files == release(source, place / "other", 0o077, OF_OTHERS), "two releases of one commit differ"
        check_sums(files)
        tarball = next(name for name in files if name.endswith(".tar.xz"))
        root = tarball.removesuffix(".tar.xz")
        check_contents(source, place / "one" / tarball, root)
        check_bill(json.loads(files[f"{root}.spdx.json"]), hashlib.sha256(files[tarball]).hexdigest())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
