#!/usr/bin/python3
"""Looks whether a library is whole where an option of the build is off.

By default it compiles what depends on TLS, WebSocket, CURVE or policies, without any of them, and throws it away. With --each it builds the
library with each option off alone, and with all four at once. It asks each of these libraries what it has, and what it says of what it has
not; links examples/hello.c with it as it is installed; and runs the tests of the C interface that such a build has, by programs that were linked
with a whole library. It prints what was seen as Markdown. That takes some twenty minutes, and finds a function that nobody defines any more, and an option that is stored and means nothing.

Usage: check_without_options.py COMPILER SOURCE_DIRECTORY
       check_without_options.py --each SOURCE_DIRECTORY BUILD_DIRECTORY DIRECTORY_OF_TEST_PROGRAMS [JOBS [OPTION... | all]]
       check_without_options.py --ask LIBRARY SOURCE_DIRECTORY [OPTION...]
"""

import concurrent.futures
import ctypes
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

# A library may lack the first; the others say how it is built.
OF_FEATURES = ("WITH_TLS", "WITH_WS", "WITH_CURVE", "WITH_POLICY")
OF_BUILDS = ("ZMQ_ASIO_ZEROCOPY_WRITE", "ZLINK_COMMAND", "BUILD_SHARED", "BUILD_STATIC")
FLAGS = ("-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror")
DEFINED = ("-DBOOST_ASIO_SEPARATE_COMPILATION", "-DBOOST_ASIO_NO_DEPRECATED", "-DZMQ_BUILD_DRAFT_API")
DEPENDS = re.compile(r'ZLINK_WITH_(TLS|WS|CURVE|POLICY)|"core/built\.hpp"')
IN_THEIR_PLACE = ("zmtp/curve_box_none.cpp", "zmtp/mask_keys_of_system.cpp")
OK, EACCES, EINVAL, EPROTONOSUPPORT, ENOTSUP = 0, 13, 22, 93, 95
PAIR = 0
PATIENCE_S = 240
PROGRAMS = ("capi_life", "capi_options", "capi_patterns", "capi_transports", "reopened")
# A value for an option, by what zmq.h says that it takes.
PEM = b"-----BEGIN CERTIFICATE-----\n"
VALUES = {"bool": b"\1\0\0\0", "int": b"\1\0\0\0", "key": b"k" * 32, "string PEM": PEM, "string": b"P-256"}
POLICY = '[[entry]]\nscheme = "ipc"\nuse = "clear"\n'


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(map(str, command))} ends with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def check_syntax(compiler, sources):
    src = sources / "src"
    needs_sodium = re.compile((src / "CMakeLists.txt").read_text().split('set(with_sodium "')[1].split('"')[0])
    for source in sorted(src.rglob("*.cpp")):
        name = str(source.relative_to(src))
        is_left_out = needs_sodium.search("/" + name) or name.startswith(("transport/tls", "transport/ws."))
        if not is_left_out and (name in IN_THEIR_PLACE or DEPENDS.search(source.read_text())):
            run(compiler, *FLAGS, *DEFINED, f"-I{sources / 'include'}", f"-I{src}", source)


def options_of(sources, prefix):
    """Name, number, and what it is, of the options of zmq.h that begin so."""
    header = (sources / "include/zmq.h").read_text(encoding="utf-8")
    found = re.findall(rf"^#define (ZMQ_{prefix}_\w+)\s+(\w+)\s+/\* (bool|int|key|string PEM|string)\b([^*]*)", header, re.M)
    if not found:
        sys.exit(f"zmq.h has no options of {prefix}")
    return [(name, int(number, 0), kind, "set only" in rest) for name, number, kind, rest in found]


