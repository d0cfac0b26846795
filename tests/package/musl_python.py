#!/usr/bin/python3
"""Proves the wheel for musl: builds a Python of the distribution's sources for musl, has pip install the wheel there, and exchanges messages by
ctypes. Prints what was seen. PyPI's pyzmq for musl is left out: its libgcc_s has relocations (RELR) that musl knows from 1.2.4 on only, and
Debian's musl is older.

It needs the network, the package musl, and some minutes. What it has built stays in DIRECTORY, and is taken the next time.

Usage: musl_python.py WHEELS DIRECTORY JOBS      WHEELS is where `make wheel LIBC=musl` has put its own: build/wheel/musl
"""

import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "packaging/python"))
import musl  # noqa: E402  pylint: disable=wrong-import-position

# zig's musl has these, and Debian's, which is older, has not.
NEWER = ["ac_cv_func_preadv2=no", "ac_cv_func_pwritev2=no"]
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


def build_python(sources, place, compilers, jobs):
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
    more = {"CPPFLAGS": f"-I{place}/include", "LDFLAGS": f"-L{place}/lib", "CFLAGS": "-O1 -w -Wno-date-time -fno-sanitize=all",
            "PKG_CONFIG_LIBDIR": f"{place}/lib/pkgconfig"}
    run(python, "./configure", "-q", f"--prefix={place}", "--disable-test-modules", "--with-ensurepip=no", *NEWER, **more)
    for target in ("all", "install"):
        run(python, "make", "-s", f"-j{jobs}", target, **more)


def install(python, wheels, place):
    """Has pip of that Python choose: it takes a wheel only if its tag fits the interpreter and its C library."""
    fetched = place / "fetched"
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", fetched]
    subprocess.run([*download, "pip"], check=True)
    pip = next(fetched.glob("pip-*.whl"))
    subprocess.run([python, f"{pip}/pip", "install", "--quiet", "--no-index", "--no-deps", "--upgrade", "--root-user-action=ignore", "--target",
                    place / "installed", *pathlib.Path(wheels).glob("*.whl")], check=True)


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
    return wrong


def main(wheels, directory, jobs):
    place = pathlib.Path(directory).resolve()
    build_python(place / "sources", place / "python", pathlib.Path(wheels).resolve() / "root/bin", jobs)
    python = place / "python/bin/python3"
    install(python, wheels, place)
    wrong = prove(python, place)
    if wrong:
        sys.exit("\n".join(["", "wrong:", *wrong]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
