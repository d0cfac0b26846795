"""Checks how comments and documents are written, as far as a program can.

Usage: wording.py ROOT           exit status 1 and one line per fault
       wording.py ROOT --wrap    breaks lines that are too long, and whole paragraphs with them; then checks
       wording.py --self-test    plants each kind of fault and looks whether it is found

Rules:  no line of a comment, and none of a document but in tables and listings, has more than 100 columns; a comment
        behind code that would have more goes on a line above;
        no comment begins with a word that points to something the reader has not seen (Who, What, Where, How, As, Of,
        The same, Nor): a sentence has a subject and a verb. Not in examples/;
        both hold for the /* */ of include/, of which the manual is made;
        a constant that is the most, the least, few or many of something says of what, or is a time: most_octets_in_read;
        each .cpp of src/ begins with a comment that says in a sentence what the file is, and where it is long has a map;
        the intricate ones below have at least 12 comment lines in a hundred: why, and what must hold.
"""

import re
import sys
import tempfile
import textwrap
from pathlib import Path

WIDTH = 100
COMMENTED = ("src", "include", "tests", "benchwithzmq", "tools", "examples")
SUFFIXES = {".hpp", ".cpp", ".h", ".c"}
DOCUMENTED = ("docs", "examples", "packaging", "tests", "benchwithzmq", "demo", "tools")
OF_SENTENCES = ("src", "include", "tools", "benchwithzmq", "tests")
OPENER = re.compile(r"(Who|What|Where|How|As|Of|The same|Nor)\b")
COMMENT = re.compile(r"^(\s*)(//[/!]?)(?:(\s+)(.*)|())$")
LABEL = re.compile(r"[A-Z][A-Za-z/]*(?: [a-z]+)?:\s+|[-*] |\d+\. ")
RULER = re.compile(r"\S -{8,}$")
C_RULER = re.compile(r"\s*/\* -{4} .+ -{4,} \*/$")
FIELD = re.compile(r"[a-z_0-9]+(?:, [a-z_0-9]+)* {2,}(?=\S)|[a-z]+ \.{3} +(?=\S)|[a-z]+ [a-z]+ {2,}(?=\S)")  # of zmq.h: "name, name  text"
UNBROKEN = "\u00a0"  # a space that no line ends with
LIMIT = re.compile(r"\b((?:most|least|fewest|few|some|many|worth)(?:_\w+)?)(?= *[={])")
UNIT = re.compile(r"\w{2,}s|ms|size|mark|level")  # as the names have it: octets, messages, pipes, ...
TIME = re.compile(r"\bduration\b|chrono::")
MAP = re.compile(r"\b(Map|Order):")
LONG = 150  # lines, from which on a file has a map
INTRICATE = ("pipe/frame_queue.cpp", "pipe/frame_queue_bodies.cpp", "pipe/frame_queue_gather.cpp", "pipe/pipe_turns.cpp",
             "session/inbound.cpp", "session/inbound_kept.cpp", "session/outbound.cpp", "socket/borrower.cpp",
             "transport/shared_ring.cpp", "transport/tls_stream.cpp", "transport/tls_stream_waits.cpp", "zmtp/decoder_zws.cpp")
SHARE_OF_INTRICATE = 12  # of a hundred lines that are not empty
DRAWN = re.compile(r"\S   +\S|[|+]--|-->|\.\.\.\.|----")


def sources(root):
    for folder in COMMENTED:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def headers(root):
    """Headers in C, whose comments are /* and */."""
    yield from sorted((root / "include").glob("*.h"))


def documents(root):
    yield from sorted(path for path in root.glob("*.md") if path.is_file())
    for folder in DOCUMENTED:
        yield from sorted(path for path in (root / folder).rglob("*.md") if path.is_file())


# ---- what is wrong ----


def faults_of_source(lines, has_sentences):
    before = None
    for number, line in enumerate(lines, 1):
        comment = COMMENT.match(line)
        if comment and len(line) > WIDTH:
            yield number, "a comment of %d columns" % len(line)
        text = (comment.group(4) or "") if comment else None
        trailing = re.search(r"\S\s+//\s+(.*)", line) if not comment else None
        if trailing and len(line) > WIDTH:
            yield number, "a comment that ends in column %d: it goes above" % len(line)
        said = text if text is not None else trailing.group(1) if trailing else ""
        begins = before is None or before.rstrip().endswith((".", ":")) or not before
        if has_sentences and begins and OPENER.match(said):
            yield number, "a comment begins with '%s'" % OPENER.match(said).group(1)
        before = text