class Library:
    """One that is loaded, and what it said otherwise than it should."""

    def __init__(self, path):
        self.zmq = ctypes.CDLL(str(path))
        self.zmq.zmq_ctx_new.restype = self.zmq.zmq_socket.restype = ctypes.c_void_p
        self.zmq.zmq_setsockopt.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
        self.zmq.zmq_send.argtypes = self.zmq.zmq_recv.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
        self.context = ctypes.c_void_p(self.zmq.zmq_ctx_new())
        self.wrong = []

    def socket(self):
        return ctypes.c_void_p(self.zmq.zmq_socket(self.context, PAIR))

    def expect(self, question, wanted, function, *arguments):
        """That it returns this, or fails with that errno."""
        result = getattr(self.zmq, function)(*arguments)
        if (self.zmq.zmq_errno() if result == -1 else result) != wanted:
            self.wrong.append(f"{question}: {result}, errno {self.zmq.zmq_errno()}, instead of {wanted}")

    def expect_option(self, name, number, kind, is_set_only, is_built):
        value, asked = VALUES[kind], self.socket()
        out, size = ctypes.create_string_buffer(256), ctypes.c_size_t(32 if kind == "key" else 256)
        if kind in ("bool", "int"):
            size.value = 4
        self.expect(f"{name} is set", OK if is_built else EINVAL, "zmq_setsockopt", asked, number, value, len(value))
        self.expect(f"{name} is read", OK if is_built and not is_set_only else EINVAL, "zmq_getsockopt", asked, number, out, ctypes.byref(size))
        self.zmq.zmq_close(asked)

    def expect_message(self, endpoint, *settings):
        """From one to another, over what it has bound to; each of the settings is an option and a value at either end."""
        a, b = self.socket(), self.socket()
        for number, at_a, at_b in settings:
            for end, value in ((a, at_a), (b, at_b)):
                if value is not None:
                    self.expect(f"option {number} for {endpoint}", OK, "zmq_setsockopt", end, number, value, len(value))
        patience = (5000).to_bytes(4, "little")
        self.zmq.zmq_setsockopt(a, 27, patience, 4)  # ZMQ_RCVTIMEO
        self.expect(f"bind to {endpoint}", OK, "zmq_bind", a, endpoint.encode())
        last, size, got = ctypes.create_string_buffer(256), ctypes.c_size_t(256), ctypes.create_string_buffer(2)
        self.zmq.zmq_getsockopt(a, 32, last, ctypes.byref(size))  # ZMQ_LAST_ENDPOINT
        self.expect(f"connect to {endpoint}", OK, "zmq_connect", b, last.value)
        self.expect(f"send over {endpoint}", 2, "zmq_send", b, b"hi", 2, 0)
        self.expect(f"receive over {endpoint}", 2, "zmq_recv", a, got, 2, 0)
        self.zmq.zmq_setsockopt(b, 17, bytes(4), 4)  # ZMQ_LINGER
        for each in (a, b):
            self.zmq.zmq_close(each)

    def end(self):
        self.zmq.zmq_ctx_term(self.context)
        if self.wrong:
            sys.exit("\n".join(self.wrong))

    def keys(self, is_built):
        """A pair of CURVE's, of 32 octets each."""
        public, secret = ctypes.create_string_buffer(41), ctypes.create_string_buffer(41)
        self.expect("a pair of keys", OK if is_built else ENOTSUP, "zmq_curve_keypair", public, secret)
        self.expect("a public key", OK if is_built else ENOTSUP, "zmq_curve_public", ctypes.create_string_buffer(41), secret if is_built else b"0" * 40)
        return public.value, secret.value


