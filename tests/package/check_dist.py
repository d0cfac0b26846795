#!/usr/bin/python3
"""Makes a release twice, as two people would: the files are the same, the tarball has what the commit has, and the SBOM names everything.
The Debian packages know each function that the library has, and are made of what git knows.
With --offline it builds the libraries of the tarball in a network of its own that leads nowhere, and runs a program with each; where the
system has no such network for us, the status is 77.

Usage: check_dist.py SOURCE_DIRECTORY [--offline]
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import check_package

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


def check_tree(source, place):
    """A package is made of what git knows, as it lies there. A key that somebody has left among it is not."""
    work, tree = place / "work", place / "tree"
    known = {"packaging/tree.sh", ".gitignore", "README.md", "CHANGELOG.md", "src/a file.cpp"}
    (work / "src").mkdir(parents=True)
    (work / "packaging").mkdir()
    for name in known:
        (work / name).write_text("first")
    for name in ("packaging/tree.sh", ".gitignore"):
        shutil.copy(source / name, work / name)
    subprocess.run(["git", "init", "-q", work], check=True)
    subprocess.run(["git", "-C", work, "add", "-A"], check=True)
    for name in ("server.key", "notes.txt", "src/notes.cpp"):
        (work / name).write_text("of somebody")
    (work / "README.md").write_text("changed")
    (work / "CHANGELOG.md").unlink()
    said = subprocess.run([work / "packaging/tree.sh", tree], check=True, capture_output=True, text=True).stderr
    inside = {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}
    assert inside == known - {"CHANGELOG.md"}, f"packaged is {inside}"
    assert (tree / "README.md").read_text() == "changed", "a change is not packaged"
    named = {line.split(": ")[1] for line in said.splitlines() if line.startswith("left out")}
    assert named == {"notes.txt", "src/notes.cpp"}, f"left out, and said to be: {named}"


def build_offline(source, place):
    alone = next((how for how in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"])
                  if subprocess.run([*how, "true"], capture_output=True, check=False).returncode == 0), None)
    if alone is None:
        print("no network of its own is to be had here")
        sys.exit(77)
    files = release(source, place / "release", 0o022, {})
    tarball = next(name for name in files if name.endswith(".tar.xz"))
    with tarfile.open(place / "release" / tarball) as archive:
        archive.extractall(place)
    tree = place / tarball.removesuffix(".tar.xz")
    # What a build of these sources has left in the compiler's cache is taken, if there is any.
    environment = dict(os.environ, CCACHE_BASEDIR=str(tree), CCACHE_NOHASHDIR="1")
    for command in (("--preset", "release", "-D", "BUILD_TESTS=OFF", "-D", "ZLINK_COMMAND=OFF"),
                    ("--build", "--preset", "release", "-j", str(os.cpu_count()), "--target", "library")):
        check_package.run(*alone, "cmake", *command, cwd=tree, env=environment)
    (tree / "program.c").write_text(check_package.PROGRAM)
    libraries = tree / "build/release/lib"
    for flags in ([f"-L{libraries}", "-lzmq", f"-Wl,-rpath,{libraries}"],
                  ["-DZMQ_STATIC", libraries / "libzmq.a", "-lssl", "-lcrypto", "-lsodium", "-lstdc++", "-lpthread"]):
        check_package.run("cc", "-Iinclude", "program.c", "-o", "program", *flags, cwd=tree)
        check_package.expect(check_package.run("./program", cwd=tree), f"a program with {flags}")


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
        check_tree(source, place)
        check_bill(json.loads(files[f"{root}.spdx.json"]), hashlib.sha256(files[tarball]).hexdigest())


if __name__ == "__main__":
    if sys.argv[2:] == ["--offline"]:
        with tempfile.TemporaryDirectory() as folder:
            build_offline(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
    else:
        main(pathlib.Path(sys.argv[1]).resolve())
