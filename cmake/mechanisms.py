"""Checks docs/mechanisms.md: that there are no more mechanisms for speed than we allow ourselves, and that each is where the page says.

Usage: mechanisms.py ROOT         exit status 1 and one line per fault
       mechanisms.py --self-test  plants each kind of fault and looks whether it is found

Rules:  a row has five cells: number, what it does, where, what it earns, figure; no number stands twice;
        a file that a row names is in src/, and each name behind it is in that file's code, outside of comments;
        there are at most 85 rows, and a row names two modules at most (header and source of one name are a module);
        the counts in front of the tables are those of the tables.
"""

import re
import sys

import planted

PAGE = "docs/mechanisms.md"
MOST_ROWS = 85
MOST_MODULES_IN_A_ROW = 2
ROW = re.compile(r"\| *(\d+) *\|")
FILE = re.compile(r"[\w/]+\.[ch]pp")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
OF_QUESTION = re.compile(r"\| *([A-Z][\w ]+?) *\| *(\d+) *\| *\d+ *\|")


def rows(text):
    """Each row with its line, and the heading that it stands under."""
    heading = ""
    for line, words in enumerate(text.split("\n"), 1):
        if words.startswith("## "):
            heading = words[3:].strip()
        if ROW.match(words):
            yield line, heading, [cell.strip() for cell in words.strip().strip("|").split(" | ")]


def code_of(path):
    return COMMENT.sub("", path.read_text())


def faults_of_place(root, where):
    """What is wrong with `where`: files, and behind each the names that are in it."""
    modules, code = set(), None
    for quoted in re.findall(r"`([^`]+)`", where):
        if FILE.fullmatch(quoted):
            modules.add(quoted.rsplit(".", 1)[0])
            path = root / "src" / quoted
            code = code_of(path) if path.exists() else None
            if code is None:
                yield "there is no src/%s" % quoted
        elif not modules:
            yield "'%s' stands in front of a file" % quoted
        elif code is not None:
            for name in quoted.split("::"):
                if not re.search(r"\b%s\b" % re.escape(name), code):
                    yield "'%s' is not in the file before it" % quoted
    if not modules:
        yield "no file is named"
    if len(modules) > MOST_MODULES_IN_A_ROW:
        yield "%d modules, and not %d" % (len(modules), MOST_MODULES_IN_A_ROW)


def faults(root):
    text = (root / PAGE).read_text()
    numbers, under = set(), {}
    for line, heading, cells in rows(text):
        under[heading] = under.get(heading, 0) + 1
        if cells[0] in numbers:
            yield "%s:%d: number %s stands twice" % (PAGE, line, cells[0])
        numbers.add(cells[0])
        if len(cells) != 5:
            yield "%s:%d: %d cells, and not 5" % (PAGE, line, len(cells))
            continue
        for what in faults_of_place(root, cells[2]):
            yield "%s:%d: row %s: %s" % (PAGE, line, cells[0], what)
    if sum(under.values()) > MOST_ROWS:
        yield "%s: %d rows, and not %d: who adds one takes one out" % (PAGE, sum(under.values()), MOST_ROWS)
    counted = {question: int(count) for question, count in OF_QUESTION.findall(text)}
    if counted != under:
        yield "%s: the counts in front are %s, and the tables have %s" % (PAGE, counted, under)


# ---- itself ----

PAGE_OF_SOUND = """| question | all | 5 % or more |
|---|---|---|
| Who writes | 2 | 2 |

## Who writes

| | what it does | where | what it earns | figure |
|---|---|---|---|---|
| 1 | It writes. | `pipe/a.cpp`: `write`, `a::most` | much | more |
| 2 | It waits. | `pipe/a.hpp`; `pipe/b.hpp`: `wait` | more | more |
"""
SOUND = {PAGE: PAGE_OF_SOUND, "src/pipe/a.cpp": "struct a { int most; };\nvoid write();  // and is told\n", "src/pipe/a.hpp": "\n",
         "src/pipe/b.hpp": "void wait();\n", "src/pipe/c.hpp": "\n"}


def planted_pages():
    def changed(old, new):
        return PAGE_OF_SOUND.replace(old, new)
    more = "".join("| %d | a | `pipe/a.hpp` | b | c |\n" % number for number in range(3, MOST_ROWS + 2))
    return {
        "there is no src/pipe/gone.hpp": changed("pipe/b.hpp`: `wait`", "pipe/gone.hpp`: `wait`"),
        "'told' is not in the file before it": changed("`write`", "`told`"),
        "'b::most' is not in the file before it": changed("a::most", "b::most"),
        "'wait' stands in front of a file": changed("`pipe/a.hpp`; `pipe/b.hpp`: `wait`", "`wait`; `pipe/a.hpp`"),
        "no file is named": changed("`pipe/a.hpp`; `pipe/b.hpp`: `wait`", "somewhere"),
        "3 modules, and not 2": changed("`pipe/b.hpp`: `wait`", "`pipe/b.hpp`; `pipe/c.hpp`"),
        "number 1 stands twice": changed("| 2 | It", "| 1 | It"),
        "4 cells, and not 5": changed("| much | more |", "| much |"),
        "the counts in front": changed("| Who writes | 2 | 2 |", "| Who writes | 3 | 3 |"),
        "86 rows, and not 85": changed("| 2 | 2 |", "| 86 | 2 |") + more,
    }


if __name__ == "__main__":
    sys.exit(planted.run(__doc__, faults, SOUND, {expected: {PAGE: page} for expected, page in planted_pages().items()}))
