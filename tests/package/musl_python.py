#!/usr/bin/python3
"""Proves the wheel for musl: builds a Python of the distribution's sources for musl, has pip install the wheel there, and exchanges messages by
ctypes. Then pyzmq's own suite runs there on zlink, with pyzmq's wheel for musl, which has a libzmq of its own inside. Prints what was seen.

It needs the network, and some minutes. What it has built stays in DIRECTORY, and is taken the next time.

Usage: musl_python.py WHEELS DIRECTORY JOBS      WHEELS is where `make wheel LIBC=musl` has put its own: build/wheel/musl
"""

import os
import pathlib
import platform
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "packaging/python"))
import musl  # noqa: E402  pylint: disable=wrong-import-position
import musl_system  # noqa: E402  pylint: disable=wrong-import-position

# zig's musl has these, and Debian's, which is older, has not.
NEWER = ["ac_cv_func_preadv2=no", "ac_cv_func_pwritev2=no"]
PYZMQ = "pyzmq==27.3.0"
# One of its tests fails now and then on its own libzmq, too: its authors have marked it to be run again (flaky), which rerunfailures does.
SUITE_NEEDS = ["tornado", "pytest", "pytest-asyncio", "pytest-timeout", "pytest-rerunfailures", "iniconfig", "packaging", "pluggy", "pygments",
               "typing_extensions"]
LEFT_OUT = [
    # Publishes right after it has subscribed, and waits for ever for what was published before the subscription had arrived.
    "tests/test_log.py::TestPubLog::test_blank_root_topic",
    # One key in 85 begins with a minus, and its program takes that for an option.
    "tests/test_curve_keygen.py::test_curve_keygen_secret",
]
# Two sockets over tcp, under each protection, with the library that is there before all others.
PROGRAM = """
import ctypes
from zlinkmq._built import OPTIONS

zmq = ctypes.CDLL(None)
for name in ("zmq_ctx_new", "zmq_socket"):
    getattr(zmq, name).restype = ctypes.c_void_p
context = ctypes.c_void_p(zmq.zmq_ctx_new())

def set_option(socket, name, value):
    octets = value if isinstance(value, bytes) else value.to_bytes(4, "little")
    assert zmq.zmq_setsockopt(socket, OPTIONS[name][0], octets, ctypes.c_size_t(len(octets))) == 0, name

def keys():
    public, secret = ctypes.create_string_buffer(41), ctypes.create_string_buffer(41)
    assert zmq.zmq_curve_keypair(public, secret) == 0
    return public.value, secret.value

for kind in ("tcp", "curve", "tls"):
    pull, push = (ctypes.c_void_p(zmq.zmq_socket(context, number)) for number in (7, 8))
    set_option(pull, "rcvtimeo", 20000)
    if kind == "curve":
        public, secret = keys()
        set_option(pull, "curve_server", 1)
        set_option(pull, "curve_secretkey", secret)
        set_option(push, "curve_serverkey", public)
        for name, key in zip(("curve_publickey", "curve_secretkey"), keys()):
            set_option(push, name, key)
    if kind == "tls":
        set_option(pull, "tls_cert", b"cert.pem")
        set_option(pull, "tls_key", b"key.pem")
        set_option(push, "tls_ca", b"cert.pem")
    assert zmq.zmq_bind(pull, b"tls://127.0.0.1:*" if kind == "tls" else b"tcp://127.0.0.1:*") == 0
    where, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
    zmq.zmq_getsockopt(pull, OPTIONS["last_endpoint"][0], where, ctypes.byref(size))
    assert zmq.zmq_connect(push, where.value) == 0
    for number in range(1000):
        assert zmq.zmq_send(push, b"%04d" % number, ctypes.c_size_t(4), 0) == 4
    got = ctypes.create_string_buffer(4)
    for number in range(1000):
        assert zmq.zmq_recv(pull, got, ctypes.c_size_t(4), 0) == 4 and got.raw == b"%04d" % number
    zmq.zmq_close(pull)
    zmq.zmq_close(push)
    print(kind, end=" ", flush=True)
zmq.zmq_ctx_term(context)
"""


def build_python(sources, place, compilers, loader, jobs):
    """Its modules ask for libffi and zlib. No test of theirs runs: what is proved is the wheel."""
    if (place / "bin/python3").exists():
        return
    name = f"python3.{sys.version_info[1]}"
    if not sources.exists():
        musl.fetch_sources(sources, name, "libffi", "zlib")
        # The distribution's patches are for its own way to build.
        subprocess.run(["tar", "-xf", next(sources.glob(f"{name}_*.orig.tar.*z"))], cwd=sources, check=True)
    (place / "include").mkdir(parents=True, exist_ok=True)
    (place / "lib").mkdir(exist_ok=True)
    environment = {**os.environ, "CC": f"{compilers}/cc", "CXX": f"{compilers}/c++", "AR": f"{compilers}/ar",
                   "RANLIB": f"{compilers}/ranlib"}

    def run(where, *command, **more):
        subprocess.run([str(part) for part in command], cwd=where, check=True, env={**environment, **more}, stdout=subprocess.DEVNULL)

    libffi, zlib, python = (musl.source_of(sources, name) for name in ("libffi", "zlib", "Python"))
    run(libffi, "./configure", f"--host={platform.machine()}-linux-musl", f"--prefix={place}", "--disable-shared", "--with-pic", "--disable-docs",
        "--disable-exec-static-tramp")
    run(libffi, "make", f"-j{jobs}", "install")
    run(zlib, "./configure", "--static", f"--prefix={place}", CFLAGS="-O2 -fPIC")
    run(zlib, "make", "libz.a")
    run(zlib, "cp", "libz.a", place / "lib")
    run(zlib, "cp", "zlib.h", "zconf.h", place / "include")
    more = {"CPPFLAGS": f"-I{place}/include", "LDFLAGS": f"-L{place}/lib -Wl,--dynamic-linker={loader}",
            "CFLAGS": "-O1 -w -Wno-date-time -fno-sanitize=all",
            "PKG_CONFIG_LIBDIR": f"{place}/lib/pkgconfig"}
    # The kind of system is in the names of the extensions that it loads, those of PyPI included.
    run(python, "./configure", "-q", f"--build={platform.machine()}-linux-musl", f"--prefix={place}", "--disable-test-modules",
        "--with-ensurepip=no", *NEWER, **more)
    for target in ("all", "install"):
        run(python, "make", "-s", f"-j{jobs}", target, **more)


