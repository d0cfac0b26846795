"""Reads zmq.h: its functions with what their comments say, its constants, its structures and its options.

The form of the header that this relies on, and complains of where it is not kept:

    a function     stands below its comment, several with one comment below each other, without an empty line
    its comment    says what it does; behind an empty line come fields, "name  text" and "name, name  text": parameters,
                   returns, errors, blocks, threads, note. Further lines of a field are indented
    a row          is a #define whose comment begins with a type: an option
    constants      are other #defines one below the other, with a comment of their own above them
    both           may have a comment of several lines, none of which begins with a star
"""

import re
from dataclasses import dataclass, field

HEADING = re.compile(r"/\* -{4} (.+?) -{4,} \*/$")
DEFINE = re.compile(r"#define (\w+)(\([^)]*\))?(?:\s+(.*?))?\s*(?:/\* (.*) \*/)?$")
FIELD = re.compile(r"([a-z_0-9]+(?:, [a-z_0-9]+)*) {2,}(\S.*)$")
SPOKEN = ("returns", "errors", "blocks", "threads", "note")
ROW = re.compile(r"(?P<type>bool|int|int64|uint64|octets|string|key)\b(?P<unit> [^,]+)?, (?P<rest>.*?): (?P<what>.*)$")
NOT_BUILT = "not built: EINVAL"
SINCE = re.compile(r"; since (\d+\.\d+\.\d+)$")
FIRST_RELEASE = "0.1.0"


@dataclass
class Comment:
    said: list = field(default_factory=list)  # paragraphs
    fields: list = field(default_factory=list)  # of (names, text)

    def text(self):
        return "\n".join([*self.said, *(" ".join((*names, text)) for names, text in self.fields)])


@dataclass
class Function:
    name: str
    returns: str
    parameters: list


@dataclass
class Functions:
    """Functions that one comment is about."""

    comment: Comment
    functions: list
    section: str
    conditions: tuple  # macros that have to be defined

    @property
    def name(self):
        return self.functions[0].name


@dataclass
class Constants:
    comment: Comment
    names: list
    lines: list  # one for each name; a comment may go on in further ones
    section: str
    place: int  # how many groups of functions stand above it


@dataclass
class Structure:
    name: str
    comment: Comment
    text: str


@dataclass
class Option:
    name: str
    number: str
    row: str
    heading: str  # first sentence of the comment above its block
    conditions: tuple

    @property
    def is_built(self):
        return not self.row.startswith(NOT_BUILT)

    def facts(self):
        """Of the row: type, unit, whether it is set only or read only, default, when it acts, since, what it is."""
        row, since = self.row, SINCE.search(self.row)
        row = row[: since.start()] if since else row
        since = since.group(1) if since else FIRST_RELEASE
        if not self.is_built:
            return {"since": since, "what": row}
        parts = ROW.match(row)
        facts = {"type": parts["type"], "unit": (parts["unit"] or "").strip(), "since": since, "what": parts["what"], "access": "",
                 "default": "", "acts": ""}
        # A comma within brackets is the default's own.
        for part in re.split(r", (?![^(]*\))", parts["rest"]):
            if part in ("set only", "read only"):
                facts["access"] = part
            elif part.startswith("default "):
                facts["default"] = part[len("default "):]
            else:
                facts["acts"] = part
        return facts


@dataclass
class Header:
    conventions: list  # of (word, text): what holds for every function
    versions: dict
    functions: list
    constants: list
    structures: list
    options: list

    def names(self):
        return [function.name for group in self.functions for function in group.functions]


def comment_of(lines):
    """Of the lines of a comment, its stars taken away."""
    comment, paragraph, in_fields = Comment(), [], False
    for number, line in enumerate([*lines, ""]):
        found = FIELD.match(line)
        if found and number and (in_fields or not lines[number - 1].strip()):
            in_fields = True
            comment.fields.append((tuple(found.group(1).split(", ")), found.group(2)))
        elif in_fields and line.strip():
            names, text = comment.fields[-1]
            comment.fields[-1] = (names, text + " " + line.strip())
        elif line.strip():
            paragraph.append(line.strip())
        elif paragraph:
            comment.said.append(" ".join(paragraph))
            paragraph = []
    return comment


def split_at_commas(text):
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [*parts, part.strip()]


