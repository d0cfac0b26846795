"""What the guards' drivers share: running a program to its end, and telling what was counted and what was allowed."""

import shutil
import subprocess

LONGEST_RUN_S = 100


class Guard:
    """Collects what was found; the exit status says whether all of it was within the limits."""

    def __init__(self):
        self.faults = 0

    def at_most(self, what, count, limit):
        good = count <= limit
        self.faults += not good
        print("%-60s %10s of at most %s%s" % (what, plain(count), plain(limit), "" if good else "   TOO MANY"), flush=True)

    def at_least(self, what, count, limit):
        good = count >= limit
        self.faults += not good
        print("%-60s %10s of at least %s%s" % (what, plain(count), plain(limit), "" if good else "   TOO FEW"), flush=True)

    def status(self):
        return 1 if self.faults else 0


def plain(number):
    return "%d" % number if number == int(number) else "%.1f" % number


def require_tool(name):
    if not shutil.which(name):
        raise SystemExit("%s is not installed: `make deps` does that" % name)


def run(command):
    """The output of a program that ends well; else the end of this one."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONGEST_RUN_S)
    except subprocess.TimeoutExpired:
        raise SystemExit("%s: not done after %d seconds" % (" ".join(command), LONGEST_RUN_S)) from None
    if done.returncode != 0:
        raise SystemExit("%s: exit status %d\n%s" % (" ".join(command), done.returncode, done.stderr[-4000:]))
    return done
