"""Where the library is, and how a process comes to use it in place of the libzmq that others bring.

A pyzmq wheel has a libzmq of its own, which it finds by a run path and under a name of its own. It is loaded in any case; but whose
functions are called is decided by who was there first, for all to see.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import MutableMapping

from ._built import VERSION as __version__

PRELOAD = "LD_PRELOAD"
_HERE = Path(__file__).resolve().parent


class NotActive(RuntimeError):
    """The process uses another libzmq, or none yet."""


def get_library() -> str:
    """The path of zlink's libzmq.so.5."""
    return str(_HERE / "libzmq.so.5")


def get_command() -> str:
    """The path of the command zlink, for those who start it without an interpreter in front."""
    return str(_HERE / "zlink")


def get_include() -> str:
    """The folder of zmq.h, for those who compile against the library."""
    return str(_HERE / "include")


def mapped_libraries(pid: int | None = None) -> list[str]:
    """The files of libzmq that a process has mapped: this one, as far as /proc is there to tell."""
    try:
        with open(f"/proc/{pid or 'self'}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = [line.rstrip("\n").split(maxsplit=5)[5] for line in maps if "/libzmq" in line]
    except FileNotFoundError:
        if pid is not None:
            raise
        return []
    return list(dict.fromkeys(path for path in paths if path.rpartition("/")[2].startswith("libzmq")))


def is_ours(path: str) -> bool:
    """Whether that file is zlink's library."""
    try:
        return os.path.samefile(path, get_library())
    except OSError:
        return False


def _address(library: ctypes.CDLL) -> int | None:
    return ctypes.cast(library.zmq_version, ctypes.c_void_p).value


def is_active() -> bool:
    """Whether what this process looks up of libzmq, from now on, is zlink's."""
    try:
        ours = ctypes.CDLL(get_library(), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        return _address(ctypes.CDLL(None)) == _address(ours)
    except (AttributeError, OSError):  # nobody has it for all to see, or ours is not loaded
        return False


def preload(environment: MutableMapping[str, str]) -> None:
    """Has processes that get this environment use zlink."""
    if set(get_library()) & set(": "):
        raise RuntimeError(f"{PRELOAD} cannot name a file with a space or a colon in its path: {get_library()}")
    others = [part for part in environment.get(PRELOAD, "").replace(":", " ").split() if part != get_library()]
    environment[PRELOAD] = ":".join([get_library(), *others])


def set_rules(environment: MutableMapping[str, str], policy: str | os.PathLike[str] | None, log: str | None) -> None:
    """Puts there, where they are given, the file of the policy and the level of the log."""
    if policy is not None:
        environment["ZLINK_POLICY"] = os.path.abspath(policy)
    if log is not None:
        environment["ZLINK_LOG"] = log


def activate(*, children: bool = True, policy: str | os.PathLike[str] | None = None, log: str | None = None) -> None:
    """Has this process use zlink wherever it would use libzmq: to be called before ``import zmq``.

    children: processes that are started from here use it, too (by LD_PRELOAD in os.environ).
    policy:   file that rules what the sockets of this process may bind and connect to, as ZLINK_POLICY.
    log:      "warn", "info" or another level of ZLINK_LOG.

    Calling it again, or under ``python -m zlinkmq run``, does no harm. RuntimeError if another libzmq is in use already.
    """
    if not is_active():
        first = [path for path in mapped_libraries() if not is_ours(path)]
        if "zmq" in sys.modules or first:
            used = first[0] if first else sys.modules["zmq"].__file__
            raise RuntimeError(
                f"zlinkmq.activate() comes too late, {used} is loaded already: call it before the first 'import zmq', "
                "or start the program by 'python -m zlinkmq run -- ...'"
            )
    set_rules(os.environ, policy, log)  # zlink reads them when it is loaded
    # For all to see, and before the one that pyzmq brings.
    ctypes.CDLL(get_library(), mode=ctypes.RTLD_GLOBAL)
    if children:
        preload(os.environ)
    if not is_active():
        raise RuntimeError("another library with libzmq's functions was loaded with the program itself, before zlink")


def library_in_use() -> ctypes.CDLL:
    """zlink's library, where it is the one that this process uses. NotActive otherwise."""
    if not is_active():
        raise NotActive(
            "this process does not use zlink: call zlinkmq.activate() before 'import zmq', or start the program by "
            "'python -m zlinkmq run -- ...'; 'python -m zlinkmq doctor' tells more"
        )
    # A libzmq that is linked into pyzmq shows itself to nobody; what zlink's would be asked about it does not know.
    zmq = sys.modules.get("zmq")
    if zmq is not None and hasattr(zmq, "has") and not zmq.has("tls"):
        raise NotActive(f"{zmq.__file__} has a libzmq linked into it, and does not use zlink")
    library = ctypes.CDLL(get_library(), use_errno=True)
    library.zmq_setsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    library.zmq_getsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    return library


def policy_is_in_force() -> bool:
    """Whether a policy, named by ZLINK_POLICY, rules the sockets of this process."""
    answer = library_in_use().zlink_policy_in_force()
    if answer < 0:
        raise RuntimeError("ZLINK_POLICY names a file that cannot be read or understood; ZLINK_LOG=warn tells why")
    return bool(answer)
