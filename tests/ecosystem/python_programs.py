"""pyzmq, as a wheel from PyPI and built from source."""

import os
import re

import fetch
from frame import INTEROP, ROOT, Failed, Program

# Publishes right after it has subscribed, and waits for ever for what was published before the subscription had arrived: any library
# can lose that race, and libzmq does. What it leaves behind fails the tests after it.
RACING = "tests/test_log.py::TestPubLog::test_blank_root_topic"
SUITE_NEEDS = ("pytest", "pytest-asyncio", "pytest-timeout", "tornado")
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped)\b")


def pytest_counts(output):
    """How many passed, failed or were skipped, by pytest's last line."""
    for line in reversed(output.splitlines()):
        if " in " in line and COUNTED.search(line):
            return {word.rstrip("s"): int(number) for number, word in COUNTED.findall(line)}
    raise Failed("pytest did not come to its end")


def own_suite(place, library):
    """The tests of pyzmq's source distribution, on what is installed: from within their folder, that it is not the source beside it."""
    tests = place.path("source", "tests")
    output = place.command([place.path("python", "bin", "pytest"), "-q", "-rfEs", "-p", "no:cacheprovider",
                            "--timeout", "120", "--deselect", RACING, "."], library, cwd=tests, check=False)[1]
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


def get_wheel(place):
    python = fetch.environment_of_python(place, "--only-binary", ":all:", "pyzmq", *SUITE_NEEDS)
    version = fetch.python_version_of(place, python, "pyzmq")
    os.rename(fetch.python_source(place, python, "pyzmq", version), place.path("source"))
    return version


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
    Program("pyzmq-source", "pyzmq, built by `ZMQ_PREFIX`", "its own suite", get_source, own_suite),
    Program("jupyter", "ipykernel, jupyter_client, with the wheel", "a cell of a kernel, in clear and with CURVE", get_jupyter, run_jupyter,
            brings_its_own=True),
]
