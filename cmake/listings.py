"""Checks that the listings of documents are the files that they are taken from, word for word.

Usage: listings.py ROOT             exit status 1 and one line per fault
       listings.py ROOT --write     copies the files into the documents, and names the other languages; then checks
       listings.py --self-test      plants each kind of fault and looks whether it is found

A listing is a fence behind a line of its own that names the file, from the root of the sources:

       <!-- listing: examples/guide/start/server.c -->

Rules:  what is in the fence is what is in the file; every file of examples/guide is named by a page of docs/guide,
        and no line of it has more than 100 columns;
        a program that a chapter names is there in C, C++ and Python, one of a recipe in as many as it likes; and behind
        a listing of the guide stands where the others are.
"""

import os
import re
import sys
import tempfile
import textwrap
from pathlib import Path

WIDTH = 100
LISTING = re.compile(r"^<!-- listing: (\S+) -->\n```(\w*)\n(.*?)^```$(?:\n\n(The same in [^\n]*(?:\n[^\n]+)*))?", re.M | re.S)
MARKER = re.compile(r"^<!-- listing:.*$", re.M)
LANGUAGES = {".c": "c", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".mjs": "js", ".yaml": "yaml", ".conf": "nginx"}
SPOKEN = {".c": "C", ".cpp": "C++", ".py": "Python"}
BUILD = {".c": "cc {0}.c -o {0} -lzmq\n", ".cpp": "c++ -std=c++20 {0}.cpp -o {0} -lzmq\n"}
# Programs of chapters in one language, and why.
ALONE = {"polling/with_asyncio": "asyncio is Python's"}


def documents(root):
    return sorted((root / "docs").rglob("*.md"))


def examples(root):
    return sorted(path for path in (root / "examples/guide").rglob("*") if path.suffix in LANGUAGES)


# ---- languages ----


def languages_of(path):
    """A program in each language that it is there in."""
    return {suffix: path.with_suffix(suffix) for suffix in SPOKEN if path.with_suffix(suffix).is_file()}


def same_in(page, path):
    """What stands behind a listing of the guide."""
    there = languages_of(path)
    named = ["[%s](%s)" % (SPOKEN[suffix], os.path.relpath(other, page.parent)) for suffix, other in there.items() if other != path]
    if path.suffix not in there or not named or "guide" not in page.parts:
        return ""
    return textwrap.fill("The same in %s." % " and ".join(named), WIDTH, break_long_words=False, break_on_hyphens=False)


def in_language(fences, suffix, stems):
    """The commands of a page with its programs in that language, of which it is told the stems."""
    built, result = set(), []
    for text in fences:
        for stem in stems:
            old = re.compile(r"^c(?:c|\+\+ -std=c\+\+20) %s\.\w+ -o %s -lzmq\n" % (stem, stem), re.M)
            run = r"(?<![\w/.])(?:\./%s|python3 %s\.py)(?![\w.])" % (stem, stem)
            if suffix == ".py":
                text = re.sub(run, "python3 %s.py" % stem, old.sub("", text))
                continue
            build = BUILD[suffix].format(stem)
            if old.search(text):
                text = old.sub(lambda _: build, text)
                built.add(stem)
            elif re.search(run, text) and stem not in built:
                text = re.sub(r"\A(?:cd .*\n)*(?:cc .*\n|c\+\+ .*\n)*", lambda found: found.group() + build, text)
                built.add(stem)
            text = re.sub(run, "./" + stem, text)
        result.append(text)
    return result


def stems_of(page, root):
    """The programs of several languages that a page shows or names."""
    text = page.read_text(encoding="utf-8")
    paths = [root / name for name in re.findall(r"examples/guide/[\w./-]+\.(?:cpp|c|py)\b", text)]
    return sorted({path.stem for path in paths if len(languages_of(path)) == len(SPOKEN)})


# ---- listings ----


def write(root):
    for page in documents(root):
        def fence(found):
            path = root / found[1]
            if not path.is_file():
                return found[0]
            same = same_in(page, path)
            return "<!-- listing: %s -->\n```%s\n%s```%s" % (
                found[1], LANGUAGES[path.suffix], path.read_text(encoding="utf-8"), same and "\n\n" + same)

        text = page.read_text(encoding="utf-8")
        mended = LISTING.sub(fence, text)
        if mended != text:
            page.write_text(mended, encoding="utf-8")