def install(python, wheels, place):
    """Has pip of that Python choose: it takes a wheel only if its tag fits the interpreter and its C library."""
    fetched = place / "fetched"
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", fetched]
    subprocess.run([*download, "--only-binary=:all:", "--python-version", f"3.{sys.version_info[1]}", "--implementation", "cp",
                    "--platform", f"musllinux_1_2_{platform.machine()}", "pip", PYZMQ, *SUITE_NEEDS], check=True)
    pip = next(fetched.glob("pip-*.whl"))
    chosen = [*pathlib.Path(wheels).glob("*.whl"), *(path for path in fetched.glob("*.whl") if path != pip)]
    subprocess.run([python, f"{pip}/pip", "install", "--quiet", "--no-index", "--no-deps", "--upgrade", "--root-user-action=ignore", "--target",
                    place / "installed", *chosen], check=True)
    if not (place / "suite").exists():
        subprocess.run([*download, "--no-binary=pyzmq", PYZMQ], check=True)
        subprocess.run(["tar", "-xf", next(fetched.glob("pyzmq-*.tar.gz")), "-C", place, "--transform", "s,^[^/]*,suite,"], check=True)


def prove_by_suite(python, place, environment):
    """Returns what went wrong."""
    command = [python, "-m", "zlinkmq", "run", "--", python, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "--timeout", "120",
               *(f"--deselect={name}" for name in LEFT_OUT), "."]
    said = subprocess.run([python, "-m", "zlinkmq", "run", "--", python, "-c", "import zmq; print(zmq.has('tls'))"], env=environment, text=True,
                          capture_output=True, timeout=120, check=False).stdout
    done = subprocess.run(command, env=environment, cwd=place / "suite/tests", text=True, capture_output=True, timeout=1800, check=False)
    counted = re.search(r"^=*\s*((?:\d+ \w+, )*\d+ \w+) in ", done.stdout, re.MULTILINE)
    in_order = said == "True\n" and done.returncode == 0 and counted
    print(f"- {PYZMQ}'s own suite, its wheel for musl run on zlink: {counted[1] if counted else 'no end'}{'' if in_order else ', failed'}", flush=True)
    return [] if in_order else [f"pyzmq's suite: {done.returncode}, zlink is in use: {said}\n{done.stdout[-6000:]}{done.stderr[-2000:]}"]


def prove(python, place):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "ZLINK_", "PYTHON"))}
    environment["PYTHONPATH"] = str(place / "installed")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
                    "-days", "2", "-subj", "/CN=musl", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, cwd=place, capture_output=True)
    wrong = []
    for title, command, expected in (
            ("the interpreter's C library", ["-c", "print([line.split()[-1] for line in open('/proc/self/maps') if 'ld-musl' in line or 'libc.' in line][0])"],
             "libc.so"),
            ("1000 messages each, run on zlink", ["-m", "zlinkmq", "run", "--", python, "-c", PROGRAM], "tcp curve tls"),
            ("the same without zlink", ["-c", "import ctypes; print(hasattr(ctypes.CDLL(None), 'zmq_ctx_new'))"], "False"),
    ):
        done = subprocess.run([python, *map(str, command)], env=environment, cwd=place, text=True, capture_output=True, timeout=120, check=False)
        in_order = done.returncode == 0 and expected in done.stdout
        tells = [line for line in done.stdout.splitlines() if expected in line]
        print(f"- {title}: {'failed' if not in_order else tells[0].strip() if tells else 'in order'}", flush=True)
        if not in_order:
            wrong.append(f"{title}: {done.returncode}\n{done.stdout}{done.stderr}")
    return wrong + prove_by_suite(python, place, environment)


def main(wheels, directory, jobs):
    place = pathlib.Path(directory).resolve()
    loader = musl_system.fetch_loader(place.parent / "musl_system", platform.machine())
    print(f"- musl {musl_system.version_of(loader)}", flush=True)
    build_python(place / "sources", place / "python", pathlib.Path(wheels).resolve() / "root/bin", loader, jobs)
    python = place / "python/bin/python3"
    install(python, wheels, place)
    wrong = prove(python, place)
    if wrong:
        sys.exit("\n".join(["", "wrong:", *wrong]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
