"""Decides, cell by cell, whether zlink is as much faster than libzmq as it has to be.

The measuring itself, and what makes it lie, is told in pairs.py.
"""

import os

import pairs
import runner

ONE_LIKE_ANY_OTHER = ("PAIR", "PUSH_PULL", "DEALER_DEALER", "PUBSUB")


def required(pattern, size, measure):
    """The ratio that passes."""
    if measure == "latency":
        return runner.PARITY
    if size > 8192:
        return 1.2
    if size <= 256 and pattern in ONE_LIKE_ANY_OTHER:
        return 5.0
    return 3.0


def verdict(found):
    """A measured cell together with what is required of it."""
    need = required(found["pattern"], found["size"], found["measure"])
    return dict(found, required=need, **{"pass": found["ratio"] >= need})


def line_of(found):
    return "%-18s %-6s %7d %-10s hwm %-5d libzmq %s zlink %s ratio %6.2f (%.2f .. %.2f) need %.2f %s" % (
        found["pattern"], found["transport"], found["size"], found["measure"], found["hwm"],
        runner.shown(found["measure"], found["libzmq"]), runner.shown(found["measure"], found["zlink"]),
        found["ratio"], found["ratio_min"], found["ratio_max"], found["required"],
        "pass" if found["pass"] else "MISS")


def judge(args):
    """Measures every cell asked for; 0 if all pass, 1 if any misses, 2 if any has no result."""
    libzmq, zlink = runner.libraries(args.build_dir)
    print("libzmq is %s\nzlink  is %s" % (os.path.realpath(libzmq.file), os.path.realpath(zlink.file)), flush=True)
    found, failures = [], []
    for where in pairs.cells(args):
        try:
            found.append(verdict(pairs.Cell(args, *where).measured(libzmq, zlink)))
        except runner.Failure as failure:
            failures.append(str(failure))
            print("FAILED %s" % failure, flush=True)
            continue
        print(line_of(found[-1]), flush=True)
        pairs.write(args.output, pairs.about_pairs(args, libzmq), found, failures)
    missed = [each for each in found if not each["pass"]]
    print("\n%d cells: %d pass, %d miss, %d without a result" % (
        len(found) + len(failures), len(found) - len(missed), len(missed), len(failures)))
    for each in missed:
        print("  " + line_of(each))
    for each in failures:
        print("  " + each)
    return 2 if failures else 1 if missed else 0
