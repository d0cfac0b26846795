"""Runs the distribution's own pyzmq tests on the library in a directory, unmodified but for a wait in one of them.

  pyzmq_suite.py LIBRARY_DIR [--at-least N] [-- pytest arguments]

Left out are the tests that compile an extension (test_cython). Exit status 0 if at least N passed and none failed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DISTRIBUTION_PYTHON = "/usr/bin/python3"
ENOUGH = 323
LONGEST_S = 900
STUCK_TEST_S = 120
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped|deselected|xfailed|xpassed)")


# Two modules sleep for most of the suite's time: they and the others run at once, each part in a process of its own.
SLEEPING = ("test_auth", "test_asyncio")
# Publishes over tcp soon after it has subscribed, and waits a while for the subscription to arrive. It runs alone and in a process of its
# own, where no threads of other tests slow the subscription (see also RACING in mapped_library_plugin.py).
RACING = "test_log"


def others():
    """The modules of the suite that are not named above."""
    told = "import importlib.util; print(importlib.util.find_spec('zmq').submodule_search_locations[0])"
    package = subprocess.run([DISTRIBUTION_PYTHON, "-c", told], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    modules = {path.stem for path in pathlib.Path(package, "tests").glob("test_*.py")}
    return sorted(modules - {RACING, *SLEEPING})


def run(library_dir, modules, extra):
    """The exit status and the output of some modules of the suite."""
    env = dict(os.environ, LD_LIBRARY_PATH=library_dir, ZLINK_LIBRARY_DIR=library_dir,
               PYTHONPATH=HERE + os.pathsep + os.environ.get("PYTHONPATH", ""), PYTHONDONTWRITEBYTECODE="1",
               PYTHONNOUSERSITE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")  # what else is installed does not take part
    command = [DISTRIBUTION_PYTHON, "-m", "pytest", "--pyargs"] + ["zmq.tests." + module for module in modules] + [
               "-q", "-rfE", "-p", "no:cacheprovider", "-p", "mapped_library_plugin", "-W", "ignore", "-o", "faulthandler_timeout=%d" % STUCK_TEST_S,
               "-s"] + extra
    done = subprocess.run(["timeout", "-k", "5", str(LONGEST_S)] + command, env=env, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def run_all(library_dir, extra):
    """What each part of the suite ended with. Its output is shown whole, when it has ended."""
    together = [[module] for module in SLEEPING] + [others()]
    for at_once in (together, [[RACING]]):
        with concurrent.futures.ThreadPoolExecutor(len(at_once)) as threads:
            for ended in threads.map(lambda modules: run(library_dir, modules, extra), at_once):
                sys.stdout.write(ended[1])
                yield ended


def summary(output):
    """The numbers of pytest's closing line, by word."""
    for line in reversed(output.splitlines()):
        if " in " in line and COUNTED.search(line):
            return {word.rstrip("s") if word.startswith("error") else word: int(number)
                    for number, word in COUNTED.findall(line)}
    return {}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library_dir")
    parser.add_argument("--at-least", type=int, default=ENOUGH)
    parser.add_argument("extra", nargs="*", help="more arguments for pytest, after --")
    args = parser.parse_args(argv)
    status = 0
    counts = {}
    for part_status, output in run_all(os.path.abspath(args.library_dir), args.extra):
        status = status or part_status
        for word, number in summary(output).items():
            counts[word] = counts.get(word, 0) + number
    passed, failed = counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)
    good = status == 0 and passed >= args.at_least and failed == 0
    print("pyzmq suite: %d passed (at least %d wanted), %d failed, %d skipped, exit %d: %s" % (
        passed, args.at_least, failed, counts.get("skipped", 0), status, "pass" if good else "FAIL"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
