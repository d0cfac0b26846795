"""Checks that the listings of documents are the files that they are taken from, word for word.

Usage: listings.py ROOT             exit status 1 and one line per fault
       listings.py ROOT --write     copies the files into the documents; then checks
       listings.py --self-test      plants each kind of fault and looks whether it is found

A listing is a fence behind a line of its own that names the file, from the root of the sources:

       <!-- listing: examples/guide/start/server.c -->

Rules:  what is in the fence is what is in the file; every file of examples/guide is named by a page of docs/guide,
        and no line of it has more than 100 columns.
"""

import re
import sys
import tempfile
from pathlib import Path

WIDTH = 100
LISTING = re.compile(r"^<!-- listing: (\S+) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)
MARKER = re.compile(r"^<!-- listing:.*$", re.M)
LANGUAGES = {".c": "c", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".mjs": "js", ".yaml": "yaml"}


def documents(root):
    return sorted((root / "docs").rglob("*.md"))


def examples(root):
    return sorted(path for path in (root / "examples/guide").rglob("*") if path.suffix in LANGUAGES)


def write(root):
    def fence(found):
        path = root / found[1]
        return found[0] if not path.is_file() else "<!-- listing: %s -->\n```%s\n%s```" % (
            found[1], LANGUAGES[path.suffix], path.read_text(encoding="utf-8"))

    for page in documents(root):
        text = page.read_text(encoding="utf-8")
        mended = LISTING.sub(fence, text)
        if mended != text:
            page.write_text(mended, encoding="utf-8")


def faults(root):
    shown = ""
    for page in documents(root):
        text = page.read_text(encoding="utf-8")
        shown += text if "guide" in page.parts else ""
        listings = LISTING.findall(text)
        if len(listings) != len(MARKER.findall(text)):
            yield "%s: there is no fence behind a name" % page.relative_to(root)
        for name, language, body in listings:
            path = root / name
            if not path.is_file():
                yield "%s: there is no %s" % (page.relative_to(root), name)
            elif path.read_text(encoding="utf-8") != body or LANGUAGES.get(path.suffix) != language:
                yield "%s: the listing is not %s: cmake/listings.py . --write" % (page.relative_to(root), name)
    for path in examples(root):
        name = str(path.relative_to(root))
        if name not in shown:
            yield "%s: no page names it" % name
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if len(line) > WIDTH:
                yield "%s:%d: %d columns" % (name, number, len(line))


def self_test():
    marker = "<!-- listing: examples/guide/a.c -->\n"
    planted = [("int a;\n", marker + "```c\nint a;\n```\n", None),
               ("int a;\n", marker + "```c\nint b;\n```\n", "is not examples/guide/a.c"),
               ("int a;\n", marker + "```cpp\nint a;\n```\n", "is not examples/guide/a.c"),
               ("int a;\n", marker + "\n```c\nint a;\n```\n", "no fence"),
               ("int a;\n", marker.replace("a.c", "b.c") + "```c\nint a;\n```\n", "no examples/guide/b.c"),
               ("int a;\n", "Nothing.\n", "no page names it"),
               ("int a%s;\n" % ("a" * WIDTH), "examples/guide/a.c\n", "columns")]
    missed = []
    for source, page, expected in planted:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in (("examples/guide/a.c", source), ("docs/guide/page.md", page)):
                (root / name).parent.mkdir(parents=True)
                (root / name).write_text(text)
            found = list(faults(root))
            if (expected is None) != (not found) or (expected and expected not in found[0]):
                missed.append("%s: %s" % (page, found))
            write(root)
            if expected and "is not" in expected and list(faults(root)):
                missed.append("%s is not mended" % page)
    return missed


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = self_test()
    else:
        root = Path(sys.argv[1])
        if sys.argv[2:] == ["--write"]:
            write(root)
        found = list(faults(root))
    print("\n".join(found) if found else "no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