def faults(root):
    named, in_chapters = set(), set()
    for page in documents(root):
        text = page.read_text(encoding="utf-8")
        names = re.findall(r"examples/guide/[\w./-]+\.\w+", text) if "guide" in page.parts else []
        named.update(names)
        in_chapters.update(names if page.parent.name == "guide" else [])
        listings = LISTING.findall(text)
        if len(listings) != len(MARKER.findall(text)):
            yield "%s: there is no fence behind a name" % page.relative_to(root)
        for name, language, body, same in listings:
            path = root / name
            if not path.is_file():
                yield "%s: there is no %s" % (page.relative_to(root), name)
            elif path.read_text(encoding="utf-8") != body or LANGUAGES.get(path.suffix) != language:
                yield "%s: the listing is not %s: cmake/listings.py . --write" % (page.relative_to(root), name)
            elif same.split() != same_in(page, path).split():
                yield "%s: it does not name the other languages of %s: cmake/listings.py . --write" % (page.relative_to(root), name)
    for path in examples(root):
        name = str(path.relative_to(root))
        if name not in named:
            yield "%s: no page names it" % name
        missing = [SPOKEN[suffix] for suffix in SPOKEN if suffix not in languages_of(path)]
        if path.suffix in SPOKEN and missing and name in in_chapters and "%s/%s" % (path.parent.name, path.stem) not in ALONE:
            yield "%s: it is not there in %s" % (name, " and ".join(missing))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if len(line) > WIDTH:
                yield "%s:%d: %d columns" % (name, number, len(line))


# ---- itself ----


def self_test():
    marker = "<!-- listing: examples/guide/x/a.c -->\n"
    sound = marker + "```c\nint a;\n```\n\nThe same in [C++](../../examples/guide/x/a.cpp) and\n[Python](../../examples/guide/x/a.py).\n"
    planted = [("int a;\n", sound, None),
               ("int a;\n", sound.replace("int a", "int b"), "is not examples/guide/x/a.c"),
               ("int a;\n", sound.replace("```c", "```cpp"), "is not examples/guide/x/a.c"),
               ("int a;\n", sound.replace("```c", "\n```c"), "no fence"),
               ("int a;\n", sound.replace("a.c ", "b.c "), "no examples/guide/x/b.c"),
               ("int a;\n", sound.split("The same")[0], "does not name the other languages"),
               ("int a;\n", sound.replace("C++", "C"), "does not name the other languages"),
               ("int a;\n", "examples/guide/x/a.cpp examples/guide/x/a.py\n", "no page names it"),
               (None, "examples/guide/x/a.cpp examples/guide/x/a.py\n", "is not there in C"),
               ("int a%s;\n" % ("a" * WIDTH), "examples/guide/x/a.c examples/guide/x/a.cpp examples/guide/x/a.py\n", "columns")]
    missed = []
    for source, page, expected in planted:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {"docs/guide/page.md": page, "examples/guide/x/a.c": source, "examples/guide/x/a.cpp": "", "examples/guide/x/a.py": ""}
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                if text is not None:
                    (root / name).write_text(text)
            found = list(faults(root))
            if (expected is None) != (not found) or (expected and expected not in found[0]):
                missed.append("%s: %s" % (page, found))
            write(root)
            if expected and "--write" in found[0] and list(faults(root)):
                missed.append("%s is not mended" % page)
    fences = ["cd a\ncc x.c -o x -lzmq\n./x &\n", "python3 y.py\n./x\npython3 ../x.py\n"]
    spoken = {".c": [fences[0], "cc y.c -o y -lzmq\n./y\n./x\npython3 ../x.py\n"],
              ".cpp": ["cd a\nc++ -std=c++20 x.cpp -o x -lzmq\n./x &\n", "c++ -std=c++20 y.cpp -o y -lzmq\n./y\n./x\npython3 ../x.py\n"],
              ".py": ["cd a\npython3 x.py &\n", "python3 y.py\npython3 x.py\npython3 ../x.py\n"]}
    return missed + ["in %s: %s" % (suffix, said) for suffix, expected in spoken.items()
                     if (said := in_language(fences, suffix, ["x", "y"])) != expected]


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
