"""Checks that the documents agree with each other and with the sources, as far as a program can.

Usage: pages.py ROOT         exit status 1 and one line per fault
       pages.py --self-test  plants each kind of fault and looks whether it is found

Rules:  a link of a document leads to a file that is there, and to a heading in it;
        a document that a source or another document names by its path is there;
        every variable of the environment that src/ reads stands in docs/tuning.md, and no other;
        every sentence that a monitor or ZLINK_LOG can say stands in docs/reasons.md;
        a figure of docs/measurements is not copied into a page that grows: docs/performance.md has at most 120 lines,
        and a page of the guide, which is two screens with its listings, has as many;
        a file of the sources that a page names, other than a decision or a measurement of its day, is there, and so are the
        names in its code that stand behind it and a colon;
        the words of docs/glossary.md are written as they are there;
        the page of tests/support has a line for each file, and none for a file that is not there.
"""

import re
import sys

import planted

LONGEST = {"docs/performance.md": 120, "docs/guide/": 120}
SOURCES = ("src", "include", "tests", "tools", "benchwithzmq", "packaging", "examples", "demo")
SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".py", ".md", ".txt", ".sh", ".cmake"}
LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)|\b(?:href|src|srcset)=\"([^\"]+)\"", re.M)
NAMED = re.compile(r"(?<![\w/.])(?:docs|examples|demo)/[\w./-]*\w\.md\b")
ABROAD = re.compile(r"[a-z][a-z0-9+.-]*:|//")
MENTIONED = re.compile(r"\b(?:Z(?:MQ_ASIO|LINK)_[A-Z][A-Z_]*[A-Z]|TMPDIR|TEMPDIR|TMP)\b")
# Names of the header and of the build that begin as a variable does.
NOT_OF_ENVIRONMENT = re.compile(r"ZLINK_(VERSION|PEER|STATS|SOCKET_NAME|TESTS|WITH|WERROR|CCACHE|BUNDLED|COMMAND|SANITIZE)|ZMQ_ASIO_ZEROCOPY_WRITE")
ASKED = re.compile(r"\b(?:lookup|override_size|read_switch|from_environment|secure_getenv|getenv)\((?:lookup, )?\"([A-Z_]+)\"|^\s*for \(const char \*name : \{([^}]*)\}\)", re.M)
LAYERS_THAT_SPEAK = ("context", "core/event_log.cpp", "policy", "reactor", "session", "socket", "transport", "zmtp")
# What is said to somebody else: on stderr in other words, to a browser, or to who builds the library.
ASIDE = re.compile(r"zlink: |zlink stream|Content-Type|(?:bind|connect) to$|the option table|a number from|protocol error$")
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|#include[^\n]*|\"((?:[^\"\\\n]|\\.)*)\"|'(?:[^'\\\n]|\\.)+'", re.S)
WORD = re.compile(r"(?<![A-Za-z_.-])[a-z]{2,}(?![A-Za-z_])")
FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]+\.[ch]pp)\b")
NAMES_IN_FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]+\.[ch]pp)`:((?:\s*`[^`]+`,?)+)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
OF_THEIR_DAY = ("docs/decisions/", "docs/measurements/", "CHANGELOG.md")
# How a word of the glossary is not written.
WRITTEN_OTHERWISE = re.compile(r"\b(high water|highwater|write-turn|read-lease|two way pattern|routing-id|I/O-thread|sub-?socket)s?\b", re.I)


def documents(root):
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]):
        if path.is_file():
            yield path


def without_listings(text):
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2[ \t]*$", lambda found: "\n" * found.group().count("\n"), text, flags=re.M | re.S)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda found: "\n" * found.group().count("\n"), text, flags=re.S)


# ---- links ----


def anchors(text):
    """Of the headings, as GitHub makes them, and those that the text has itself."""
    seen, result = {}, set(re.findall(r"\b(?:id|name)=\"([^\"]+)\"", text))
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2[ \t]*$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.M):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        result.add("%s-%d" % (slug, count) if count else slug)
    return result


class Anchors(dict):
    def __missing__(self, path):
        self[path] = anchors(path.read_text())
        return self[path]


def link_faults(root, path, text, known):
    plain = without_listings(text)
    for found in LINK.finditer(plain):
        target = next(filter(None, found.groups()))
        if ABROAD.match(target):
            continue
        line = plain.count("\n", 0, found.start()) + 1
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or root.resolve() not in [there, *there.parents]:
            yield line, "there is no %s" % target
        elif anchor and there.suffix == ".md" and anchor not in known[there]:
            yield line, "there is no heading for %s" % target