def ask(path, sources, *off):
    """It lacks what is off, says so in the ways that libzmq has for that, has the rest, and is a library."""
    tls, ws, curve, policy = (option not in off for option in OF_FEATURES)
    library = Library(path)
    for name, is_built in (("tls", tls), ("ws", ws), ("WS", ws), ("wss", ws and tls), ("WSS", ws and tls), ("curve", curve), ("ipc", True)):
        library.expect(f"zmq_has of {name}", int(is_built), "zmq_has", name.encode())
    for scheme, is_built in (("tls", tls), ("ws", ws), ("wss", ws and tls)):
        if not is_built:
            asked = library.socket()
            library.expect(f"bind to {scheme}", EPROTONOSUPPORT, "zmq_bind", asked, f"{scheme}://127.0.0.1:*".encode())
            library.expect(f"connect to {scheme}", EPROTONOSUPPORT, "zmq_connect", asked, f"{scheme}://127.0.0.1:5555".encode())
            library.zmq.zmq_close(asked)
    # The options of wss hold for tls, too.
    for prefix, is_built in (("TLS", tls), ("WSS", tls), ("WS", ws), ("CURVE", curve)):
        for option in options_of(sources, prefix):
            library.expect_option(*option, is_built)
    public, secret = library.keys(curve)
    for endpoint in ("tcp://127.0.0.1:*", f"ipc://@without-options-{os.getpid()}", "inproc://a", *(["ws://127.0.0.1:*"] if ws else [])):
        library.expect_message(endpoint)
    if curve:
        other_public, other_secret = library.keys(curve)
        library.expect_message("tcp://127.0.0.1:*", (47, VALUES["bool"], None), (49, secret, other_secret), (48, None, other_public), (50, None, public))
    if "ZLINK_POLICY" not in os.environ:
        # Asked again under a policy that lets one kind of endpoint be bound.
        with tempfile.TemporaryDirectory(prefix="zlink_policy_") as place:
            file = pathlib.Path(place) / "policy.toml"
            file.write_text(POLICY, encoding="utf-8")
            run(sys.executable, __file__, "--ask-under-policy", path, place, *off, env={**os.environ, "ZLINK_POLICY": str(file)})
    library.end()


def ask_under_policy(path, place, *off):
    is_built = "WITH_POLICY" not in off
    library = Library(path)
    library.expect("whether a policy is in force", 1 if is_built else EACCES, "zlink_policy_in_force")
    a, b = library.socket(), library.socket()
    endpoint = f"ipc://{place}/a".encode()
    library.expect("a bind that a policy permits", OK if is_built else EACCES, "zmq_bind", a, endpoint)
    library.expect("a connect that a policy permits", OK if is_built else EACCES, "zmq_connect", b, endpoint)
    library.expect("a bind that no policy permits", EACCES, "zmq_bind", a, b"tcp://127.0.0.1:*")
    for each in (a, b):
        library.zmq.zmq_close(each)
    library.end()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def say_hello(sources, prefix, is_static):
    """As the README links it with what is installed."""
    place = prefix.parent / "hello"
    place.mkdir(exist_ok=True)
    text = (sources / "examples/hello.c").read_text(encoding="utf-8")
    (place / "hello.c").write_text(text.replace(":5555", f":{free_port()}"), encoding="utf-8")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", *(["--static"] if is_static else []), "libzmq", env=environment))
    if is_static:
        flags = ["-DZMQ_STATIC", *(flag.replace("-lzmq", "-l:libzmq.a") for flag in flags)]
    run("cc", place / "hello.c", "-o", place / "hello", *flags)
    if run(place / "hello", env=environment) != "hello\n":
        raise RuntimeError("examples/hello.c does not say hello")
    return place / "hello"


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-dW", file))


def expect_needed(file, off):
    for option, name in (("WITH_TLS", "libssl"), ("WITH_CURVE", "libsodium")):
        if any(each.startswith(name) for each in needed(file)) == (option in off):
            raise RuntimeError(f"{file} needs {', '.join(needed(file))} without {', '.join(off)}")