def text_of_c_comment(line):
    """Of a line that a comment begins or goes on in."""
    return re.sub(r"\s*\*/.*$", "", re.sub(r"^\s*(/\*|\*(?!/)) ?", "", line))


def faults_of_header(lines):
    for at, block, column in c_comments(lines):
        if column is None:
            continue
        before = ""
        for number, line in enumerate(block, at + 1):
            if len(line) > WIDTH:
                yield number, "a comment of %d columns" % len(line)
            text = text_of_c_comment(line[column:] if number == at + 1 else line)
            label = FIELD.match(text)
            said = text[label.end() :] if label else text
            if (not before or label or before.endswith((".", ":"))) and OPENER.match(said):
                yield number, "a comment begins with '%s'" % OPENER.match(said).group(1)
            before = text.rstrip()


def faults_of_constants(lines):
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0]
        if "constexpr" not in code or TIME.search(code):
            continue
        for name in LIMIT.findall(code):
            if not any(UNIT.fullmatch(word) for word in name.split("_")[1:]):
                yield number, "'%s' does not say of what: octets, messages, ..." % name


def first_comment(lines):
    """The words of the comment that a file begins with."""
    words = []
    for line in lines:
        if not line.startswith("//"):
            break
        words.append(line.lstrip("/").strip())
    return " ".join(words)


def share_of_comments(lines):
    """Lines that are a comment and nothing else, of a hundred that are not empty."""
    written = [line.strip() for line in lines if line.strip()]
    return 100 * sum(line.startswith("//") for line in written) / max(len(written), 1)


def faults_of_unit(name, lines):
    """A .cpp of src/ as a whole; `name` in src/."""
    begin = first_comment(lines)
    if MAP.match(begin) or not re.match(r"\w.*? .*? .*?[.:;]", begin):
        yield 1, "the file does not begin with a sentence that says what it is"
    elif len(lines) > LONG and not MAP.search(begin):
        yield 1, "%d lines without a map in the first comment" % len(lines)
    if name in INTRICATE and share_of_comments(lines) < SHARE_OF_INTRICATE:
        yield 1, "%.1f comment lines in a hundred, and not %d" % (share_of_comments(lines), SHARE_OF_INTRICATE)


def is_loose(line, in_listing):
    return not in_listing and not line.lstrip().startswith(("|", "#", "<")) and "](" not in line.split(" ")[-1]


def faults_of_document(lines):
    in_listing = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            in_listing = not in_listing
        elif is_loose(line, in_listing) and len(line) > WIDTH and " " in line.strip()[: WIDTH - 8]:
            yield number, "%d columns" % len(line)


def faults(root):
    for path in sources(root):
        name = path.relative_to(root)
        for number, what in faults_of_source(path.read_text().split("\n"), name.parts[0] in OF_SENTENCES):
            yield "%s:%d: %s" % (name, number, what)
        if name.parts[0] in ("src", "tools"):
            for number, what in faults_of_constants(path.read_text().split("\n")):
                yield "%s:%d: %s" % (name, number, what)
        if name.parts[0] == "src" and name.suffix == ".cpp":
            for number, what in faults_of_unit("/".join(name.parts[1:]), path.read_text().split("\n")):
                yield "%s:%d: %s" % (name, number, what)
    for name in INTRICATE:
        if (root / "src").is_dir() and (root / "src/core/error.hpp").exists() and not (root / "src" / name).exists():
            yield "cmake/wording.py: src/%s is not there any more" % name
    for path in headers(root):
        for number, what in faults_of_header(path.read_text().split("\n")):
            yield "%s:%d: %s" % (path.relative_to(root), number, what)
    for path in documents(root):
        for number, what in faults_of_document(path.read_text().split("\n")):
            yield "%s:%d: %s" % (path.relative_to(root), number, what)


# ---- how it is mended ----


def filled(words, first, rest):
    return textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False) or [first.rstrip()]