def name_faults(root, text):
    for found in NAMED.finditer(text) if ".md" in text else ():
        if not (root / found.group()).exists():
            yield text.count("\n", 0, found.start()) + 1, "there is no %s" % found.group()


# ---- what the sources say ----


def literals(text):
    """The strings of a source with their lines, those that stand beside each other as one."""
    current, end = None, 0
    for found in TOKEN.finditer(text):
        if found.group(1) is None:
            continue
        if current and not text[end:found.start()].strip():
            current[1] += found.group(1)
        else:
            if current:
                yield tuple(current)
            current = [text.count("\n", 0, found.start()) + 1, found.group(1)]
        end = found.end()
    if current:
        yield tuple(current)


def said(text):
    return " ".join(text.replace("\\|", "|").replace("`", "").replace("\\*", "*").split())


def sentence_faults(root):
    page = root / "docs/reasons.md"
    on_page = said(page.read_text()) if page.exists() else ""
    for layer in LAYERS_THAT_SPEAK:
        place = root / "src" / layer
        for path in sorted(place.rglob("*.[ch]pp")) if place.is_dir() else [place]:
            for line, words in literals(path.read_text()) if path.exists() else ():
                words = words.replace('\\"', '"')
                if len(WORD.findall(words)) < 2 or ASIDE.match(words):
                    continue
                if said(words).strip(" :;,.()'") not in on_page:
                    yield "%s:%d: docs/reasons.md does not have '%s'" % (path.relative_to(root), line, words)


def asked_of_environment(root):
    result = set()
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        text = path.read_text()
        for one, several in ASKED.findall(text) if "lookup" in text or "environment" in text else ():
            result.update([one] if one else re.findall(r"\"(\w+)\"", several))
    return result


def environment_faults(root):
    asked = asked_of_environment(root)
    page = root / "docs/tuning.md"
    told = set(re.findall(r"`([A-Z_]+)`", page.read_text())) if page.exists() else set()
    for name in sorted(asked - told):
        yield "docs/tuning.md does not have %s, which src/ reads" % name
    for name in sorted(told - asked):
        suffixed = re.sub(r"_(TCP|IPC|INPROC)$", "", name)
        if MENTIONED.fullmatch(name) and not NOT_OF_ENVIRONMENT.match(name) and suffixed not in asked:
            yield "docs/tuning.md has %s, which nobody reads" % name


# ---- all of it ----


def word_faults(root, name, text):
    for found in WRITTEN_OTHERWISE.finditer(without_listings(text)):
        yield text.count("\n", 0, found.start()) + 1, "the glossary does not write '%s'" % found.group()
    if not name.startswith(OF_THEIR_DAY) and (root / "src").exists():
        for found in FILE.finditer(text):
            if not any((root / folder / found.group(1)).exists() for folder in ("", "src", "tests", "include", "tools")):
                yield text.count("\n", 0, found.start()) + 1, "there is no %s" % found.group(1)
        for found in NAMES_IN_FILE.finditer(text):
            code = code_of(root, found.group(1))
            for name in re.findall(r"`([^`]+)`", found.group(2)):
                if not all(re.search(r"\b%s\b" % re.escape(part.rstrip("()")), code) for part in name.split("::")):
                    yield text.count("\n", 0, found.start()) + 1, "%s has no %s" % (found.group(1), name)


def code_of(root, name):
    """Without comments."""
    there = [root / folder / name for folder in ("", "src", "tests", "include", "tools") if (root / folder / name).exists()]
    return COMMENT.sub("", there[0].read_text()) if there else ""


def helper_faults(root):
    folder = root / "tests/support"
    page = folder / "README.md"
    told = {}
    if page.exists():
        for line, text in enumerate(page.read_text().split("\n"), 1):
            if text.startswith("| `"):
                first = text.split("|")[1]
                names = re.findall(r"`([\w]+)?(\.[ch]pp)`", first)
                told.update({(name or names[0][0]) + suffix: line for name, suffix in names})
    there = {path.name for path in folder.glob("*.?pp")}
    for name in sorted(there - set(told)):
        yield "tests/support/README.md: has no line for %s" % name
    for name in sorted(set(told) - there):
        yield "tests/support/README.md:%d: there is no %s" % (told[name], name)


