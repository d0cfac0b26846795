"""Socket options by name, for a pyzmq socket: pyzmq takes numbers that it does not know for those of integers."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Union

from ._built import OPTIONS
from ._library import library_in_use

Value = Union[str, bytes, int, bool, "os.PathLike[str]"]
_INTEGERS = {"bool": ctypes.c_int, "int": ctypes.c_int, "int64": ctypes.c_int64, "uint64": ctypes.c_uint64}
_LONGEST_TEXT = 64 * 1024


def option_names() -> list[str]:
    """The options that set_options and get_option know: those of zmq.h, without ZMQ_ and in small letters."""
    return sorted(OPTIONS)


def _look_up(name: str) -> tuple[int, str]:
    try:
        return OPTIONS[name.lower()]
    except KeyError:
        raise ValueError(f"zlink has no socket option {name!r}; zlinkmq.option_names() lists them") from None


def _encode(name: str, kind: str, value: Value) -> ctypes.Array[Any] | Any:
    if kind in _INTEGERS:
        if not isinstance(value, int):
            raise TypeError(f"{name} is a number or a truth value ({kind}), not {type(value).__name__}")
        return _INTEGERS[kind](value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        value = os.fsencode(value)
    if not isinstance(value, bytes):
        raise TypeError(f"{name} is text or octets ({kind}), not {type(value).__name__}")
    return (ctypes.c_char * len(value)).from_buffer_copy(value) if value else (ctypes.c_char * 0)()


def _fail(name: str, number: int) -> None:
    from zmq.error import ZMQError

    raise ZMQError(number, f"{name}: {os.strerror(number)} (ZLINK_LOG=warn tells why)")


def set_options(socket: Any, **options: Value) -> None:
    """Sets options of a pyzmq socket, in the order given: ``set_options(s, tls_cert="server.pem", tls_verify=True)``.

    Text may be str, bytes or a path; keys of CURVE are 40 characters of Z85, or 32 octets. ValueError for names that do not exist, TypeError
    for values of the wrong type, zmq.ZMQError for what the library refuses, and NotActive where pyzmq does not use zlink.
    """
    library = library_in_use()
    for name, value in options.items():
        number, kind = _look_up(name)
        encoded = _encode(name, kind, value)
        if library.zmq_setsockopt(socket.underlying, number, ctypes.byref(encoded), ctypes.sizeof(encoded)) != 0:
            _fail(name, ctypes.get_errno())


def get_option(socket: Any, name: str) -> bool | int | str | bytes:
    """Reads an option of a pyzmq socket: bool, int, str, or bytes for octets; a key as 40 characters of Z85."""
    library = library_in_use()
    number, kind = _look_up(name)
    room = _INTEGERS[kind]() if kind in _INTEGERS else ctypes.create_string_buffer(41 if kind == "key" else _LONGEST_TEXT)
    size = ctypes.c_size_t(ctypes.sizeof(room))
    if library.zmq_getsockopt(socket.underlying, number, ctypes.byref(room), ctypes.byref(size)) != 0:
        _fail(name, ctypes.get_errno())
    if kind == "bool":
        return bool(room.value)
    if kind in _INTEGERS:
        return room.value
    octets = room.raw[: size.value]
    return octets if kind == "octets" else os.fsdecode(octets.rstrip(b"\0"))
