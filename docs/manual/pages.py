"""Makes the pages of the manual of zmq.h: one for each comment about functions, zlink_options(7), and zlink(7) of its text.

Usage: pages.py HEADER FOLDER    fills FOLDER/man3 and FOLDER/man7, and empties them before
"""

import datetime
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path

from header import SPOKEN, read_header
from versions import FIRST_NAMES, libzmq_version

HERE = Path(__file__).resolve().parent
OPTIONS_PAGE = "zlink_options"
HEADINGS = {"returns": "RETURN VALUES", "errors": "ERRORS", "blocks": "BLOCKING", "threads": "THREADS", "note": "NOTES"}
CONDITIONS = {
    "ZMQ_BUILD_DRAFT_API": "Drafts of libzmq stand in zmq.h where ZMQ_BUILD_DRAFT_API is defined before it. The library has this function "
    "in any case.",
    "ZMQ_DEBUG_COUNTERS": "Only a library that was built with the option ZMQ_DEBUG_COUNTERS has this function.",
    "SIG_BLOCK": "It is declared where signal.h was included before.",
}
OF_CONTEXTS = ("Context options", "Draft context option")
ALSO_OF_CONTEXTS = {"ZMQ_IPV6": "sockets and contexts", "ZMQ_BLOCKY": "contexts"}
WHEN = {
    "at once": "at once, also at connections that are there",
    "later": "at binds and connects made later, and at what is accepted there",
    "no effect": "it has none",
}