def faults(root):
    known = Anchors()
    for path in documents(root):
        text, name = path.read_text(), path.relative_to(root).as_posix()
        known[path.resolve()] = anchors(text)
        found = [*link_faults(root, path.resolve(), text, known), *name_faults(root, text), *word_faults(root, name, text)]
        for line, what in found:
            yield "%s:%d: %s" % (name, line, what)
        for place, most in LONGEST.items():
            if name.startswith(place) and text.count("\n") > most:
                yield "%s: has more than %d lines" % (name, most)
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.suffix != ".md" and path.name != "pages.py":
                for line, what in name_faults(root, path.read_text(errors="replace")):
                    yield "%s:%d: %s" % (path.relative_to(root), line, what)
    if (root / "src").exists():
        yield from environment_faults(root)
        yield from sentence_faults(root)
    yield from helper_faults(root)


# ---- itself ----

SOUND = {
    "README.md": "[a](docs/a.md#of-a-thing) [b](docs/a.md) `[c](none.md)` [d](https://there.example/x#y)\n```\n[e](none.md)\n```\n",
    "docs/a.md": "# A\n\n## Of `a` thing\n\n[back](../README.md) [here](#of-a-thing) [twice](#a-1) ![p](p.svg)\n\n# A\n",
    "docs/p.svg": "<svg/>",
    "docs/reasons.md": "| ... does not answer; the port ... is no `number` | wait |\n",
    "docs/tuning.md": "`ZLINK_SPEED`, `TMPDIR`, `ZMQ_ASIO_X_TCP`, `ZMQ_ASIO_X`\n",
    "tests/support/a.hpp": "\n",
    "tests/support/a.cpp": "\n",
    "tests/support/README.md": "| `a.hpp`, `.cpp` | what for |\n",
    "src/core/a.cpp": 'lookup("ZLINK_SPEED"); override_size(lookup, "ZMQ_ASIO_X" + suffix);\nfor (const char *name : {"TMPDIR"})\n',
    "src/transport/a.cpp": 'f(where + " does not "\n  "answer", "the port " + port + " is no number", \'"\', "one");  // "is not said" is_said\n// docs/a.md\n',
}
PLANTED = {
    "there is no none.md": {"README.md": "[a](none.md)\n"},
    "there is no heading for docs/a.md#none": {"README.md": "[a](docs/a.md#none)\n"},
    "there is no heading for #none": {"docs/a.md": "# A\n\n[a](#none)\n\n[x]: ../README.md\n## Of a thing\n"},
    "there is no none.svg": {"docs/b.md": "![p](none.svg)\n"},
    "there is no x.md": {"docs/b.md": "[a]\n\n[a]: x.md\n"},
    "there is no y.png": {"docs/b.md": '<img src="y.png">\n'},
    "there is no docs/gone.md": {"src/core/b.hpp": "// More: docs/gone.md\n"},
    "docs/tuning.md does not have ZLINK_NEW": {"src/core/b.cpp": 'from_environment("ZLINK_NEW", "")\n'},
    "docs/tuning.md has ZLINK_OLD": {"docs/tuning.md": "`ZLINK_SPEED` `TMPDIR` `ZMQ_ASIO_X` `ZLINK_OLD`\n"},
    "does not have 'nobody is there'": {"src/session/b.cpp": 'leave("nobody is there");\n'},
    "does not write 'high water'": {"docs/b.md": "# B\n\nA high water mark.\n"},
    "tests/support/README.md: has no line for b.hpp": {"tests/support/b.hpp": "\n"},
    "tests/support/README.md:2: there is no c.hpp": {"tests/support/README.md": "| `a.hpp`, `.cpp` | a |\n| `c.hpp` | c |\n"},
    "core/a.cpp has no is_said": {"docs/b.md": "`core/a.cpp`: `lookup`,\n`is_said`\n"},
    "there is no core/gone.hpp": {"docs/b.md": "`core/a.cpp`, `core/gone.hpp`\n"},
    "docs/performance.md: has more than 120 lines": {"docs/performance.md": "a\n" * 121},
    "docs/guide/recipes/a.md: has more than 120 lines": {"docs/guide/recipes/a.md": "a\n" * 121},
}


if __name__ == "__main__":
    sys.exit(planted.run(__doc__, faults, SOUND, PLANTED))