def function_of(text):
    text = re.sub(r"\s+", " ", text)
    found = re.match(r"ZMQ_EXPORT (.*?)(\w+)\((.*)\);$", text)
    if not found:
        raise ValueError("no declaration: %s" % text)
    returns, name, parameters = found.groups()
    return Function(name, returns.strip(), split_at_commas(parameters))


class Reader:
    def __init__(self, text):
        self.lines = text.split("\n")
        self.at = 0
        self.section, self.conditions = "", []
        self.comment, self.heading, self.raw = Comment(), "", []
        self.header = Header([], {}, [], [], [], [])
        self.is_fresh = False  # whether the last comment has nothing below it yet

    def read(self):
        while self.at < len(self.lines):
            self.step(self.lines[self.at])
        return self.header

    def step(self, line):
        heading = HEADING.match(line)
        if heading:
            self.section, self.comment = heading.group(1), Comment()
            self.at += 1
        elif line.startswith("/*"):
            self.take_comment()
        elif line.startswith("ZMQ_EXPORT"):
            self.take_functions()
        elif line.startswith("typedef"):
            self.take_structure()
        elif line.startswith("#define"):
            self.take_constants()
        else:
            self.take_condition(line)
            self.at += 1

    def take_condition(self, line):
        found = re.match(r"#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(\w*)", line)
        if not found:
            return
        if found.group(1) in ("ifdef", "ifndef", "if"):
            self.conditions.append(found.group(2) if found.group(1) == "ifdef" else "")
        elif found.group(1) == "endif":
            self.conditions.pop()

    def wanted(self):
        return tuple(each for each in self.conditions if each and each != "__cplusplus")

    def take_comment(self):
        begin = self.at
        while not self.lines[self.at].rstrip().endswith("*/"):
            self.at += 1
        self.at += 1
        text = "\n".join(self.lines[begin : self.at]).strip()
        lines = [re.sub(r"^ \* ?", "", line) for line in text[2:-2].strip(" ").split("\n")]
        if "clang-format" in lines[0]:
            return
        if begin == 0:
            # They are fields that stand a little to the right.
            self.header.conventions = comment_of([""] + [re.sub(r"^ {2}", "", line) for line in lines if line.startswith("  ")]).fields
            return
        self.comment, self.is_fresh = comment_of(lines), True
        self.heading = re.split(r"[.,;:]", " ".join(lines))[0]

    def statement(self):
        begin = self.at
        while not self.lines[self.at].rstrip().endswith(";"):
            self.at += 1
        self.at += 1
        return "\n".join(self.lines[begin : self.at])

    def take_functions(self):
        functions = []
        while self.lines[self.at].startswith("ZMQ_EXPORT"):
            functions.append(function_of(self.statement()))
        if not self.is_fresh:
            raise ValueError("no comment: %s" % functions[0].name)
        self.header.functions.append(Functions(self.comment, functions, self.section, self.wanted()))
        self.is_fresh = False

    def take_structure(self):
        begin, depth = self.at, 0
        while True:
            line = self.lines[self.at]
            depth += line.count("{") - line.count("}")
            self.at += 1
            if not depth and line.rstrip().endswith(";"):
                break
        text = "\n".join(self.lines[begin : self.at])
        name = re.search(r"\((\w+)\)\(|\b(\w+);$", text)
        comment = self.comment if self.is_fresh else Comment()
        self.header.structures.append(Structure(name.group(1) or name.group(2), comment, text))
        self.is_fresh = False

    def take_constants(self):
        defines = []
        while self.lines[self.at].startswith("#define"):
            line = self.lines[self.at]
            self.at += 1
            while line.count("/*") > line.count("*/"):
                line += "\n" + self.lines[self.at]
                self.at += 1
            defines.append((line, DEFINE.match(re.sub(r"\s*\n\s*", " ", line))))
        constants = []
        for line, found in defines:
            name, arguments, value, remark = found.groups()
            if name.startswith("ZLINK_VERSION_"):
                self.header.versions[name[len("ZLINK_VERSION_"):]] = value
            if remark and (remark.startswith(NOT_BUILT) or ROW.match(remark)) and not arguments:
                self.header.options.append(Option(name, value, remark, self.heading, self.wanted()))
            elif not name.startswith("E") and value and not arguments:
                constants.append((name, line))
        if constants and self.is_fresh:
            self.header.constants.append(Constants(self.comment, [name for name, _ in constants], [line for _, line in constants],
                                                   self.section, len(self.header.functions)))
        self.is_fresh = False


def read_header(path):
    with open(path, encoding="utf-8") as file:
        return Reader(file.read()).read()
