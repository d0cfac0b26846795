#!/usr/bin/env python3
"""Reads RESULT lines from files (or standard input) and prints a table of medians, spreads and ratios.

  analyze_results.py [FILE ...] [--csv]
"""

import argparse
import statistics
import sys

import runner


def read(files):
    """{(pattern, transport, size, measure): {library: [values]}}"""
    cells = {}
    for file in files:
        for line in file:
            words = line.strip().split(",")
            if len(words) != 7 or words[0] != "RESULT":
                continue
            _, library, pattern, transport, size, measure, value = words
            cells.setdefault((pattern, transport, int(size), measure), {}).setdefault(library, []).append(float(value))
    return cells


def order(cell):
    pattern, transport, size, measure = cell
    rank = lambda known, name: known.index(name) if name in known else len(known)
    return rank(runner.PATTERNS, pattern), rank(runner.ALL_TRANSPORTS, transport), measure, size


def summary(values):
    middle = statistics.median(values)
    spread = 100 * (max(values) - min(values)) / middle if middle else 0
    return middle, spread


def print_table(cells):
    for cell in sorted(cells, key=order):
        found = {library: summary(values) for library, values in cells[cell].items()}
        text = "%-18s %-6s %7d %-10s" % cell
        for library, (middle, spread) in sorted(found.items()):
            text += "  %s %s (spread %3.0f %%)" % (library, runner.shown(cell[3], middle), spread)
        if "libzmq" in found and "zlink" in found:
            text += "  ratio %6.2f" % runner.ratio(cell[3], found["libzmq"][0], found["zlink"][0])
        print(text)


def print_csv(cells):
    print("pattern,transport,size,measure,library,runs,median,min,max")
    for cell in sorted(cells, key=order):
        for library, values in sorted(cells[cell].items()):
            print(",".join(map(str, cell + (library, len(values), statistics.median(values), min(values),
                                            max(values)))))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=argparse.FileType("r"), default=[sys.stdin])
    parser.add_argument("--csv", action="store_true")
    args = parser.parse_args(argv)
    cells = read(args.files)
    if not cells:
        print("no RESULT line found", file=sys.stderr)
        return 1
    (print_csv if args.csv else print_table)(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
