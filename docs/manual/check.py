"""Checks the pages of the manual that are made of zmq.h.

Usage: check.py ROOT         every exported name has a page, every option a section, and mandoc finds no fault in any page
       check.py --self-test  reads a header with each form that there is, and looks whether it is on the pages
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from header import Reader, read_header
from pages import pages
from versions import FIRST_OWN, LIBZMQ

FEWEST_OPTIONS = 130

PLANTED = """\
/* Conventions that hold for all:
 *   returns   0, and
 *             no more.
 *   time      in ms. */
#define ZLINK_VERSION_MAJOR 1
#define ZLINK_VERSION_MINOR 2
#define ZLINK_VERSION_PATCH 3
/* ---- Things ------------------------------- */

/* Socket options. */
#define ZMQ_OLD 7 /* int ms, default -1 (SUB 0), at once:
                     so long */
#define ZMQ_NEW 0x5AFF /* string, set only, default none, later: a name; since 1.2.0 */
#define ZMQ_NONE 9 /* not built: EINVAL */

/* Kinds of things. */
#define ZMQ_ROUND 1 /* as a
                       ball */
#define ZMQ_FLAT 2

/* A thing. */
typedef struct zmq_thing_t {
    int kind; /* ZMQ_ROUND or ZMQ_FLAT */
} zmq_thing_t;

/* Makes a thing.
 *
 * .a dot begins this.
 *
 * kind       ZMQ_ROUND or another.
 * made, arg  called as made(arg),
 *            later.
 * errors     EINVAL (no such
 *            kind (none at all)), EFAULT. */
ZMQ_EXPORT int zmq_make(zmq_thing_t *thing, int kind, void (*made)(void *arg, int),
                        void *arg);
ZMQ_EXPORT int zmq_make_more(zmq_thing_t *thing, int kind);

#ifdef ZMQ_BUILD_DRAFT_API
/* zmq_make, once. */
ZMQ_EXPORT void zmq_make_once(void);
#endif
"""

WANTED = {
    "man3/zmq_make.3": [".Fo zmq_make", '.Fa "void (*made)(void *arg, int)"', "\\&.a dot begins", "Called as made(arg), later.", ".It Er EINVAL",
                        "No such kind (none at all).", "#define ZMQ_FLAT 2", "typedef struct zmq_thing_t {", ".It Fa made , arg"],
    "man3/zmq_make_more.3": [".so man3/zmq_make.3"],
    "man3/zmq_make_once.3": [".Fd #define ZMQ_BUILD_DRAFT_API", "\\fBzmq_make\\fP(3), once.", ".Xr zmq_make 3 ,"],
    "man7/zlink_options.7": [".Ss ZMQ_OLD\nSo long.", "-1 (SUB 0)", "int (ms)", "zlink 1.2.0; not in libzmq", ".Ss ZMQ_NONE\nNot built"],
    "man7/zlink.7": ["zlink 1.2.3 passes", ".It Returns\n0, and no more.\n.It Time\n" "In ms.", ".It Xr zmq_make 3 , Xr zmq_make_more 3\nmakes a thing"],
}


def self_test():
    made = pages(Reader(PLANTED).read())
    for name, parts in WANTED.items():
        for part in parts:
            if part not in made.get(name, ""):
                yield "%s does not say '%s'" % (name, part)
    yield from lint(made)
    for broken in ("ZMQ_EXPORT int zmq_alone(void);\n", "/* Says. */\nZMQ_EXPORT zmq_odd;\n"):
        try:
            Reader(broken).read()
            yield "nobody complains of '%s'" % broken
        except ValueError:
            pass


def lint(made):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in made.items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text(text)
        # A page that stands for another has nothing of its own, and mandoc advises against them.
        own = [name for name, text in made.items() if not text.startswith(".so ")]
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *own], cwd=folder, text=True, capture_output=True, check=False)
        yield from done.stdout.splitlines() + done.stderr.splitlines()


def faults(root):
    header = read_header(root / "include/zmq.h")
    made = pages(header)
    for symbol in (root / "tests/abi/symbols.txt").read_text().split():
        if "man3/%s.3" % symbol not in made:
            yield "%s is exported, and has no page" % symbol
    explained = set(re.findall(r"\bEr (E[A-Z]+)", made["man7/zlink.7"]))
    for name, text in made.items():
        for error in set(re.findall(r"^\.It Er (E[A-Z]+)\n(?=\.)", text, re.M)) - explained:
            yield "%s leaves %s to zlink(7), which does not explain it" % (name, error)
    for option in header.options:
        if ".Ss %s\n" % option.name not in made["man7/zlink_options.7"]:
            yield "%s has no section" % option.name
        if (option.name in LIBZMQ) != (int(option.number, 0) < FIRST_OWN):
            yield "%s: docs/manual/versions.py does not say since which libzmq, or says it of an own one" % option.name
        facts = option.facts()
        if option.is_built and not (facts["access"] == "read only" or facts["default"] and facts["acts"]):
            yield "%s: its row does not say what it is by default, and when it acts" % option.name
    for name in LIBZMQ.keys() - {option.name for option in header.options}:
        yield "docs/manual/versions.py has %s, which zmq.h has not" % name
    for name in re.findall(r"#define (Z(?:MQ|LINK)_\w+) +0x5[AB]\w\w\b", (root / "include/zmq.h").read_text()):
        if name not in {option.name for option in header.options}:
            yield "%s has a number of our options, and no row of one" % name
    if len(header.options) < FEWEST_OPTIONS:
        yield "only %d options were found" % len(header.options)
    yield from lint(made)


def main():
    found = list(self_test() if sys.argv[1] == "--self-test" else faults(Path(sys.argv[1])))
    print("\n".join(found) or "no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
