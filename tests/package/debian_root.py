#!/usr/bin/python3
"""Proves the packages in a bare root of Debian or Ubuntu that debootstrap makes, and prints what was seen as Markdown.

packages  installs zlink-libzmq5 and everything of the distribution that depends on libzmq5, looks which file each program and library
          there would load, has ten of them exchange messages, and has Debian's library back; then zlink beside libzmq5, chosen and not.
sources   unpacks a release tarball (make dist) in the root; there `make`, `make build`, `make demo` and `make package`, as somebody types
          them who has nothing but make. Then it installs these packages, exchanges messages, and goes there and back as above.
tests     unpacks such a tarball in the root; there `make deps-test`, and the unit tests, built by the compiler of that distribution. pip asks
          as it is told to on this machine.

JOBS of the environment says how many jobs compile there, and comes from `make source-proof JOBS=1`; without it there is one for each processor.

It needs root, the network, debootstrap, and 12 GB where the root is made; that is removed at the end. The mirror is the one that apt has
here for that distribution, or else the one that debootstrap knows. A root of Ubuntu has its updates, too; its keys are those of Debian 13's
package, where the machine has none.

Usage: debian_root.py packages SUITE DIRECTORY_OF_PACKAGES [ROOT]
       debian_root.py sources|tests SUITE TARBALL [ROOT]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import debian_packages

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = "libzmq.so.5"
KEYS_OF_UBUNTU = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
# Programs of the packages that the exchanges need beside those that depend on libzmq5.
ALSO_NEEDED = ["ffmpeg", "gcc", "libc6-dev", "octave", "php-cli", "pkg-config", "python3-ipython", "r-base-core"]
# It goes where Debian's development files would be, and comes with our packages.
NOT_INSTALLED = {"libzmq3-dev": "zlink-libzmq3-dev is in its place"}
OF_UBUNTU = "gutsy"  # the name of debootstrap's script
JOBS = os.environ.get("JOBS", str(os.cpu_count()))


def keys_of_ubuntu(place):
    """Debian 12 has no package of them."""
    if pathlib.Path("/", KEYS_OF_UBUNTU).exists():
        return f"/{KEYS_OF_UBUNTU}"
    native = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    debian_packages.unpack(place, "ubuntu-keyring", native, place)
    return place / KEYS_OF_UBUNTU


class Root:
    """A directory with a system of its own. What runs there is gone when the command ends, children and all."""

    def __init__(self, path, suite):
        self.path, self.suite = pathlib.Path(path), suite

    def make(self):
        if self.path.exists() and any(self.path.iterdir()):
            sys.exit(f"{self.path} is not empty: it would be removed at the end")
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o755)  # apt's own user has to get in
        script = pathlib.Path("/usr/share/debootstrap/scripts", self.suite)
        # All of Ubuntu's lead to one script. Debian 12's debootstrap has no link of that kind for a newer Ubuntu, and has all of Debian's.
        is_ubuntu = not script.exists() or script.resolve().name == OF_UBUNTU
        mirror = (debian_packages.mirrors_of("Ubuntu" if is_ubuntu else "Debian") or [""])[0]
        with tempfile.TemporaryDirectory(prefix="zlink_keys_") as place:
            which = [OF_UBUNTU] if is_ubuntu else []
            more = ["--components=main,universe", f"--keyring={keys_of_ubuntu(pathlib.Path(place))}"] if is_ubuntu else []
            subprocess.run(["debootstrap", "--variant=minbase", *more, self.suite, self.path, mirror, *which], check=True, stdout=subprocess.DEVNULL)
        if is_ubuntu:
            sources = self.path / "etc/apt/sources.list"
            line = sources.read_text(encoding="utf-8").splitlines()[0]
            updates = [line.replace(f" {self.suite} ", f" {self.suite}-{pocket} ") for pocket in ("updates", "security")]
            sources.write_text("\n".join([line, *updates, ""]), encoding="utf-8")
        (self.path / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")  # no service is started
        (self.path / "usr/sbin/policy-rc.d").chmod(0o755)
        self.run("apt-get", "update")
        self.run("apt-get", "upgrade", "-y")

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def attempt(self, *command, seconds=1200, alone=False):
        """Returns whether it went well, and what it wrote. Alone it has a network of its own, with a loopback and nothing else."""
        apart = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"] if alone else []
        inside = [*apart, "unshare", "--fork", "--pid", "--kill-child", "--mount", "--root", self.path, "--wd", "/", "--mount-proc", "env", "-i",
                  "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root", "LC_ALL=C.UTF-8"]
        try:
            done = subprocess.run([*inside, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  timeout=seconds, errors="replace", check=False)
        except subprocess.TimeoutExpired as late:
            return False, (late.stdout or b"").decode(errors="replace") + f"\nno end after {seconds} s"
        return done.returncode == 0, done.stdout

    def run(self, *command, seconds=1200):
        went_well, said = self.attempt(*command, seconds=seconds)
        if not went_well:
            sys.exit(f"in {self.path}: {' '.join(map(str, command))}:\n{said[-4000:]}")
        return said

    def install(self, *names):
        return self.run("apt-get", "install", "-y", "--no-install-recommends", "--allow-downgrades", *names)

    def installed(self):
        lines = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\\n").splitlines()
        return {line.split()[1]: line.split()[2] for line in lines if line.startswith("ii")}

    def remains_of(self, *names):
        """What dpkg still knows of them, and files with such a name."""
        known = self.attempt("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\\n", *names)[1]
        known = [line for line in known.splitlines() if line[:2] in ("ii", "rc")]
        return known + self.run("find", "/etc", "/usr", "/var/lib/dpkg/info", "-name", "*zlink*").split()


def dependents(root):
    lines = root.run("apt-cache", "rdepends", "--no-recommends", "--no-suggests", "libzmq5").splitlines()[2:]
    return sorted({line.strip(" |") for line in lines} - {"zlink-libzmq5", "zlink-tools", "zlink-libzmq3-dev"})


def users_of_library(root, package):
    """The files of a package that name the library as one they need."""
    files = root.run("dpkg", "-L", package).splitlines()
    found = []
    for name in files:
        path = root.path / name.lstrip("/")
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=False).stdout
        if f"[{LIBRARY}]" in said:
            found.append(name)
    return found


def loaded_file(root, user):
    lines = [line for line in root.attempt("ldd", user)[1].splitlines() if LIBRARY in line]
    words = lines[0].split() if lines else []
    return os.path.realpath(f"{root.path}{words[2]}") if len(words) == 4 else ""


def is_ours(path):
    return bool(path) and b"ZLINK_LOG" in pathlib.Path(path).read_bytes()


def check_dependents(root):
    """Each package that depends on libzmq5, in a system that has ours. Two that exclude one another are there in turn."""
    wrong = []
    print("| package | version | files that need libzmq.so.5 | load zlink |\n|---|---|---|---|")
    for name in dependents(root):
        if name in NOT_INSTALLED:
            print(f"| {name} | | {NOT_INSTALLED[name]} | |")
            continue
        went_well, said = root.attempt("apt-get", "install", "-y", "--no-install-recommends", name)
        version = root.installed().get(name)
        if not went_well or not version:
            print(f"| {name} | | cannot be installed | |")
            wrong.append(name)
            print(said[-2000:], file=sys.stderr)
            continue
        users = users_of_library(root, name)
        ours = [user for user in users if is_ours(loaded_file(root, user))]
        loads = "all" if ours == users else f"not {', '.join(set(users) - set(ours))}"
        print(f"| {name} | {version} | {len(users)} | {loads if users else 'opened by name'} |", flush=True)
        if ours != users or "zlink-libzmq5" not in root.installed():
            wrong.append(name)
        root.run("apt-get", "clean")
    return wrong


def check_exchanges(root, *only):
    shutil.copytree(HERE / "exchanges", root.path / "exchanges", dirs_exist_ok=True)
    wrong = []
    print("\n| exchange | result |\n|---|---|")
    for script in sorted((HERE / "exchanges").glob("*.*")):
        if only and script.name not in only:
            continue
        title = script.read_text(encoding="utf-8").splitlines()[1].removeprefix("<?php").lstrip("#%/ ")
        went_well, said = root.attempt(f"/exchanges/{script.name}", seconds=120, alone=True)
        print(f"| {title} | {'in order' if went_well else 'failed'} |", flush=True)
        if not went_well:
            wrong.append(script.name)
            print(said[-3000:], file=sys.stderr)
    return wrong


def library_in_use(root):
    """What libczmq of the distribution runs on. It has no RUNPATH, as python3-zmq has in Debian 13, which would go before zlink-select."""
    return "zlink" if is_ours(loaded_file(root, users_of_library(root, "libczmq4")[0])) else "libzmq"


def expect(what, seen, wanted, wrong):
    print(f"- {what}: {seen}")
    if seen != wanted:
        wrong.append(f"{what}: {seen}, not {wanted}")


def check_completions(root, wrong):
    """Shells of the distribution complete what is typed behind `zlink`."""
    root.install("bash-completion", "zsh", "python3")
    shutil.copy(HERE / "press_tab.py", root.path)
    for shell, place in (("bash", "bash-completion/completions/zlink"), ("zsh", "zsh/vendor-completions/_zlink")):
        owner = root.attempt("dpkg", "-S", f"/usr/share/{place}")[1].split(":")[0]
        expect(f"`/usr/share/{place}` is of", owner, "zlink-tools", wrong)
        in_terminal = ("sh", "-ec", 'mount -t devpts devpts /dev/pts; exec /press_tab.py "$1"', "sh", shell)
        expect(f"`zlink su`, TAB, `--topi`, TAB in {shell}", root.attempt(*in_terminal, seconds=120)[1].strip(), "sub --topic", wrong)


def there_and_back(root, at):
    """From the packages to Debian's library and back, beside it, and away."""
    wrong = []
    root.run("apt-get", "check")
    expect("`apt-get check` finds", "nothing", "nothing", wrong)
    root.install("libzmq5")
    expect("after `apt install libzmq5`, on", library_in_use(root), "libzmq", wrong)
    expect("zlink-libzmq5 is installed", "zlink-libzmq5" in root.installed(), False, wrong)
    root.install(at["zlink-libzmq5"])
    expect("after `apt install zlink-libzmq5`, on", library_in_use(root), "zlink", wrong)
    root.install("libzmq5", at["zlink"])
    expect("with libzmq5 and zlink, on", library_in_use(root), "libzmq", wrong)
    said = root.run("env", "ZLINK_LOG=info", "zlink-run", "python3", "-c", "import zmq; zmq.Context()")
    expect("with zlink-run, on", "zlink" if "zlink/libzmq.so.5" in said else "libzmq", "zlink", wrong)
    refused, said = root.attempt("zlink-run", "--policy", "/etc/hosts", "passwd", "--help")
    expect("with `zlink-run --policy`, a program that is setuid", "refused" if not refused and "setuid" in said else "runs", "refused", wrong)
    root.run("zlink-select", "on")
    expect("after `zlink-select on`, on", library_in_use(root), "zlink", wrong)
    root.run("apt-get", "install", "--reinstall", "-y", at["zlink"])
    expect("after zlink was installed again, on", library_in_use(root), "zlink", wrong)
    root.run("zlink-select", "off")
    expect("after `zlink-select off`, on", library_in_use(root), "libzmq", wrong)
    root.run("zlink-select", "on")
    root.run("apt-get", "purge", "-y", "zlink", "zlink-tools")
    expect("after `apt purge zlink` while it was chosen, on", library_in_use(root), "libzmq", wrong)
    root.install(at["zlink-libzmq5"], at["zlink-libzmq3-dev"])
    root.run("apt-get", "purge", "-y", "zlink-libzmq5", "zlink-libzmq3-dev", "libzmq5+")
    expect("after `apt purge zlink-libzmq5 libzmq5+`, on", library_in_use(root), "libzmq", wrong)
    expect("what remains of the packages", root.remains_of("zlink", "zlink-tools", "zlink-libzmq5", "zlink-libzmq3-dev") or "nothing", "nothing", wrong)
    root.run("apt-get", "check")
    return wrong


