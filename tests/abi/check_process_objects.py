"""Looks whether docs/threads.md names what the library has for the whole process: each object in writable memory that no thread has for itself.

Usage: check_process_objects.py LIBRARY ROOT   exit status 1 and one line per fault
       check_process_objects.py --self-test    plants each kind of fault and looks whether it is found

Rules:  a variable of the library's own in .data or .bss is named in the table, behind a file of the sources;
        a name of the table stands in its file: a build may leave out the file, and the table has it all the same.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

PAGE, SECTION = "docs/threads.md", "## What the process has"
WRITABLE = re.compile(r"^[0-9a-f]+ .{7}\s(?:\.data|\.bss)\s+[0-9a-f]+\s+(?:\.hidden )?(.*)$", re.M)
OURS = re.compile(r"(?:zlink::|\(anonymous namespace\)::)")
GUARD = "guard variable for "
QUOTED = re.compile(r"`([^`]+)`")


def variables(listing):
    """How many there are of each last name: a static one of a function has that function, and its arguments, in front."""
    symbols = [symbol for symbol in WRITABLE.findall(listing) if OURS.match(symbol.removeprefix(GUARD))]
    whole = [symbol for symbol in symbols if not symbol.startswith(GUARD)]
    whole += [symbol for symbol in symbols if symbol.startswith(GUARD) and symbol.removeprefix(GUARD) not in whole]
    return Counter(symbol.rpartition("::")[2] for symbol in whole)


def named(page):
    """(name, file) of each object in the second column."""
    rows = page.partition(SECTION)[2].partition("\n## ")[0]
    for row in re.findall(r"^\|(?!-)(.*)\|$", rows, re.M)[1:]:
        file = None
        for word in QUOTED.findall(row.split("|")[1]):
            if "/" in word:
                file = word
            else:
                yield word, file


def faults(listing, page, text_of):
    table = list(named(page))
    for variable in sorted(variables(listing) - Counter(name for name, _ in table)):
        yield f"{PAGE} does not name {variable}, of which there is one for the whole process"
    for name, file in table:
        if file is None or not re.search(rf"\b{re.escape(name)}\b", text_of(file)):
            yield f"{PAGE} names {name}, which is not in {file}"


def self_test():
    line = "00000000000001e0 l     O {}\t0000000000000008              {}\n"
    page = f"{SECTION}\n\n| what | where |\n|---|---|\n| a | `core/a.cpp`: `a`, `b_` |\n\n## Next\n\n| c | `core/c.cpp`: `c` |\n"
    sources = {"core/a.cpp": "int a, b_;", "core/c.cpp": "int c;"}
    known = line.format(".bss", "zlink::(anonymous namespace)::a") + line.format(".data", "zlink::who::b_")

    def found(listing, page=page):
        return list(faults(listing, page, sources.get))

    is_well = (not found(known) and not found(known + line.format(".bss", "boost::asio::id") + line.format(".tbss", "zlink::t")
                                              + line.format(".data.rel.ro", "zlink::table"))
               and len(found(known + line.format(".bss", "zlink::f(zlink::g const&)::c"))) == 1
               and len(found(known + line.format(".bss", "zlink::other::a"))) == 1
               and len(found(known + line.format(".bss", "guard variable for zlink::f()::d"))) == 1
               and len(found(known, page.replace("`b_`", "`b_`, `gone`"))) == 1)
    print("each fault is found" if is_well else "a fault is not found")
    return 0 if is_well else 1


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = Path(sys.argv[2])
    listing = subprocess.run(["objdump", "-t", "-C", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    found = list(faults(listing, (root / PAGE).read_text(), lambda file: (root / "src" / file).read_text()))
    count = sum(variables(listing).values())
    if not count:
        found.append("no variable of the library was found: has it been stripped?")
    print("\n".join(found) or f"{count} objects of the process, each in the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
