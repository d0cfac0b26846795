#!/usr/bin/python3
"""Makes a release of the last commit: the tarball of its sources, an SBOM of what a build of it holds and needs, and their SHA-256.

Two runs give the same octets: the tarball is a function of the commit; the SBOM, also of the libraries on this machine, which are those
that the release is tested with. Nothing is compiled, and what the commit does not have is left out.

Usage: dist.py DIRECTORY
"""

import datetime
import hashlib
import json
import lzma
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
GIT = ("git", "-c", f"safe.directory={SOURCE}")  # of a checkout that may be another user's

# Name, licence, how it comes in, and the names under which scanners of vulnerabilities know it: vendor and product of a CPE.
DEPENDENCIES = [
    ("Boost", "BSL-1.0", "STATIC_LINK", "boost:boost"),
    ("toml++", "MIT", "STATIC_LINK", None),
    ("CLI11", "BSD-3-Clause", "STATIC_LINK", None),
    ("fmt", "MIT", "STATIC_LINK", None),
    ("OpenSSL", "Apache-2.0", "DYNAMIC_LINK", "openssl:openssl"),
    ("libsodium", "ISC", "DYNAMIC_LINK", "libsodium:libsodium"),
]
# The preprocessor tells the versions of the headers that a build would take.
HEADERS = """
#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <fmt/core.h>
#include <openssl/opensslv.h>
#include <sodium/version.h>
#include <toml++/toml.h>
VERSION Boost BOOST_VERSION
VERSION CLI11 CLI11_VERSION
VERSION fmt FMT_VERSION
VERSION OpenSSL OPENSSL_VERSION_STR
VERSION libsodium SODIUM_VERSION_STRING
VERSION toml++ TOML_LIB_MAJOR.TOML_LIB_MINOR.TOML_LIB_PATCH
"""


def output_of(*command, **more):
    return subprocess.run(command, cwd=SOURCE, check=True, stdout=subprocess.PIPE, **more).stdout


def versions_of_dependencies():
    said = output_of("c++", "-std=c++20", "-E", "-P", "-x", "c++", "-", input=HEADERS.encode()).decode()
    found = [line.split(maxsplit=2) for line in said.splitlines() if line.startswith("VERSION ")]
    versions = {name: "".join(text.replace('"', "").split()) for _, name, text in found}
    number = int(versions["Boost"])
    versions["Boost"] = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"
    number = int(versions["fmt"])
    versions["fmt"] = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return versions


def tarball(version):
    archive = output_of(*GIT, "-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix=zlink-{version}/", "HEAD")
    return lzma.compress(archive, preset=2)  # a sixth larger than with 6, in a quarter of the time


def package(name, version, licence, cpe, **more):
    entry = {
        "name": name,
        "SPDXID": f"SPDXRef-{name.replace('+', 'p')}",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        **more,
    }
    if cpe:
        entry["externalRefs"] = [{
            "referenceCategory": "SECURITY",
            "referenceType": "cpe23Type",
            "referenceLocator": f"cpe:2.3:a:{cpe}:{version}:*:*:*:*:*:*:*",
        }]
    return entry


def sbom(version, tarball_name, digest, seconds):
    """As SPDX 2.3."""
    own = package("zlink", version, "MPL-2.0", None, packageFileName=tarball_name,
                  checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    found = versions_of_dependencies()
    others = [package(name, found[name], licence, cpe) for name, licence, _, cpe in DEPENDENCIES]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], how, other["SPDXID"]) for (_, _, how, _), other in zip(DEPENDENCIES, others)]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"zlink-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/zlink-{version}-{digest}",
        "comment": "Of Boost and toml++ headers are compiled in, and of CLI11 and fmt into the command. OpenSSL and libsodium are shared libraries of the system, unless a "
                   "packager links them in. The versions are those that this release was tested with.",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: zlink-dist-{version}"],
        },
        "packages": [own, *others],
        "relationships": [{"spdxElementId": whose, "relationshipType": kind, "relatedSpdxElement": of}
                          for whose, kind, of in relations],
    }


def main(place):
    version = output_of(str(SOURCE / "packaging/version.sh")).decode().strip()
    if output_of(*GIT, "status", "--porcelain"):
        print("dist: what is not committed is not in the tarball", file=sys.stderr)
    place.mkdir(parents=True, exist_ok=True)
    sources = tarball(version)
    digest = hashlib.sha256(sources).hexdigest()
    name = f"zlink-{version}.tar.xz"
    written = {name: sources}
    bill = sbom(version, name, digest, int(output_of(*GIT, "log", "-1", "--format=%ct")))
    written[f"zlink-{version}.spdx.json"] = (json.dumps(bill, indent=2) + "\n").encode()
    written["SHA256SUMS"] = "".join(f"{hashlib.sha256(octets).hexdigest()}  {name}\n" for name, octets in written.items()).encode()
    for name, octets in written.items():
        (place / name).write_bytes(octets)
        print(place / name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
