"""Runs the distribution's own pyzmq tests on the library in a directory, unmodified but for a wait in one of them.

  pyzmq_suite.py LIBRARY_DIR [--at-least N] [-- pytest arguments]

Left out are the tests that compile an extension (test_cython). Exit status 0 if at least N passed and none failed.
"""

import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DISTRIBUTION_PYTHON = "/usr/bin/python3"
ENOUGH = 323
LONGEST_S = 900
STUCK_TEST_S = 120
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped|deselected|xfailed|xpassed)")


# Publishes over tcp soon after it has subscribed, and waits a while for the subscription to arrive. It runs in a process of its
# own, where no threads of earlier tests slow the subscription (see also RACING in mapped_library_plugin.py).
RACING = "test_log"
PARTS = (["zmq.tests", "-k", "not TestPubLog"], ["zmq.tests." + RACING])


def run(library_dir, part, extra):
    """The exit status and the output of one part of the suite, shown while it runs."""
    env = dict(os.environ, LD_LIBRARY_PATH=library_dir, ZLINK_LIBRARY_DIR=library_dir,
               PYTHONPATH=HERE + os.pathsep + os.environ.get("PYTHONPATH", ""), PYTHONDONTWRITEBYTECODE="1",
               PYTHONNOUSERSITE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")  # what else is installed does not take part
    command = [DISTRIBUTION_PYTHON, "-m", "pytest", "--pyargs"] + part + ["-q", "-rfE", "-p", "no:cacheprovider",
               "-p", "mapped_library_plugin", "-W", "ignore", "-o", "faulthandler_timeout=%d" % STUCK_TEST_S,
               "-s"] + extra
    child = subprocess.Popen(["timeout", "-k", "5", str(LONGEST_S)] + command, env=env, text=True, errors="replace",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = []
    for line in child.stdout:
        sys.stdout.write(line)
        output.append(line)
    return child.wait(), output


def summary(output):
    """The numbers of pytest's closing line, by word."""
    for line in reversed(output):
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
    for part in PARTS:
        part_status, output = run(os.path.abspath(args.library_dir), part, args.extra)
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