def made_packages(directory):
    return [path for path in pathlib.Path(directory).glob("*.deb") if "-dbgsym" not in path.name]


def put_in(root, debs):
    """Where they are in the root, by the names of the packages."""
    (root.path / "packages").mkdir()
    for deb in debs:
        shutil.copy(deb, root.path / "packages")
    return {path.name.split("_")[0]: f"/packages/{path.name}" for path in debs}


def prove_packages(root, debs):
    at = put_in(root, debs)
    wrong = []
    root.install("libczmq4", "python3-zmq")
    expect("before, a program runs on", library_in_use(root), "libzmq", wrong)
    root.install(at["zlink-libzmq5"], at["zlink-libzmq3-dev"], at["zlink-tools"])
    expect("with zlink-libzmq5, on", library_in_use(root), "zlink", wrong)
    check_completions(root, wrong)
    print()
    wrong += check_dependents(root)
    root.run("apt-get", "check")
    root.install(*ALSO_NEEDED)
    wrong += check_exchanges(root)
    print()

    return wrong + there_and_back(root, at)


def unpack(root, tarball):
    shutil.copy(tarball, root.path)
    root.install("make", "xz-utils")
    root.run("tar", "-xf", f"/{tarball.name}", "-C", "/root")
    return f"/root/{tarball.name.removesuffix('.tar.xz')}"


