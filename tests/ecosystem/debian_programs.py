"""Programs and bindings that are packages of the distribution, each with a small exchange of ours."""

import glob
import os
import re

import fetch
from frame import DISTRIBUTION_PYTHON, HERE, ROOT, Failed, Program

EXCHANGES = os.path.join(HERE, "exchanges")
MESSAGES = "1000"
EXCHANGED = "questions and answers, messages of two parts, topics"


def exchange(interpreter, file, *arguments, **variables):
    """What runs a small program of ours, and answers its last line; each variable is told by a function of the library."""
    def run(place, library):
        argv = [interpreter, os.path.join(EXCHANGES, file), *arguments]
        given = {name: value(library) for name, value in variables.items()}
        return place.output(argv, library, patience_s=120, **given).strip().splitlines()[-1]
    return run


def packages(*names):
    """What installs packages; the version is that of the first."""
    return lambda place: fetch.apt(place, *names)


def get_cppzmq(place):
    version = fetch.apt(place, "cppzmq-dev", "libzmq3-dev", "g++")
    compile_it = ["g++", "-std=c++17", os.path.join(EXCHANGES, "exchange.cpp")]
    place.command([*compile_it, "-o", place.path("exchange"), "-lzmq"])
    place.command([*compile_it, "-DZMQ_BUILD_DRAFT_API=1", "-I", os.path.join(ROOT, "include"), "-o", place.path("exchange-zlink"),
                   "-L" + place.zlink.directory, "-lzmq"])
    return version


def run_cppzmq(place, library):
    """One program for both; zlink also runs one that uses cppzmq's pollers, which need the drafts that Debian's libzmq lacks."""
    said = place.output([place.path("exchange"), MESSAGES], library, patience_s=60).strip()
    if library.is_zlink:
        place.command([place.path("exchange-zlink"), MESSAGES], library, patience_s=60)
        said += "; and again by `poller_t` and `active_poller_t`"
    return said


# Draft functions for sockets that are not built, which zlink refuses.
REFUSED = ("message routing id persists", "message group persists")


def get_cppzmq_tests(place):
    """Compiles cppzmq's tests twice: with the zmq.h of Debian, and with drafts and the zmq.h of zlink."""
    fetch.apt(place, "libzmq3-dev", "catch2", "g++")
    source, version = fetch.debian_source(place, "cppzmq")
    tests = sorted(glob.glob(os.path.join(source, "tests", "*.cpp")))
    place.command(["g++", "-std=c++17", "-w", "-I" + source, *tests, "-o", place.path("tests"), "-lzmq", "-pthread"])
    place.command(["g++", "-std=c++17", "-w", "-DZMQ_BUILD_DRAFT_API=1", "-I", os.path.join(ROOT, "include"), "-I" + source, *tests,
                   "-o", place.path("tests-zlink"), "-L" + place.zlink.directory, "-lzmq", "-pthread"])
    return version


def run_catch(place, library, program, but=()):
    """Runs the tests of a program that Catch made; answers how many passed."""
    chosen = " ".join('~"%s"' % test for test in but)
    output = place.command([place.path(program), *([chosen] if chosen else [])], library, patience_s=120, check=False)[1]
    passed = re.search(r"^All tests passed \(\d+ assertions in (\d+) test cases\)", output, re.MULTILINE)
    if not passed:
        bad = re.findall(r"^-{79}\n(.+)\n(?:.+\n)*?-{79}$", output, re.MULTILINE)
        raise Failed("%s: %s" % (program, ", ".join(dict.fromkeys(bad)) or output.strip().splitlines()[-1]))
    return int(passed.group(1))


def run_cppzmq_tests(place, library):
    said = "%d passed" % run_catch(place, library, "tests")
    if library.is_zlink:
        said += "; with drafts %d, %d left out" % (run_catch(place, library, "tests-zlink", REFUSED), len(REFUSED))
    return said


PROGRAMS = [
    Program("cppzmq-tests", "cppzmq, from Debian's source", "its own tests", get_cppzmq_tests, run_cppzmq_tests),
    Program("cppzmq", "cppzmq (Debian)", EXCHANGED + ", a monitor", get_cppzmq, run_cppzmq),
    Program("ruby", "Ruby, ffi-rzmq (Debian)", EXCHANGED, packages("ruby-ffi-rzmq", "ruby"), exchange("ruby", "exchange.rb", MESSAGES)),
    Program("php", "PHP, php-zmq (Debian)", EXCHANGED, packages("php-zmq", "php-cli"), exchange("php", "exchange.php", MESSAGES)),
    Program("perl", "Perl, ZMQ::FFI (Debian)", EXCHANGED, packages("libzmq-ffi-perl"),
            exchange("perl", "exchange.pl", MESSAGES, FFI_CHECKLIB_PATH=lambda library: library.directory)),
    Program("ffmpeg", "ffmpeg (Debian)", "`zmq:` from one ffmpeg to another, the `zmq` filter", packages("ffmpeg", "python3-zmq"),
            exchange(DISTRIBUTION_PYTHON, "ffmpeg.py")),
    Program("monerod", "monerod (Debian)", "`--zmq-pub` and its RPC, from pyzmq", packages("monero", "python3-zmq"),
            exchange(DISTRIBUTION_PYTHON, "monero.py")),
]
