#!/usr/bin/env python3
"""Makes what the wheel for musl is compiled with: compilers that call zig's, and OpenSSL and libsodium for musl, of the distribution's sources.

Usage: musl.py ZIG PROCESSOR DIRECTORY JOBS      and then, for CMake: --toolchain DIRECTORY/toolchain.cmake

ZIG is where pip has put ziglang, PROCESSOR what `uname -m` tells there. What was made stays, and is taken the next time.
"""

import os
import pathlib
import shutil
import subprocess
import sys

# The certificate authorities of Alpine, and of others with musl, lie there.
OPENSSL = ["--openssldir=/etc/ssl", "--libdir=lib", "no-shared", "no-module", "no-tests"]
LIBSODIUM = ["--disable-shared", "--with-pic", "--quiet"]
# Its configure would link a program for each, and zig makes what belongs to every program anew for each. They are known to zig.
KNOWN = [f"ax_cv_check_cflags___m{name}=yes" for name in "mmx sse2 sse3 ssse3 sse4_1 avx avx2 avx512f aes pclmul rdrnd".split()]
HEADERS = ("boost", "toml++", "CLI", "fmt")  # no others of the system are for musl


def run(*command, **more):
    subprocess.run([str(part) for part in command], check=True, **more)


def make_compilers(zig, target, place):
    """Programs with the names of compilers, which is how build systems want them. Without a word zig links a program statically, and makes
    the whole C library for it, anew for each set of flags that a configure tries."""
    place.mkdir(parents=True, exist_ok=True)
    for name, does in (("cc", f"cc -target {target} -dynamic"), ("c++", f"c++ -target {target} -dynamic"), ("ar", "ar"), ("ranlib", "ranlib")):
        (place / name).write_text(f'#!/bin/sh\nexec {zig} {does} "$@"\n', encoding="utf-8")
        (place / name).chmod(0o755)


def fetch_sources(place, *names):
    """What apt's sources have under these names, with the distribution's patches. The machine's own lists stay as they are."""
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"],
                          check=True, capture_output=True, text=True).stdout
    rows = [row.split(maxsplit=1) for row in said.splitlines() if row.split()[0] in ("Debian", "Debian-Security", "Ubuntu")]
    every = list(dict.fromkeys(f"deb-src {where}\n" for _, where in rows))
    if not fetch_from(every, place, names):
        # A mirror of the distribution need not have the updates' sources.
        print("not every source is to be had: the release's own are taken", file=sys.stderr)
        if not fetch_from([line for line in every if "-security " not in line], place, names):
            sys.exit(f"no sources of {' and '.join(names)}")


def fetch_from(lines, place, names):
    shutil.rmtree(place, ignore_errors=True)
    lists = place / "lists"
    (lists / "partial").mkdir(parents=True)
    (place / "sources.list").write_text("".join(lines), encoding="utf-8")
    apart = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={place}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
             "-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    return not any(subprocess.run([*apart, *command], cwd=place, check=False).returncode for command in (["update"], ["source", *names]))


def source_of(place, name):
    return next(path for path in place.glob(f"{name}-*") if path.is_dir())


def make_libraries(root, processor, jobs):
    sources = root / "sources"
    if not sources.exists():
        fetched = root / "fetched"
        fetch_sources(fetched, "openssl", "libsodium")
        fetched.rename(sources)
    tools = {name: str(root / "bin" / tool) for name, tool in (("CC", "cc"), ("AR", "ar"), ("RANLIB", "ranlib"))}
    environment = {**os.environ, **tools}
    for name, configure, made, install in (
            ("openssl", ["./Configure", f"linux-{processor}", *OPENSSL], "build_libs", "install_dev"),
            ("libsodium", ["./configure", f"--host={processor}-linux-musl", *LIBSODIUM,
                           *(KNOWN if processor == "x86_64" else [])], "all", "install")):
        if (root / f"made-{name}").exists():
            continue
        place = source_of(sources, name)
        if not (place / configure[0]).exists():
            run("autoreconf", "--force", "--install", cwd=place)
        run(*configure, f"--prefix={root}", cwd=place, env=environment)
        for target in (made, install):
            run("make", "--silent", f"-j{jobs}", target, cwd=place, env=environment)
        (root / f"made-{name}").touch()


def main(zig, processor, directory, jobs):
    root = pathlib.Path(directory).resolve()
    make_compilers(pathlib.Path(zig).resolve() / "ziglang/zig", f"{processor}-linux-musl", root / "bin")
    make_libraries(root, processor, jobs)
    headers = root / "headers"
    headers.mkdir(exist_ok=True)
    for name in HEADERS:
        (headers / name).unlink(missing_ok=True)
        (headers / name).symlink_to(f"/usr/include/{name}")
    # The C library is another one even where the processor is this machine's. Named so, the system is another to CMake: its programs do not run here.
    (root / "toolchain.cmake").write_text(
        f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {processor})\n"
        f"set(CMAKE_C_COMPILER {root}/bin/cc)\nset(CMAKE_CXX_COMPILER {root}/bin/c++)\n"
        f"set(CMAKE_AR {root}/bin/ar)\nset(CMAKE_RANLIB {root}/bin/ranlib)\n"
        "set(CMAKE_LINKER /usr/bin/ld)\n"
        f"set(OPENSSL_ROOT_DIR {root})\nset(OPENSSL_USE_STATIC_LIBS ON)\nset(ENV{{PKG_CONFIG_LIBDIR}} {root}/lib/pkgconfig)\n"
        f"set(Boost_INCLUDE_DIR {headers})\nset(TOMLPLUSPLUS_INCLUDE_DIR {headers})\nset(ZLINK_COMMAND_HEADERS {headers})\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