def prove_tests(root, tarball):
    place = unpack(root, tarball)
    for path in map(pathlib.Path, ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")):
        if path.is_file():
            (root.path / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root.path / path.relative_to("/"))
    in_place = ("sh", "-ec", f'cd {place}; exec "$@"', "sh")
    for title, *command in (("make deps-test", "make", "deps-test"), ("cmake --preset release", "cmake", "--preset", "release"),
                            ("the unit tests are built", "cmake", "--build", "--preset", "release", "-j", JOBS, "--target", "unit_tests"),
                            ("the unit tests", "ctest", "--preset", "release", "-R", "^unit_")):
        went_well, said = root.attempt(*in_place, *command, seconds=7200)
        print(f"- {title}: {'in order' if went_well else 'failed'}", flush=True)
        print(said[-3000:], file=sys.stderr)
        if not went_well:
            return [title]
    print(f"- {root.run('c++', '--version').splitlines()[0]}, {root.run('cmake', '--version').splitlines()[0]}")
    return []


def prove_sources(root, tarball):
    place = unpack(root, tarball)
    wrong = []
    for target in ("", "build", "demo", "package"):
        went_well, said = root.attempt("make", "-C", place, f"JOBS={JOBS}", *target.split(), seconds=3600)
        print(f"- `{f'make {target}'.strip()}`: {'in order' if went_well else 'failed'}", flush=True)
        print(said[-3000:], file=sys.stderr)
        if not went_well:
            wrong.append(target)
    print(f"- {root.run('c++', '--version').splitlines()[0]}, {root.run('cmake', '--version').splitlines()[0]}")
    at = put_in(root, made_packages(f"{root.path}{place}/build/package"))
    print(f"- packages: {' '.join(sorted(map(os.path.basename, at.values())))}")
    if "package" in wrong:
        return wrong
    root.install("libczmq4", "python3-zmq", "gcc", "libc6-dev", "pkg-config")
    root.install(at["zlink-libzmq5"], at["zlink-libzmq3-dev"], at["zlink-tools"])
    expect("with zlink-libzmq5, a program runs on", library_in_use(root), "zlink", wrong)
    check_completions(root, wrong)
    wrong += check_exchanges(root, "czmq.py", "development.sh", "pyzmq.py")
    print()
    return wrong + there_and_back(root, at)


def main(kind, suite, what, place=None):
    root = Root(place or tempfile.mkdtemp(prefix="zlink_root_"), suite)
    try:
        root.make()
        if kind == "packages":
            wrong = prove_packages(root, made_packages(what))
        else:
            wrong = (prove_tests if kind == "tests" else prove_sources)(root, pathlib.Path(what))
    finally:
        root.remove()
    if wrong:
        sys.exit("\n".join(["", "wrong:", *map(str, wrong)]))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("packages", "sources", "tests"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
