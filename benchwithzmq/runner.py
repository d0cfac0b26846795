"""Runs the compiled benchmark on one library or the other and reads its result lines.

Both libraries are called libzmq.so.5; LD_LIBRARY_PATH selects one. Every run says which file it has mapped, and a run
on the wrong file is an error, not a result.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time

PATTERNS = ["PAIR", "PUBSUB", "DEALER_DEALER", "DEALER_ROUTER", "ROUTER_ROUTER", "ROUTER_ROUTER_POLL", "PUSH_PULL"]
TRANSPORTS = ["tcp", "ipc", "inproc"]
ALL_TRANSPORTS = TRANSPORTS + ["ws", "wss", "tls"]
SECURED = ["tls", "wss"]  # with certificates
SIZES = [64, 256, 1024, 8192, 65536, 131072, 262144]
LARGE_SIZES = [size << 20 for size in (1, 4, 16, 64)]
MEASURES = ["throughput", "latency"]
BODIES = ["copied", "allocated", "lent"]  # the ways of bench_zmq
SONAME = "libzmq.so.5"
PARITY = 0.97  # a ratio below this is a loss; what is between this and 1 is noise
LONGEST_RUN_S = 600
FRESH_S = 25 * 24 * 3600  # certificates are made for some days more
HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """A run that ended without a result."""


def list_from(variable, otherwise):
    """The comma- or space-separated list in an environment variable."""
    found = words(os.environ.get(variable, ""))
    return [type(otherwise[0])(word) for word in found] if found else otherwise


def words(text):
    """The words of a list with commas or spaces, as options and variables have it."""
    return text.replace(",", " ").split()


def numbers(text):
    return [int(word) for word in words(text)]


def list_of(known):
    """An option's type: a list of names, each of them known."""
    def parsed(text):
        named = words(text)
        for name in named:
            if name not in known:
                raise argparse.ArgumentTypeError("%s: not one of %s" % (name, " ".join(known)))
        return named
    return parsed


def default_build_dir():
    return os.path.join(os.path.dirname(HERE), "build", "release")


def program(build_dir, name="bench_zmq"):
    return os.path.join(build_dir, "bench", name)


def nng_schemes(build_dir):
    """The transports that bench_nng has, if it was built."""
    if not os.access(program(build_dir, "bench_nng"), os.X_OK):
        return []
    done = run_program([program(build_dir, "bench_nng"), "schemes"], dict(os.environ), {}, "bench_nng")
    return [word for line in done.stdout.splitlines() if line.startswith("SCHEMES,") for word in words(line[len("SCHEMES,"):])]


def digest(build_dir):
    """What tells one build from another: the library and the program, in short."""
    taken = hashlib.sha256()
    for path in (program(build_dir), os.path.join(build_dir, "lib", SONAME)):
        with open(path, "rb") as file:
            taken.update(file.read())
    return taken.hexdigest()[:16]


def is_built(build_dir):
    return os.path.exists(program(build_dir)) and os.path.exists(os.path.join(build_dir, "lib", SONAME))


