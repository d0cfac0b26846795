"""What scripts that look for faults in the tree have in common: a small tree without faults, faults planted in it, and how
they are told.

A script says by `run` how it looks: faults(root) yields one line per fault. Its --self-test plants each kind of fault, by
the files that it takes, and looks whether it is found, and nothing else.
"""

import sys
import tempfile
from pathlib import Path


def found_in(faults, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(faults(Path(folder)))


def self_test(faults, sound, planted):
    """`planted`: a part of what is to be said -> the files that differ from those of `sound`."""
    yield from ("without a fault: " + each for each in found_in(faults, sound))
    for expected, files in planted.items():
        found = found_in(faults, sound | files)
        if len(found) != 1 or expected not in found[0]:
            yield "%s: %s" % (expected, found)


def run(words, faults, sound, planted):
    """The exit status of a script of these `words` with its argument, ROOT or --self-test."""
    if len(sys.argv) != 2:
        sys.exit(words)
    asked = sys.argv[1]
    found = list(self_test(faults, sound, planted) if asked == "--self-test" else faults(Path(asked)))
    print("\n".join(found) if found else "no faults")
    return 1 if found else 0
