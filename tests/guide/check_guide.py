#!/usr/bin/python3
"""Does what the guide says: runs the commands of each page, in their order, and compares what they print.

Usage: check_guide.py SOURCE_DIRECTORY DIRECTORY_OF_LIBRARY COMMAND [PAGE...]

The fences `sh` of a page are one script, which begins at the root of the sources. A fence `text` is what the commands in
front of it have printed. In front of a fence that cannot be run stands <!-- not run: WHY -->, and <!-- needs: COMMAND -->
where it is run if that command succeeds. What a page does with programs of one language is done with those of the others
as well, and prints the same. Every program of examples/guide is run. Each script has a copy of the examples to itself, and
an address of the loopback network: other tests may use the guide's ports meanwhile. Git ignores all that the commands leave.
"""

import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCES / "cmake"), str(SOURCES / "tests/support")]
from left_behind import left_behind, remember  # noqa: E402
from listings import SPOKEN, examples, in_language, stems_of  # noqa: E402

PATIENCE = 120
FENCE = re.compile(r"^(?:<!-- (not run|needs): (.+) -->\n)?```(sh|text)\n(.*?)^```$", re.M | re.S)
# Where a command fails, what runs in the background ends with it.
BEGIN = """set -e\ntrap 'status=$?; trap "" TERM; kill 0; exit $status' EXIT\n"""
OUR_HOST = "127.0.0.1"


def steps_of(page, are_all_run=False):
    """The commands of a page, each with what it says that they print, or None."""
    steps = []
    for condition, what, language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "sh":
            is_run = not condition or condition == "needs" and (are_all_run or succeeds(what))
            steps.append([text if is_run else None, None])
        elif not steps or steps[-1][1] is not None:
            sys.exit(f"{page}: there is an output without commands")
        else:
            steps[-1][1] = text
    return [step for step in steps if step[0] is not None]


def scripts_of(page, sources, are_all_run=False):
    """The steps of a page, by language, each script once."""
    steps, stems = steps_of(page, are_all_run), stems_of(page, sources)
    scripts = {"": steps}
    for suffix, language in SPOKEN.items():
        texts = in_language([commands for commands, _ in steps], suffix, stems)
        scripts[language] = [[text, expected] for text, (_, expected) in zip(texts, steps)]
    named = {}
    for language, script in scripts.items():
        if script and script not in named.values():
            named["%s in %s" % (page.name, language) if language else page.name] = script
    return named


def never_run(sources, scripts):
    """The programs of examples/guide that no page runs."""
    texts = ["".join(commands for commands, _ in script) for script in scripts]
    for path in examples(sources):
        folder = path.parent.name
        called = re.compile(r"(?<![\w/.-])(?:%s/)?%s\b" % (folder, re.escape(path.name)))
        there = [text for text in texts if f"cd examples/guide/{folder}\n" in text or f"../{folder}/" in text]
        if path.suffix in (*SPOKEN, ".mjs") and not any(called.search(text.replace("../", "")) for text in there):
            yield f"{path.relative_to(sources)}: no page runs it\n"


def succeeds(command):
    return subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0


def prepare(place, sources, libraries, command, host):
    """The tree that a reader has, with the guide's programs for him alone."""
    for name, real in (("include", sources / "include"), ("build/release/lib", libraries), ("build/release/bin/zlink", command)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).symlink_to(real)
    for compiler in ("cc", "c++"):
        strict = place / "strict" / compiler
        strict.parent.mkdir(exist_ok=True)
        strict.write_text(f'#!/bin/sh\nexec /usr/bin/{compiler} -Wall -Wextra -Werror "$@"\n', encoding="utf-8")
        strict.chmod(0o755)
    shutil.copytree(sources / "examples", place / "examples")
    for path in (place / "examples/guide").rglob("*"):
        if path.is_file():
            path.write_text(path.read_text(encoding="utf-8").replace(OUR_HOST, host), encoding="utf-8")
    remember(place, sources)


def environment_of(place):
    library = place / "build/release/lib"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ZLINK_", "LD_"))}
    return dict(kept, PATH=f"{place}/strict:{place}/build/release/bin:/usr/bin:/bin", CPATH=str(place / "include"), LIBRARY_PATH=str(library),
                LD_LIBRARY_PATH=str(library), HOME=str(place), PYTHONDONTWRITEBYTECODE="1")


def run(steps, place, environment):
    """What each step prints, how all ended, and what was said on stderr."""
    script = BEGIN + "".join(f"printf '\\036'\n{commands}" for commands, _ in steps) + "wait\n"
    process = subprocess.Popen(["sh", "-c", script], cwd=place, env=environment, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        printed, faults = process.communicate(timeout=PATIENCE)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, faults = process.communicate()
        status = "a program that does not end"
    return printed.split("\036")[1:], status, faults


def check(name, script, number, sources, libraries, command):
    """The faults of a script."""
    host = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.{number + 2}"
    steps = [[text and text.replace(OUR_HOST, host) for text in step] for step in script]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder).resolve()
        prepare(place, sources, libraries, command, host)
        printed, status, said = run(steps, place, environment_of(place))
        left = left_behind(place)
    found = [f"it ends with {status}, behind {len(printed)} of {len(steps)} steps:\n{said}"] if status else []
    found += [f"git add -A would take {path}\n" for path in left]
    for (_, expected), output in zip(steps, printed):
        if expected is not None and output != expected:
            found += difflib.unified_diff(expected.splitlines(True), output.splitlines(True), "the page", "what is printed")
            found.append(said)
    return [f"{name}: {fault}" for fault in found]


def main(sources, libraries, command, *names):
    sources, libraries, command = (pathlib.Path(path).resolve() for path in (sources, libraries, command))
    pages = sorted(page for page in (sources / "docs/guide").rglob("*.md") if not names or page.stem in names)
    scripts = {name: script for page in pages for name, script in scripts_of(page, sources).items()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checks = [pool.submit(check, *named, number, sources, libraries, command) for number, named in enumerate(scripts.items())]
    found = [fault for done in checks for fault in done.result()]
    if not names:
        found += never_run(sources, [script for page in pages for script in scripts_of(page, sources, True).values()])
    print("".join(found) or f"{len(pages)} pages do what they say, in {len(scripts)} scripts")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
