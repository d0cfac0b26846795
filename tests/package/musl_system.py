"""musl's own dynamic linker, which is also its C library, of Debian's package of it: the oldest that knows packed relocations (RELR, from 1.2.4
on), which the libraries of PyPI's wheels for musl have. The machine's own lists and packages stay as they are."""

import pathlib
import subprocess
import sys

SUITE = "trixie"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


def fetch_loader(place, processor):
    """Its path. It is fetched once."""
    name = f"ld-musl-{processor}.so.1"
    found = place / processor / "usr/lib" / name
    if found.exists():
        return found
    lists = place / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages"],
                          check=True, capture_output=True, text=True).stdout.splitlines()
    mirror = next((line.split()[0] for line in said if line.endswith(" Debian")), None)
    if mirror is None:
        sys.exit("apt knows no mirror of Debian, which has the musl that is wanted")
    debian = DEBIAN_NAMES[processor]
    (place / "sources.list").write_text(f"deb [arch={debian} signed-by={KEYS}] {mirror} {SUITE} main\n", encoding="utf-8")
    apart = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={place}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
             "-o", f"Dir::State::Lists={lists}", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
             "-o", f"APT::Architectures::={debian}", "-o", "APT::Sandbox::User=root"]
    for command in (["update"], ["download", f"musl:{debian}"]):
        subprocess.run([*apart, *command], cwd=place, check=True)
    subprocess.run(["dpkg-deb", "--extract", str(next(place.glob(f"musl_*_{debian}.deb"))), place / processor], check=True)
    return found


def version_of(loader, *emulator):
    """As it tells itself."""
    said = subprocess.run([*emulator, str(pathlib.Path(loader))], capture_output=True, text=True, check=False).stderr
    return next((line.split()[1] for line in said.splitlines() if line.startswith("Version ")), "unknown")