def wrap_comment(block, labels=LABEL):
    """A run of comment lines with one margin: paragraphs with a line that is too long are filled anew."""
    margin, mark = COMMENT.match(block[0]).group(1, 2)
    prefix = margin + mark
    block = [line[:WIDTH] if RULER.search(line) else line for line in block]
    paragraphs = []  # of [indent of the first line, indent of the others, lines]
    for line in block:
        gap, text = COMMENT.match(line).group(3) or "", COMMENT.match(line).group(4) or ""
        label = labels.match(text)
        hang = len(gap) + (len(label.group()) if label else 0)
        last = paragraphs[-1] if paragraphs else None
        if not text or DRAWN.search(text[label.end():] if label else text):
            paragraphs.append([gap, None, [text]])
        elif last and last[1] is not None and not label and last[2] and len(gap) == last[1]:
            last[2].append(text)
        elif last and last[1] is not None and not label and len(last[2]) == 1 and gap == last[0] and "  " not in last[2][0]:
            last[1] = len(gap)  # the colon before was one of a sentence
            last[2].append(text)
        else:
            paragraphs.append([gap, hang, [text]])
    result = []
    for gap, hang, texts in paragraphs:
        lines = [prefix + (gap if i == 0 else " " * (hang or 0)) + text for i, text in enumerate(texts)]
        if any(len(line) > WIDTH for line in lines):
            lines = filled_with_label(prefix, gap, hang or len(gap) + last_column(texts[0]), texts, labels)
        result += [line.rstrip() for line in lines]
    return result


def last_column(text):
    columns = list(re.finditer(r"\S {2,}(?=\S)", text))
    return columns[-1].end() if columns and columns[-1].end() < WIDTH / 2 else 4


def filled_with_label(prefix, gap, hang, texts, labels):
    label = labels.match(texts[0])
    head = label.group() if label and hang > len(gap) else ""
    words = " ".join([texts[0][len(head):], *texts[1:]])
    return filled(words, prefix + gap + head, prefix + " " * hang)


def wrap_c_comment(block, first):
    """A comment that stands by itself; `first` is what stands in front of its text."""
    margin = first[: len(first) - len(first.lstrip())]
    texts = [re.sub(r"^\s*(/\*|\*(?!/)) ?", "", line) for line in block]
    texts[-1] = re.sub(r"\s*\*/$", UNBROKEN + "*/", texts[-1])
    mended = wrap_comment([(margin + "// " + text).rstrip(" ") for text in texts], FIELD)
    lines = [margin + " *" + line[len(margin) + 2 :].replace(UNBROKEN, " ") for line in mended]
    return [margin + "/*" + lines[0][len(margin) + 2 :], *lines[1:]]


def wrap_trailing_c_comment(block, column):
    code, words = block[0][:column], " ".join([block[0][column + 2 :], *block[1:]]).split()
    words[-2:] = [UNBROKEN.join(words[-2:])]
    lines = filled(" ".join(words), code + "/* ", " " * (column + 3))
    return [line.replace(UNBROKEN, " ") for line in lines]


def c_comments(lines):
    """Of the lines of a header in C: each comment, and what stands between two of them; with the column where it begins, or None."""
    at = 0
    while at < len(lines):
        begins = lines[at].find("/*")
        end = at
        if begins >= 0:
            while "*/" not in lines[end]:
                end += 1
        yield at, lines[at : end + 1], begins if begins >= 0 else None
        at = end + 1


def wrap_header(lines):
    result = []
    for _, block, column in c_comments(lines):
        is_trailing = column is not None and block[0][:column].strip() != ""
        is_aligned = not is_trailing or all(line.startswith(" " * (column + 3) + line.strip()[0]) for line in block[1:])
        if column is None or (is_aligned and all(len(line) <= WIDTH for line in block)):
            result += block
        elif is_trailing:
            result += wrap_trailing_c_comment(block, column)
        elif C_RULER.match(block[0]):
            result.append(block[0][: WIDTH - 3].rstrip() + " */")
        else:
            result += wrap_c_comment(block, block[0][:column])
    return result


def wrap_source(lines):
    result, block = [], []
    for line in [*lines, None]:
        comment = COMMENT.match(line) if line is not None else None
        if block and (not comment or comment.group(1, 2) != COMMENT.match(block[0]).group(1, 2)):
            result += wrap_comment(block)
            block = []
        if comment:
            block.append(line)
        elif line is not None:
            result.append(line)
    return result


def unlike_an_item(line):
    """A line that goes on in a paragraph must not look like the beginning of a list, a heading or a table."""
    found = re.match(r"\s*([-*+>#|]|\d+[.)])(?= |$)", line)
    return line[:found.end() - 1] + "\\" + line[found.end() - 1:] if found else line


