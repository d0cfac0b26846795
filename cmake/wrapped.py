"""Tells which functions the sources of a test put others in the place of, for the linker's --wrap.

Usage: wrapped.py --list SOURCE...                  their names, one a line
       wrapped.py --check NM SOURCE... -- OBJECT... exit status 1 and one line for each that no object defines any more
       wrapped.py --self-test                       plants a fault and looks whether it is found

A source says it by what it defines: __wrap_NAME(...), or asm("__wrap_NAME") for a name of C++; ZLINK_SEAM(NAME) is either
this or the function itself. Whoever renames a function of the library, or changes its parameters, reads here what to mend
instead of what the linker says.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

DEFINED = re.compile(r"\b__wrap_(\w+)\s*\(|\"__wrap_(\w+)\"|\bZLINK_SEAM\((?!name\b)(\w+)\)")


def wrapped_by(source):
    """The names in the order of the source, each once."""
    return list(dict.fromkeys("".join(found) for found in DEFINED.findall(Path(source).read_text())))


def in_words(nm, name):
    """A mangled name as C++ has it, by the tool beside nm."""
    tool = re.sub(r"nm$", "c++filt", nm)
    try:
        return subprocess.run([tool, name], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return name


def defined_in(nm, objects):
    text = subprocess.run([nm, "--defined-only", "--format=posix", *objects], capture_output=True, text=True, check=True).stdout
    return {line.split(" ")[0] for line in text.split("\n") if " " in line}


def faults(nm, sources, objects):
    known = defined_in(nm, objects)
    for source in sources:
        for name in wrapped_by(source):
            if name.startswith("_Z") and name not in known:  # others are of the C library
                yield "%s stands in for %s (%s), which the library does not define: was it renamed, or given other parameters?" % (
                    Path(source).name, in_words(nm, name), name)


def self_test():
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "watch.cpp")
        source.write_text('''
#define ZLINK_SEAM(name) __wrap_##name
extern "C" void *__wrap_malloc(unsigned long size);
void real_close(pipe *) asm("__real__ZN5zlink5closeEi");
void watched_close(pipe *) asm("__wrap__ZN5zlink5closeEi");
extern "C" int ZLINK_SEAM(sched_yield)() { return __wrap_malloc(1) != nullptr; }
''')
        if wrapped_by(source) != ["malloc", "_ZN5zlink5closeEi", "sched_yield"]:
            missed.append("listed are %s" % wrapped_by(source))
        nm = Path(folder, "nm")
        for symbols, expected in (("_ZN5zlink5closeEi T 0 1\n", 0), ("_ZN5zlink5closeEb T 0 1\n", 1)):
            nm.write_text("#!/bin/sh\nprintf '%s'\n" % symbols.replace("\n", "\\n"))
            nm.chmod(0o755)
            found = list(faults(str(nm), [source], ["any.o"]))
            if len(found) != expected or (found and "watch.cpp stands in for" not in found[0]):
                missed.append("with %s: %s" % (symbols.strip(), found))
    return missed


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        found = self_test()
        print("\n".join(found) if found else "no faults")
    elif arguments[:1] == ["--list"]:
        print("\n".join(name for source in arguments[1:] for name in wrapped_by(source)))
        found = []
    else:
        at = arguments.index("--")
        found = list(faults(arguments[1], arguments[2:at], arguments[at + 1:]))
        print("".join(line + "\n" for line in found), end="", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
