"""pyzmq, as a wheel from PyPI and built from source."""

import glob
import os
import platform
import re
import zipfile

import fetch
from frame import INTEROP, ROOT, Failed, Program

# Publishes right after it has subscribed, and waits for ever for what was published before the subscription had arrived: any library
# can lose that race, and libzmq does. What it leaves behind fails the tests after it.
RACING = "tests/test_log.py::TestPubLog::test_blank_root_topic"
PYTHON_3_14 = "org.bytedeco:cpython:3.14.3-1.5.13"
SUITE_NEEDS = ("pytest", "pytest-asyncio", "pytest-rerunfailures", "pytest-timeout", "tornado")
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped)\b")


def pytest_counts(output):
    """How many passed, failed or were skipped, by pytest's last line."""
    for line in reversed(output.splitlines()):
        if " in " in line and COUNTED.search(line):
            return {word.rstrip("s"): int(number) for number, word in COUNTED.findall(line)}
    raise Failed("pytest did not come to its end")


def own_suite(place, library):
    """The tests of pyzmq's source distribution, on what is installed: from within their folder, that it is not the source beside it.

    A process that a test starts may have to import them by their name, for which a link is found where nothing else lies.
    """
    tests, beside = place.path("source", "tests"), place.path("beside")
    os.makedirs(beside, exist_ok=True)
    if not os.path.islink(os.path.join(beside, "tests")):
        os.symlink(tests, os.path.join(beside, "tests"))
    output = place.command([place.path("python", "bin", "pytest"), "-q", "-rfEs", "-p", "no:cacheprovider",
                            "--timeout", "120", "--deselect", RACING, "."], library, cwd=tests, check=False, PYTHONPATH=beside)[1]
    counts = pytest_counts(output)
    bad = counts.get("failed", 0) + counts.get("error", 0)
    said = "%d passed, %d skipped" % (counts.get("passed", 0), counts.get("skipped", 0))
    if bad:
        raise Failed("%d: %s; %s" % (bad, ", ".join(re.findall(r"^(?:FAILED|ERROR) \S*::(\S+)", output, re.MULTILINE))[:200], said))
    return said


def require_zlink_in_use(place, library):
    """Of two libraries in one process the wheel has to use the right one: only zlink has tls."""
    said = place.output([place.path("python", "bin", "python"), "-c", "import zmq; print(zmq.has('tls'))"], library).strip()
    if said != str(library.is_zlink):
        raise Failed("zmq.has('tls') is %s" % said)


def get_wheel(place, base=None):
    python = fetch.environment_of_python(place, "--only-binary", ":all:", "pyzmq", *SUITE_NEEDS, base=base)
    version = fetch.python_version_of(place, python, "pyzmq")
    os.rename(fetch.python_source(place, python, "pyzmq", version), place.path("source"))
    return version


def python_3_14(place):
    """CPython 3.14 as Maven Central has it, for programs of Java that have one inside: newer than that of the distribution."""
    processor = platform.machine().replace("aarch64", "arm64")
    fetch.maven(place, PYTHON_3_14 + ":jar:linux-" + processor, place.path("jars"))
    with zipfile.ZipFile(glob.glob(place.path("jars", "cpython-*.jar"))[0]) as jar:
        jar.extractall(place.path("cpython"))
    program = place.path("cpython", "org", "bytedeco", "cpython", "linux-" + processor, "bin", "python3.14")
    os.chmod(program, 0o755)
    return program


def get_wheel_3_14(place):
    base = python_3_14(place)
    return "%s, %s" % (get_wheel(place, base), place.output([base, "-c", "import platform; print(platform.python_version())"]).strip())


def run_wheel(place, library):
    require_zlink_in_use(place, library)
    return own_suite(place, library)


def get_source(place):
    """Builds pyzmq with the headers of zlink, and against its library, by the prefix that it asks for."""
    prefix = place.path("prefix")
    os.makedirs(prefix, exist_ok=True)
    for name, target in (("include", os.path.join(ROOT, "include")), ("lib", place.zlink.directory)):
        if not os.path.islink(os.path.join(prefix, name)):
            os.symlink(target, os.path.join(prefix, name))
    python = fetch.environment_of_python(place, *SUITE_NEEDS)
    fetch.pip(place, python, "install", "--no-binary", "pyzmq", "--no-cache-dir", "pyzmq", ZMQ_PREFIX=prefix, PYZMQ_NO_BUNDLE="1")
    version = fetch.python_version_of(place, python, "pyzmq")
    os.rename(fetch.python_source(place, python, "pyzmq", version), place.path("source"))
    return version


def get_jupyter(place):
    python = fetch.environment_of_python(place, "--only-binary", ":all:", "pyzmq", "ipykernel", "jupyter_client")
    return "%s, %s" % tuple(fetch.python_version_of(place, python, each) for each in ("ipykernel", "jupyter_client"))


def run_jupyter(place, library):
    output = place.output([place.path("python", "bin", "python"), os.path.join(INTEROP, "jupyter.py")], library, patience_s=200)
    said = re.findall(r"^\w+, (clear|CURVE): 42", output, re.MULTILINE)
    if said != ["clear", "CURVE"]:
        raise Failed("went well: %s" % (", ".join(said) or "nothing"))
    return "clear and CURVE"


PROGRAMS = [
    Program("pyzmq-wheel", "pyzmq, the wheel of PyPI", "its own suite, `LD_PRELOAD`", get_wheel, run_wheel, brings_its_own=True),
    Program("pyzmq-wheel-3.14", "the same wheel, CPython 3.14 of Maven Central", "its own suite, `LD_PRELOAD`", get_wheel_3_14, run_wheel,
            brings_its_own=True),
    Program("pyzmq-source", "pyzmq, built by `ZMQ_PREFIX`", "its own suite", get_source, own_suite),
    Program("jupyter", "ipykernel, jupyter_client, with the wheel", "a cell of a kernel, in clear and with CURVE", get_jupyter, run_jupyter,
            brings_its_own=True),
]