def run_tests(sources, tree, programs, jobs):
    """The tests of the C interface that such a build has: how many went well. Their programs are those of a whole library, which ask zmq_has."""
    listed = (tree / "tests/CTestTestfile.cmake").read_text(encoding="utf-8")
    tests = []
    for name, path, rest in re.findall(r'^add_test\((?:\[=*\[)?(\w+)(?:\]=*\])? "([^"]*)"(.*)\)$', listed, re.M):
        program = os.path.basename(path)
        if program in PROGRAMS and (program == "reopened" or name.startswith("test_")):
            tests.append((programs / program, *re.findall(r'"([^"]*)"', rest)))
    if len(tests) < 20:
        raise RuntimeError(f"there are {len(tests)} tests only")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tree / "lib"), "ZLINK_TESTS_DIR": str(sources / "tests")}

    def attempt(test):
        try:
            run(*test, env=environment, timeout=PATIENCE_S)
        except (RuntimeError, subprocess.TimeoutExpired) as fault:
            print(fault, file=sys.stderr, flush=True)
            return os.path.basename(test[0]), *test[1:]
        return None

    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        faults = [fault for fault in pool.map(attempt, tests) if fault]
    if faults:
        raise RuntimeError(f"of {len(tests)} tests fail {faults}")
    return len(tests)


def check_each(sources, build, programs, jobs, *off):
    """Builds it with these off, asks it, and returns what was seen."""
    switches = [f"-D{option}={'OFF' if option in off else 'ON'}" for option in (*OF_FEATURES, *OF_BUILDS)]
    # What it costs to run says nothing here, and what it costs to build does.
    has_tests = not set(off) & set(OF_BUILDS[1:])
    tree = build / "tree"
    run("cmake", "-S", sources, "-B", tree, "-G", "Ninja", *switches, f"-DBUILD_TESTS={'ON' if has_tests else 'OFF'}", "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DZLINK_WERROR=ON", "-DZLINK_CCACHE=ON")
    run("cmake", "--build", tree, "-j", jobs, "--target", "library")
    prefix = build / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    run("cmake", "--install", tree, "--prefix", prefix)
    seen = []
    for option, name, is_static in (("BUILD_SHARED", "libzmq.so.5", False), ("BUILD_STATIC", "libzmq.a", True)):
        path = prefix / "lib" / name
        if path.exists() == (option in off):
            raise RuntimeError(f"{path} {'is' if path.exists() else 'is not'} installed")
        if option in off:
            continue
        hello = say_hello(sources, prefix, is_static)
        expect_needed(hello if is_static else path, off)
        if not is_static:
            run(sys.executable, __file__, "--ask", path, sources, *off)
        seen.append(name)
    command = prefix / "bin/zlink"
    if command.exists() == ("ZLINK_COMMAND" in off):
        raise RuntimeError(f"{command} {'is' if command.exists() else 'is not'} installed")
    said = run(command, "--version", env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}).splitlines()[-1] if command.exists() else ""
    tests = str(run_tests(sources, tree, programs, jobs)) if has_tests else ""
    return " | ".join((", ".join(seen), said.removeprefix("built in: "), tests))


def check_all(sources, build, programs, jobs="2", *chosen):
    each = [*((option,) for option in (*OF_FEATURES, *OF_BUILDS)), OF_FEATURES]
    wrong = []
    print("| off | answers, and says hello | the command says built in | tests of the C interface | seconds |\n|---|---|---|---|---|")
    for off in each:
        name = off[0] if len(off) == 1 else "all"
        if chosen and name not in chosen:
            continue
        begun = time.monotonic()
        try:
            seen = check_each(sources, build, programs, jobs, *off)
        except RuntimeError as fault:
            print(fault, file=sys.stderr)
            seen = "FAILED | |"
            wrong.append(name)
        print(f"| {', '.join(f'`{option}`' for option in off)} | {seen} | {time.monotonic() - begun:.0f} |", flush=True)
    if wrong:
        sys.exit(f"wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    try:
        if len(sys.argv) < 3:
            sys.exit(__doc__)
        if sys.argv[1] == "--each":
            check_all(*(pathlib.Path(each).resolve() for each in sys.argv[2:5]), *sys.argv[5:])
        elif sys.argv[1] == "--ask":
            ask(sys.argv[2], pathlib.Path(sys.argv[3]), *sys.argv[4:])
        elif sys.argv[1] == "--ask-under-policy":
            ask_under_policy(*sys.argv[2:])
        else:
            check_syntax(sys.argv[1], pathlib.Path(sys.argv[2]))
    except RuntimeError as fault:
        sys.exit(str(fault))
