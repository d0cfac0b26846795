"""Looks whether a shared library was built as distributions build theirs: what protects a program when an error is found in it. Likewise
whether it leaves out what ends a program that is short of memory.

Usage: check_hardening.py LIBRARY [--fortified] [--bundled]

--fortified: also the calls that the C library checks, which take an optimised build.
--bundled: OpenSSL and the C++ library are in it, which ask for variables of their own, and whose code is not looked at.
"""

import platform
import re
import subprocess
import sys

# What the compiler puts at the beginning of a function that may be reached by an indirect jump, by processor.
LANDING = {"x86_64": ("endbr64",), "aarch64": ("bti", "paciasp")}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def imported(library):
    """The names that others have to bring, without their versions."""
    return {line.split()[-1].partition("@")[0]
            for line in output_of("nm", "-D", "--undefined-only", library).splitlines()}


def first_instructions(library):
    """The exported functions and how each begins."""
    listing = output_of("objdump", "-d", "--no-show-raw-insn", "--section=.text", library)
    return dict(re.findall(r"^[0-9a-f]+ <(zmq_\w+)>:\n\s*[0-9a-f]+:\s+(\S+)", listing, re.MULTILINE))


def faults_of(library, fortified, bundled):
    names = imported(library)
    dynamic = output_of("readelf", "-dW", library)
    segments = output_of("readelf", "-lW", library)
    if "__stack_chk_fail" not in names:
        yield "no function guards its stack (-fstack-protector-strong)"
    if fortified and not any(re.fullmatch(r"__\w+_chk", name) for name in names):
        yield "no call is checked for the size of its buffer (_FORTIFY_SOURCE)"
    if "GNU_RELRO" not in segments:
        yield "tables of addresses stay writable (-z relro)"
    if not re.search(r"\(FLAGS(_1)?\).*\bNOW\b", dynamic):
        yield "functions are bound late, in a writable table (-z now)"
    if re.search(r"GNU_STACK.*\bRWE\b", segments):
        yield "the stack can be executed"
    if re.search(r"LOAD.*\bRWE\b", segments) or "(TEXTREL)" in dynamic:
        yield "code can be written"
    if "getenv" in names and not bundled:
        yield "the environment is believed in a program with more rights than its user (getenv, not secure_getenv)"
    if {"__cxa_thread_atexit", "__cxa_thread_atexit_impl"} & names:
        yield "a thread_local has a destructor, which the C library ends the process for when memory is short (memory/of_thread.hpp)"
    landing = LANDING.get(platform.machine())
    if landing and not bundled:
        functions = first_instructions(library)
        if not functions:
            yield "no exported function was found"
        for name, instruction in sorted(functions.items()):
            if instruction not in landing:
                yield f"{name} begins with {instruction}, not with {landing[0]} (-fcf-protection)"


def main():
    faults = list(faults_of(sys.argv[1], "--fortified" in sys.argv[2:], "--bundled" in sys.argv[2:]))
    print("\n".join(faults) or "built as distributions do")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