def date():
    """Of the release where SOURCE_DATE_EPOCH says it, as packages do; or else of the header."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    seconds = int(seconds) if seconds else (HERE.parents[1] / "include/zmq.h").stat().st_mtime
    day = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return day.strftime("%B ") + str(day.day) + day.strftime(", %Y")


def roff(text):
    """Text that mdoc takes as it is."""
    return no_request(text.replace("\\", "\\e"))


def no_request(text):
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def wrapped(text):
    """A line for each sentence, as roff wants it, and more where it is long. No line begins as a request does."""
    sentences = re.split(r"(?<=[A-Za-z0-9)\"P][.:])\s+(?=[A-Z\\\\])", text)
    lines = [line for each in sentences for line in textwrap.wrap(each, 78, break_long_words=False, break_on_hyphens=False)]
    return no_request("\n".join(lines))


class Writer:
    """Text with the functions in it marked, and those kept that a page speaks of."""

    def __init__(self, header, of_whom=()):
        self.known = set(header.names())
        self.mentioned, self.of_whom = set(), set(of_whom)

    def prose(self, text):
        def mark(found):
            if found.group() not in self.known:
                return found.group()
            self.mentioned.add(found.group())
            return "\\fB%s\\fP" % found.group() + ("" if found.group() in self.of_whom else "(3)")

        return wrapped(re.sub(r"\bz(?:mq|link)_\w+\b(?!\(\d)", mark, text.replace("\\", "\\e")))


def sentence(text, names=()):
    """Of a field: a capital in front and a full stop behind. Names of parameters stay as they are."""
    text = text.strip()
    word = re.match(r"[a-z]+\b(?![_(:/])", text)
    if word and word.group() not in names:
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", ":")) else text + "."


def head(name, section):
    return [".Dd " + date(), ".Dt %s %s" % (name.upper(), section), ".Os zlink", ".Sh NAME"]


def named(names, what):
    lines = [".Nm %s%s" % (name, " ," if name != names[-1] else "") for name in names]
    return [*lines, ".Nd " + roff(what)]


def summary(comment):
    first = re.split(r"(?<=[A-Za-z0-9)])[.:;] ", comment.said[0])[0].rstrip(".")
    if first == "Deprecated":
        first = comment.said[0].split(". ")[0].rstrip(".")
    return first if re.match(r"[A-Z]{2}", first) else first[0].lower() + first[1:]


def argument(text):
    return '"%s"' % text.replace('"', "") if " " in text or "," in text else text


def synopsis(group, structures, constants):
    lines = [".Sh SYNOPSIS"]
    lines += [".Fd #define %s" % each for each in group.conditions if each.startswith("ZMQ_")]
    lines += [".In zmq.h"]
    for each in constants:
        lines += [".Bd -literal", *(roff(line) for line in "\n".join(each.lines).split("\n")), ".Ed"]
    for each in structures:
        lines += [".Bd -literal", *(roff(line) for line in each.text.split("\n")), ".Ed"]
    lines += [".Pp"] * (lines[-1] == ".Ed")
    for function in group.functions:
        lines += [".Ft " + argument(function.returns), ".Fo " + function.name]
        lines += [".Fa " + argument(each) for each in function.parameters] + [".Fc"]
    return lines


def parameters_of(group):
    return {re.search(r"(\w+)\)?\W*$", each).group(1) for function in group.functions for each in function.parameters}


def error_list(text, writer):
    """Names with their reasons in brackets, or none where the text is of another form."""
    items, rest = [], text.strip().rstrip(".")
    while rest:
        found = re.match(r"(E[A-Z]+)(?: (\((?:[^()]|\([^()]*\))*\)))?(?:, (?:and )?|$)", rest)
        if not found:
            return None
        items.append((found.group(1), (found.group(2) or "")[1:-1]))
        rest = rest[found.end():]
    lines = [".Bl -tag -width Er"]
    for name, reason in items:
        lines += [".It Er " + name] + ([writer.prose(sentence(reason))] if reason else [])
    return [*lines, ".El"]


def description(group, writer, structures):
    lines = [".Sh DESCRIPTION"]
    for number, paragraph in enumerate(group.comment.said):
        lines += [".Pp"] * (number > 0) + [writer.prose(paragraph)]
    for each in structures:
        for paragraph in each.comment.said:
            lines += [".Pp", "\\fB%s\\fP:" % each.name, writer.prose(paragraph)]
    parameters = [(names, text) for names, text in group.comment.fields if names[0] not in SPOKEN]
    if parameters:
        lines += [".Bl -tag -width Ds"]
        for names, text in parameters:
            lines += [".It Fa " + " , ".join(names), writer.prose(sentence(text, parameters_of(group)))]
        lines += [".El"]
    for each in group.conditions:
        lines += [".Pp", writer.prose(CONDITIONS.get(each, "It needs %s." % each))]
    return lines


def spoken(group, writer):
    lines = []
    for heading in SPOKEN:
        for names, text in group.comment.fields:
            if heading not in names:
                continue
            lines += [".Sh " + HEADINGS[heading]]
            listed = error_list(text, writer) if heading == "errors" else None
            lines += listed or [writer.prose(sentence(text, parameters_of(group)))]
            if listed:
                lines += [".Pp", "What the names mean where nothing is said here stands in", ".Xr zlink 7 ."]
    if not any(line == ".Sh RETURN VALUES" for line in lines):
        lines = plain_returns(group) + lines
    return lines


def plain_returns(group):
    kinds = {function.returns for function in group.functions}
    if kinds == {"int"} and any("errors" in names for names, _ in group.comment.fields):
        return [".Sh RETURN VALUES", "0 on success; \\-1 on failure, with", ".Va errno", "set."]
    return []


def see_also(mentioned, own, is_about_options):
    pages = sorted((name, "3") for name in mentioned - own)
    pages += [("zlink", "7")] + ([(OPTIONS_PAGE, "7")] if is_about_options else [])
    lines = [".Sh SEE ALSO"]
    return lines + [".Xr %s %s%s" % (name, section, " ," if (name, section) != pages[-1] else "") for name, section in pages]


def structures_of(group, header):
    said = " ".join(" ".join([function.returns, *function.parameters]) for function in group.functions)
    return [each for each in header.structures if re.search(r"\b%s\b" % each.name, said) and each.name not in ("zmq_msg_t", "zmq_fd_t")]


def constants_by_page(header):
    """A block of constants stands on the pages that name one of them, or else on that of the function below."""
    options = {option.name for option in header.options}
    result = {}
    for block in header.constants:
        if "option" in " ".join(block.comment.said).lower() or block.section.startswith(("Draft", "Versions")):
            continue
        pattern = re.compile(r"\b(%s)\b" % "|".join(map(re.escape, block.names)))
        pages = [group for group in header.functions if pattern.search(group.comment.text())]
        if not pages:
            pages = header.functions[block.place : block.place + 1]
        for group in pages:
            if not set(block.names) & options and group.section == block.section:
                result.setdefault(group.name, []).append(block)
    return result


def function_page(group, header, constants):
    names = [function.name for function in group.functions]
    writer = Writer(header, names)
    structures = structures_of(group, header)
    lines = head(group.name, "3") + named(names, summary(group.comment))
    lines += synopsis(group, structures, constants)
    lines += description(group, writer, structures) + spoken(group, writer)
    has_options = "option" in group.comment.text() or any(option.name in group.comment.text() for option in header.options)
    lines += see_also(writer.mentioned, set(names), has_options)
    return "\n".join(lines) + "\n"


def of_whom(option):
    if option.name in ALSO_OF_CONTEXTS:
        return ALSO_OF_CONTEXTS[option.name]
    return "contexts" if option.heading in OF_CONTEXTS else "sockets"


def since(option, facts):
    own, theirs = "zlink " + facts["since"], libzmq_version(option)
    if not theirs:
        return own + "; not in libzmq"
    first = ", as " + FIRST_NAMES[option.name] if option.name in FIRST_NAMES else ""
    draft = ", as a draft (ZMQ_BUILD_DRAFT_API)" if "ZMQ_BUILD_DRAFT_API" in option.conditions else ""
    return "libzmq %s%s; %s" % (theirs, first or draft, own)


def option_section(option, writer):
    facts = option.facts()
    lines = [".Ss " + option.name]
    if not option.is_built:
        return [*lines, "Not built: every call with it fails with", ".Er EINVAL .", "The number is kept, so that programs compile."]
    unit = " (%s)" % facts["unit"] if facts["unit"] else ""
    rows = [("Of", of_whom(option)), ("Type", facts["type"] + unit), ("Access", facts["access"] or "set and read")]
    rows += [("Default", facts["default"])] if facts["default"] else []
    rows += [("Acts", WHEN.get(facts["acts"], "from the " + facts["acts"] + " on"))] if facts["acts"] else []
    rows += [("Since", since(option, facts))]
    lines += [writer.prose(sentence(facts["what"])), ".Bl -tag -width Default -compact"]
    for name, text in rows:
        lines += [".It " + name, wrapped(roff(text))]
    return [*lines, ".El"]


def options_page(header):
    writer = Writer(header)
    text = (HERE / "zlink_options.7.in").read_text()
    by_heading = {}
    for option in header.options:
        by_heading.setdefault(option.heading.upper().rstrip("S") + "S", []).append(option)
    sections = []
    for heading, options in by_heading.items():
        sections += [".Sh " + heading]
        for option in options:
            sections += option_section(option, writer)
    return filled(text, header, OPTIONS="\n".join(sections + old_names(header)))


def old_names(header):
    lines = []
    for block in header.constants:
        if "names of options" in " ".join(block.comment.said):
            lines += [".It Dv %s\n.Dv %s" % (name, line.split()[2]) for name, line in zip(block.names, block.lines)]
    return [".Sh OLD NAMES", ".Bl -tag -width Ds -compact", *lines, ".El"] if lines else []


def filled(text, header, **more):
    values = {"DATE": date(), "VERSION": ".".join(header.versions[each] for each in ("MAJOR", "MINOR", "PATCH")), **more}
    return re.sub(r"@(\w+)@", lambda found: values[found.group(1)], text)


def conventions(header):
    lines = [".Bl -tag -width Threads"]
    for words, text in header.conventions:
        lines += [".It " + words[0].capitalize(), wrapped(roff(sentence(text)))]
    return "\n".join([*lines, ".El"])


def overview(header):
    """What the header is divided into, with the functions of each part."""
    lines, section = [], None
    for group in header.functions:
        if group.section != section:
            lines += [".El"] * (section is not None) + [".Ss " + group.section, ".Bl -tag -width Ds -compact"]
            section = group.section
        names = [function.name for function in group.functions]
        lines += [".It " + " , ".join("Xr %s 3" % name for name in names), wrapped(roff(summary(group.comment)))]
    return filled((HERE / "zlink.7.in").read_text(), header, FUNCTIONS="\n".join([*lines, ".El"]), CONVENTIONS=conventions(header))


def pages(header):
    """By file name: the text of every page."""
    result = {"man7/zlink.7": overview(header), "man7/%s.7" % OPTIONS_PAGE: options_page(header)}
    constants = constants_by_page(header)
    for group in header.functions:
        result["man3/%s.3" % group.name] = function_page(group, header, constants.get(group.name, []))
        for function in group.functions[1:]:
            result["man3/%s.3" % function.name] = ".so man3/%s.3\n" % group.name
    return result


def main():
    header, folder = read_header(sys.argv[1]), Path(sys.argv[2])
    for name in ("man3", "man7"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    for name, text in pages(header).items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
