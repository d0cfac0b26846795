"""Which libzmq a process uses, and why."""

from __future__ import annotations

import os
import sys

from ._library import PRELOAD, __version__, get_library, is_active, is_ours, mapped_libraries


def _row(name: str, text: str) -> None:
    print(f"{name:<12} {text}")


def _why_another(others: list[str]) -> str:
    preloaded = os.environ.get(PRELOAD)
    if preloaded and get_library() not in preloaded:
        start = f"{PRELOAD} names {preloaded} and not zlink"
    elif preloaded:
        start = f"{PRELOAD} names zlink, but the system did not heed it"
    else:
        start = f"nothing is preloaded ({PRELOAD} is not set)"
    if not others:
        return f"{start}, and libzmq is a part of pyzmq's own extension"
    if "pyzmq.libs" in others[0]:
        return f"{start}, and pyzmq's wheel brings a libzmq of its own"
    return f"{start}, and the system has found another libzmq first"


def of_interpreter() -> int:
    """Imports pyzmq as a program does, and tells. 0 if it uses zlink."""
    _row("interpreter", f"{sys.executable} ({sys.version.split()[0]})")
    _row("zlinkmq", f"{__version__}, {get_library()}")
    try:
        import zmq
    except ImportError as error:
        _row("pyzmq", f"cannot be imported: {error}")
        return 1
    _row("pyzmq", f"{zmq.__version__}, {os.path.dirname(zmq.__file__)}")
    others = [path for path in mapped_libraries() if not is_ours(path)]
    # pyzmq's own word counts: libzmq knows of no tls.
    if is_active() and zmq.has("tls"):
        _row("uses", f"zlink, as libzmq {zmq.zmq_version()}")
        loaded = PRELOAD in os.environ and get_library() in os.environ[PRELOAD]
        _row("why", f"{PRELOAD} names it" if loaded else "the system finds it first")
        for path in others:
            _row("unused", path)
        return 0
    _row("uses", f"libzmq {zmq.zmq_version()}" + (f", {others[0]}" if others else ""))
    _row("why", _why_another(others))
    _row("to change", "python -m zlinkmq run -- PROGRAM, or zlinkmq.activate() before 'import zmq'")
    return 1


def of_process(pid: int) -> int:
    """Tells what a process that runs already has loaded. 0 if zlink is among it: what pyzmq's wheel brings is there in any case."""
    try:
        paths = sorted(mapped_libraries(pid), key=is_ours, reverse=True)
    except OSError as error:
        print(f"zlinkmq: process {pid}: {error.strerror}", file=sys.stderr)
        return 2
    for path in paths:
        _row("zlink" if is_ours(path) else "other", path)
    if not paths:
        print(f"process {pid} has loaded no libzmq")
    return 0 if any(map(is_ours, paths)) else 1