def wrap_document(lines):
    result, paragraph, in_listing = [], [], False

    def flush():
        if any(len(line) > WIDTH for line in paragraph):
            head = re.match(r"\s*(?:[-*] |\d+\. |> )?", paragraph[0]).group()
            words = " ".join([paragraph[0][len(head):], *(line.strip() for line in paragraph[1:])])
            result.extend(line if i == 0 else unlike_an_item(line)
                          for i, line in enumerate(filled(words, head, " " * len(head))))
        else:
            result.extend(paragraph)
        paragraph.clear()

    for line in lines:
        if line.lstrip().startswith("```"):
            flush()
            in_listing = not in_listing
            result.append(line)
        elif in_listing or not line.strip() or line.lstrip().startswith(("|", "#", "<", ">")) or line.endswith("  "):
            flush()
            result.append(line)
        else:
            if re.match(r"\s*([-*] |\d+\. )", line):
                flush()
            paragraph.append(line)
    flush()
    return result


def wrap(root):
    for paths, how in ((sources(root), wrap_source), (headers(root), wrap_header), (documents(root), wrap_document)):
        for path in paths:
            text = path.read_text()
            mended = "\n".join(how(text.split("\n")))
            if mended != text:
                path.write_text(mended)


# ---- itself ----


def words_of(text):
    return re.sub(r"/// | \* |-{4,}", " ", text).split()


def self_test():
    planted = {
        "src/core/a.hpp": ("// Of the others.\n", "begins with 'Of'"),
        "src/core/b.hpp": ("int a;  // What it is.\n", "begins with 'What'"),
        "src/core/c.hpp": ("/// A sentence that is " + "much " * 20 + "too long.\n", "columns"),
        "tests/m.cpp": ("// How it is.\n", "begins with 'How'"),
        "tools/n.cpp": ("int a;  // a number that is " + "very " * 20 + "large\n", "it goes above"),
        "src/core/n.hpp": ("int a;  // a number that is " + "very " * 20 + "large\n", "it goes above"),
        "include/o.h": ("/* Makes a thing.\n *\n * size    how " + "very " * 20 + "large\n *         it is. */\n", "columns"),
        "include/p.h": ("#define A 1 /* a number that is " + "very " * 20 + "large */\n", "columns"),
        "include/q.h": ("/* What it is. */\n", "begins with 'What'"),
        "include/r.h": ("/* A thing.\n *\n * size  How large it is. */\n", "begins with 'How'"),
        "include/s.h": ("/* ---- Things " + "-" * 100 + " */\n", "columns"),
        "examples/a/README.md": ("A sentence that is " + "much " * 20 + "too long.\n", "columns"),
        "docs/d.md": ("A sentence that is " + "much " * 20 + "too long.\n", "columns"),
        "src/core/e.hpp": ("// A sentence that goes on\n// Of course.\n", None),
        "src/core/g.cpp": ("#include <new>\n", "does not begin with a sentence"),
        "src/core/h.cpp": ("// Helpers.\n", "does not begin with a sentence"),
        "src/core/l.cpp": ("// Map: this; that; and more.\n", "does not begin with a sentence"),
        "src/core/i.cpp": ("// A short file of some lines; see i.hpp.\nint i;\n", None),
        "src/core/j.cpp": ("// A long file of many lines.\n" + "int j();\n" * LONG, "without a map"),
        "src/core/k.cpp": ("// A long file of many lines. Map: j.\n" + "int j();\n" * LONG, None),
        "src/" + INTRICATE[0]: ("// A queue that is intricate. Map: j.\n" + "int j();\n" * 10, "comment lines in a hundred"),
        "src/" + INTRICATE[1]: ("// A queue that is intricate.\n// Map: j.\n" + "int j();\n\n" * 14, None),
        "src/core/t.hpp": ("constexpr int most = 4;\n", "does not say of what"),
        "src/core/u.hpp": ("constexpr int points = 4, few_of_these{2};\n", "'few_of_these' does not say"),
        "src/core/v.hpp": ("constexpr int most_octets = 4;\nconstexpr duration least_cost{2};\nint most = 3;\n", None),
        "docs/f.md": ("| a table that is " + "much " * 20 + "too long |\n", None),
    }
    missed = []
    for name, (text, expected) in planted.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(text)
            found = list(faults(Path(folder)))
            if (expected is None) != (not found) or (expected and expected not in found[0]):
                missed.append("%s: %s" % (name, found))
            wrap(Path(folder))
            if any("columns" in fault for fault in faults(Path(folder))):
                missed.append("%s is not wrapped" % name)
            if words_of(path.read_text()) != words_of(text):
                missed.append("%s has other words when wrapped" % name)
    return missed


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        found = self_test()
    else:
        root = Path(arguments[0])
        if arguments[1:] == ["--wrap"]:
            wrap(root)
        found = list(faults(root))
    print("\n".join(found) if found else "no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
