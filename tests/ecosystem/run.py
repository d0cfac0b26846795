"""Runs other people's programs on the distribution's libzmq and on zlink in turn, and prints a table of how they did.

  run.py [--library DIR] [--only NAME ...] [--afresh] [--list]

Everything lies below build/ecosystem: what was fetched, the logs, and results.json, by which an interrupted run goes on. What went
well with the same library is not run again, unless --afresh throws it away.
"""

import argparse
import datetime
import fcntl
import json
import os
import shutil
import signal
import sys

from frame import Failed, Library, Place, ROOT, Unavailable, libraries
from programs import PROGRAMS


class Results:
    """What was seen, by program and the checksum of the library; kept in a file that several runs at once may share."""

    def __init__(self, path):
        self.path = path

    def seen(self):
        if not os.path.exists(self.path):
            return {}
        with open(self.path, encoding="utf-8") as text:
            return json.load(text)

    def of(self, program, library):
        return self.seen().get(program.name, {}).get(library.checksum)

    def keep(self, program, library, result):
        with open(self.path + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            seen = self.seen()
            seen.setdefault(program.name, {})[library.checksum] = result
            with open(self.path + ".new", "w", encoding="utf-8") as out:
                json.dump(seen, out, indent=1)
            os.replace(self.path + ".new", self.path)


def judge(place, library):
    """What the table says of one program on one library, and whether that is good (None: it is not to be had)."""
    result = {"version": "-", "date": datetime.date.today().isoformat()}
    try:
        result["version"] = place.got()
        return dict(result, good=True, said=place.run_on(library))
    except Unavailable as reason:
        return dict(result, good=None, said="not to be had: %s" % reason)
    except Failed as failure:
        return dict(result, good=False, said="FAILED: %s" % failure)


def cell(result):
    return "not run" if result is None else result["said"].replace("|", "\\|").replace("\n", " ")


def table(results, chosen):
    lines = ["| program | version | what ran | on libzmq | on zlink |", "|---|---|---|---|---|"]
    for program in PROGRAMS:
        both = [results.of(program, library) for library in chosen]
        version = next((each["version"] for each in both if each and each["version"] != "-"), "-")
        lines.append("| %s | %s | %s | %s | %s |" % (program.title, version, program.what, cell(both[0]), cell(both[1])))
    return "\n".join(lines)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "release", "lib"), help="the directory of zlink's libzmq.so.5")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs; all without")
    parser.add_argument("--afresh", action="store_true", help="fetch and run again")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    args = parser.parse_args(argv)
    names = [program.name for program in PROGRAMS]
    unknown = set(args.only) - set(names)
    if args.list or unknown:
        print("\n".join(names))
        return 2 if unknown else 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # by an exception, that what runs is ended, too
    below = os.path.join(ROOT, "build", "ecosystem")
    os.makedirs(below, exist_ok=True)
    results = Results(os.path.join(below, "results.json"))
    chosen = [Library("libzmq", libraries.distribution_library_dir()), Library("zlink", args.library)]
    worst = 0
    for program in PROGRAMS:
        if args.only and program.name not in args.only:
            continue
        if args.afresh:
            shutil.rmtree(os.path.join(below, program.name), ignore_errors=True)
        for library in chosen:
            result = None if args.afresh else results.of(program, library)
            if not result or not result["good"]:
                result = judge(Place(below, program, chosen[1]), library)
                results.keep(program, library, result)
            print("%s on %s: %s" % (program.name, library.name, result["said"]), file=sys.stderr, flush=True)
            worst = worst or (library.is_zlink and result["good"] is False)
    print(table(results, chosen))
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
