"""Counts the system calls and the sleeps of conversations whose length is known.

  calls_test.py PROGRAM

PROGRAM is calls_program. strace counts the calls; how often a thread slept is read from the kernel by the program itself.
"""

import os
import re
import subprocess
import sys
import tempfile

import tools

READS = "read,readv,recvfrom,recvmsg,recvmmsg"
WRITES = "write,writev,sendto,sendmsg,sendmmsg"

ROUND_TRIPS = 1800
MOST_CALLS = 3650  # one for each of 3,600 messages, and the handshakes
MOST_EAGAIN = 19

LONG_ROUND_TRIPS = 10000
MOST_LIBRARY_SLEEPS = 0.02  # of the messages
# An I/O thread looks every 2 to 8 ms whether what it has lent is in use, and is told when nobody looked: where messages are slow
# that is more than there are messages to compare it with.
MOST_LIBRARY_SLEEPS_PER_MS = 1
MOST_APPLICATION_SLEEPS = 1.05  # of the messages received; less when the answer is there before the wait

POLLED_MESSAGES = 1000

# A look that is repeated: a question that does not wait, or a yield between two of another kind.
LOOK = re.compile(r"\d+ +(poll\(.*\], \d+, 0\b|sched_yield\()")

CALL = re.compile(r"(\d+) +(\w+)\((?:\d+<(\w+))?")
RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>")


def require_strace():
    """Where tracing is forbidden nothing can be counted: that is a failure, not a pass."""
    tools.require_tool("strace")
    done = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit("strace may not trace here, so no call can be counted: %s\n"
                         "In a container, allow it by --cap-add=SYS_PTRACE; elsewhere see "
                         "/proc/sys/kernel/yama/ptrace_scope." % done.stderr.strip())


def traced(program, words, calls=None, variables=()):
    """The lines of strace -f -yy, each begun by the number of the thread."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "trace")
        chosen = ["-e", "trace=" + calls] if calls else []
        for variable in variables:
            chosen += ["-E", variable]
        tools.run(["strace", "-f", "-yy", *chosen, "-o", path, program, *words])
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().splitlines()


def tcp_calls(lines):
    """(name of the call, line with its result) of each call on a TCP descriptor."""
    begun = {}  # by thread: a call that another thread's line has interrupted
    found = []
    for line in lines:
        call = CALL.match(line)
        resumed = RESUMED.match(line)
        if call and call.group(3) in ("TCP", "TCPv6"):
            if line.endswith("<unfinished ...>"):
                begun[call.group(1)] = call.group(2)
            else:
                found.append((call.group(2), line))
        elif resumed and resumed.group(1) in begun:
            found.append((begun.pop(resumed.group(1)), line))
    return found


def check_lockstep(guard, program, threads):
    what = "ROUTER to ROUTER, tcp, %s: " % {"one": "one thread", "two": "two threads"}[threads]
    calls = tcp_calls(traced(program, ["lockstep", threads, str(ROUND_TRIPS)], READS + "," + WRITES))
    reads = [line for name, line in calls if name in READS.split(",")]
    writes = [line for name, line in calls if name in WRITES.split(",")]
    guard.at_most(what + "reads", len(reads), MOST_CALLS)
    guard.at_most(what + "reads that found nothing", sum("EAGAIN" in line for line in reads), MOST_EAGAIN)
    guard.at_most(what + "writes", len(writes), MOST_CALLS)
    # Fewer than messages: these would not be the calls that move them.
    guard.at_least(what + "reads", len(reads), 2 * ROUND_TRIPS)
    guard.at_least(what + "writes", len(writes), 2 * ROUND_TRIPS)


def check_sleeps(guard, program, transport):
    output = tools.run([program, "between", transport, str(LONG_ROUND_TRIPS)]).stdout
    found = re.findall(r"^(\w+) application (\d+) library (\d+) milliseconds (\d+)$", output, re.MULTILINE)
    if sorted(each[0] for each in found) != ["answers", "asks"]:
        raise SystemExit("calls_program says what is not expected:\n" + output)
    for role, application, library, milliseconds in found:
        what = "DEALER that %s in its process, %s: sleeps of " % (role, transport)
        guard.at_most(what + "I/O threads", int(library),
                      max(MOST_LIBRARY_SLEEPS * 2 * LONG_ROUND_TRIPS, MOST_LIBRARY_SLEEPS_PER_MS * int(milliseconds)))
        guard.at_most(what + "its thread", int(application), MOST_APPLICATION_SLEEPS * LONG_ROUND_TRIPS)


def check_spinning(guard, program, words):
    """Switched off there is none; by default there is some where there are processors for it, or nothing would be seen here."""
    def looks(value):
        lines = traced(program, words, "poll,sched_yield", ["ZMQ_ASIO_SPIN=" + value])
        return sum(bool(LOOK.match(line)) for line in lines)

    what = " ".join(words) + ", ZMQ_ASIO_SPIN=%s: looks"
    guard.at_most(what % 0, looks("0"), 0)
    if len(os.sched_getaffinity(0)) > 1:
        guard.at_least(what % 1, looks("1"), 1)


def check_poll(guard, program, transport):
    lines = traced(program, ["poll", transport, str(POLLED_MESSAGES)])
    marks = [i for i, line in enumerate(lines) if re.match(r"\d+ +getppid\(", line)]
    if len(marks) != 2:
        raise SystemExit("calls_program did not call getppid twice")
    thread = lines[marks[0]].split()[0]
    between = [line for line in lines[marks[0] + 1:marks[1]]
               if line.split()[0] == thread and not re.match(r"\d+ +<\.\.\. getppid resumed", line)]
    guard.at_most("%d zmq_poll and zmq_recv of what is there, %s: calls" % (POLLED_MESSAGES, transport), len(between), 0)
    for line in between[:10]:
        print("    " + line)


def main():
    program = sys.argv[1]
    require_strace()
    guard = tools.Guard()
    for threads in ("one", "two"):
        check_lockstep(guard, program, threads)
    for transport in ("tcp", "ipc"):
        check_sleeps(guard, program, transport)
    check_spinning(guard, program, ["lockstep", "two", str(ROUND_TRIPS)])
    check_spinning(guard, program, ["between", "tcp", str(ROUND_TRIPS)])
    for transport in ("tcp", "inproc"):
        check_poll(guard, program, transport)
    return guard.status()


if __name__ == "__main__":
    sys.exit(main())