def build(build_dir, reuse=False):
    """Builds the benchmark and the library if one is missing. With `reuse` nothing is ever built."""
    if is_built(build_dir):
        return
    if reuse:
        raise Failure("%s: no bench/bench_zmq with lib/%s, and --reuse-build forbids to build them" % (build_dir, SONAME))
    root = os.path.dirname(HERE)
    try:
        subprocess.run(["cmake", "-S", root, "-B", build_dir, "-DBUILD_BENCHMARKS=ON"], check=True)
        subprocess.run(["cmake", "--build", build_dir, "--target", "bench_programs"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure("the benchmark cannot be built: %s" % error)


def distribution_library_dir():
    """The directory of the distribution's libzmq: BENCH_LIBZMQ_LIB_DIR, or what the linker's cache knows."""
    chosen = os.environ.get("BENCH_LIBZMQ_LIB_DIR")
    if chosen:
        return os.path.abspath(chosen)
    for tool in ("ldconfig", "/sbin/ldconfig"):
        try:
            cache = subprocess.run([tool, "-p"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        found = re.search(r"^\s*" + re.escape(SONAME) + r" .*=> (\S+)$", cache, re.MULTILINE)
        if found:
            return os.path.dirname(os.path.abspath(found.group(1)))
    raise Failure("no " + SONAME + " of the distribution found; install libzmq5 or set BENCH_LIBZMQ_LIB_DIR")


class Library:
    """A name for the result lines, the directory that holds the library, and the version it tells when it is run."""

    def __init__(self, name, directory):
        self.name = name
        self.directory = os.path.abspath(directory)
        self.file = os.path.join(self.directory, SONAME)
        self.version = "?"
        if not os.path.exists(self.file):
            raise Failure("%s: no such library" % self.file)


def libraries(build_dir):
    """libzmq and zlink, which must not be the same file."""
    libzmq = Library("libzmq", distribution_library_dir())
    zlink = Library("zlink", os.path.join(build_dir, "lib"))
    if os.path.realpath(libzmq.file) == os.path.realpath(zlink.file):
        print("warning: both libraries are " + os.path.realpath(zlink.file), file=sys.stderr)
    return libzmq, zlink


def pinned():
    """The taskset prefix: all threads of a run on the first processor that is allowed."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def certificates(build_dir):
    """BENCH_TLS_* for tls and wss: a certificate for localhost, made once in the build directory."""
    directory = os.path.join(build_dir, "bench", "tls")
    cert, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    if not os.path.exists(cert) or time.time() - os.path.getmtime(cert) > FRESH_S:
        os.makedirs(directory, exist_ok=True)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", key, "-out", cert],
            check=True, capture_output=True)
    return {"BENCH_TLS_CERT": cert, "BENCH_TLS_KEY": key, "BENCH_TLS_CA": cert}


def read_output(library, text):
    """{measure: value} and the result lines of what bench_zmq printed."""
    values, lines, named = {}, [], False
    for line in text.splitlines():
        found = line.split(",")
        if found[0] == "LIBRARY":
            if os.path.realpath(found[2]) != os.path.realpath(library.file):
                raise Failure("%s: loaded %s instead of %s" % (library.name, found[2], library.file))
            library.version = found[3]
            named = True
        if found[0] == "RESULT":
            values[found[5]] = float(found[6])
            lines.append(line)
    if not named:
        raise Failure("%s: the benchmark does not say which library it has loaded" % library.name)
    return values, lines


def run_program(command, env, variables, where, limit=LONGEST_RUN_S):
    """One run that has to end well."""
    env.update((name, str(value)) for name, value in variables.items() if value is not None)
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failure("%s: no end after %g s" % (where, limit))
    except OSError as error:
        raise Failure(str(error))
    if os.environ.get("BENCH_DEBUG"):
        sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise Failure("%s: exit %d %s" % (where, done.returncode, done.stderr.strip()))
    return done


def run_alone(build_dir, command, measure, prefix=(), limit=LONGEST_RUN_S, **variables):
    """The value of one run of a program that is not of zlink or libzmq."""
    env = dict(os.environ, **certificates(build_dir))
    where = " ".join([os.path.basename(command[0])] + command[1:])
    done = run_program(list(prefix) + command, env, variables, where, limit)
    found = [line.split(",") for line in done.stdout.splitlines() if line.startswith("RESULT,")]
    values = {fields[5]: float(fields[6]) for fields in found}
    if measure not in values:
        raise Failure("%s: no %s in what it printed" % (where, measure))
    return values[measure]


def run_cell(build_dir, library, pattern, transport, size, measure="both", prefix=(), extra=(), limit=LONGEST_RUN_S,
             **variables):
    """One run of one cell: {measure: value}, and the result lines as printed."""
    env = dict(os.environ, LD_LIBRARY_PATH=library.directory)
    if transport in SECURED:
        env.update(certificates(build_dir))
    command = list(prefix) + [program(build_dir), library.name, pattern, transport, str(size), measure] + list(extra)
    where = "%s %s %s %s" % (library.name, pattern, transport, size)
    done = run_program(command, env, variables, where, limit)
    ignored = re.search(r"^zlink: .* is ignored.*$", done.stderr, re.MULTILINE)
    if ignored:
        raise Failure("%s: %s" % (where, ignored.group()))
    values, lines = read_output(library, done.stdout)
    for wanted in MEASURES if measure == "both" else [measure]:
        if wanted not in values:
            raise Failure("%s: no %s in what the benchmark printed" % (where, wanted))
    return values, lines


def ratio(measure, libzmq, zlink):
    """How many times better zlink is: the quotient of rates, or the inverse one of times."""
    return zlink / libzmq if measure == "throughput" else libzmq / zlink


def shown(measure, value):
    """A value in the unit people read: M msg/s or microseconds."""
    return "%10.4f M/s" % (value / 1e6) if measure == "throughput" else "%10.3f us " % value
