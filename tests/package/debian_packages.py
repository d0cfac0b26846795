"""Packages of a newer Debian than this machine may have, unpacked in a folder. The machine's own lists and packages stay as they are."""

import subprocess
import sys

SUITE = "trixie"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirrors_of(distribution):
    """Those that apt knows on this machine, the first one first."""
    known = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL)", "Created-By: Packages"],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[0] for line in known if line.endswith(f" {distribution} {distribution}")]


def unpack(place, name, architecture, into):
    """Fetches it by way of `place`, where the lists stay, too."""
    lists = place / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    mirrors = mirrors_of("Debian")
    if not mirrors:
        sys.exit(f"apt knows no mirror of Debian, which has the {name} that is wanted")
    (place / "sources.list").write_text(f"deb [arch={architecture} signed-by={KEYS}] {mirrors[0]} {SUITE} main\n", encoding="utf-8")
    apart = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={place}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
             "-o", f"Dir::State::Lists={lists}", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
             "-o", f"APT::Architectures::={architecture}", "-o", "APT::Sandbox::User=root"]
    for command in (["update"], ["download", f"{name}:{architecture}"]):
        subprocess.run([*apart, *command], cwd=place, check=True)
    subprocess.run(["dpkg-deb", "--extract", str(next(place.glob(f"{name}_*.deb"))), into], check=True)
