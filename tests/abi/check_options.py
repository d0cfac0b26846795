"""Checks that zmq.h says of each option what type it has, what it is by default and when it acts, and that this is so.

Usage: check_options.py HEADER [LIBRARY]

Without a library only the header is looked at.
"""

import ctypes
import errno
import re
import sys

BLOCK = re.compile(
    r"/\* (Context|Socket|TLS|Deprecated|Draft context|Draft) options?[.,;](?:(?!\*/)[\s\S])*\*/\n((?:#define .*\n(?: +.*\n)*)+)"
)
DEFINE = re.compile(r"#define ((?:ZMQ|ZLINK)_\w+)\s+(0x[0-9A-Fa-f]+|\d+)[ ]*(?:/\* ((?:(?!\*/)[\s\S])*) \*/)?")
NOT_BUILT = re.compile(r"not built: EINVAL(?:; .+)?$")
ROW = re.compile(
    r"(?P<type>bool|int|int64|uint64|octets|string|key)(?: [^,]+)?(?P<set_only>, set only)?, "
    r"(?:read only|default (?P<default>none|-?\d+)(?: \((?P<others>[A-Z, ]+) (?P<theirs>-?\d+)\))?, "
    r"(?:at once|next \w+|first socket|later|no effect)): \S"
)
TYPES = "PAIR PUB SUB REQ REP DEALER ROUTER PULL PUSH XPUB XSUB STREAM".split()
OF_CONTEXTS = ("Context", "Draft context")
ALSO_OF_CONTEXTS = ("ZMQ_IPV6", "ZMQ_BLOCKY")
SIZES = {"bool": 4, "int": 4, "int64": 8, "uint64": 8, "key": 32}
ROOM = 256
FEWEST = 130  # options: as many there are, about
NUMBERS = [*range(300), *range(0x5A00, 0x5B00)]


class Option:
    def __init__(self, block, name, number, text):
        self.name, self.number = name, int(number, 0)
        self.is_of_contexts = block in OF_CONTEXTS or name in ALSO_OF_CONTEXTS
        self.is_of_sockets = block not in OF_CONTEXTS and name != "ZMQ_BLOCKY"
        self.is_of_tls = block == "TLS"
        self.is_of_curve = name.startswith("ZMQ_CURVE_")
        self.is_built = not NOT_BUILT.match(text)
        self.row = ROW.match(text)

    def is_understood(self):
        return self.row is not None or not self.is_built

    def is_set_only(self):
        return bool(self.row["set_only"])

    def default(self, socket_type):
        others = (self.row["others"] or "").split(", ")
        value = self.row["theirs"] if socket_type in others else self.row["default"]
        return int(value) if value not in (None, "none") else value


def read_header(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [
        Option(block, *(" ".join(each.split()) for each in define.groups("")))
        for block, lines in BLOCK.findall(text)
        for define in DEFINE.finditer(lines)
    ]


class Library:
    def __init__(self, path):
        self.zmq = ctypes.CDLL(path, use_errno=True)
        self.zmq.zmq_ctx_new.restype = self.zmq.zmq_socket.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.zmq.zmq_ctx_new())
        self.sockets = {
            name: ctypes.c_void_p(self.zmq.zmq_socket(self.context, number)) for number, name in enumerate(TYPES)
        }

    def has(self, capability):
        return self.zmq.zmq_has(capability.encode()) == 1

    def close(self):
        for socket in self.sockets.values():
            self.zmq.zmq_close(socket)
        self.zmq.zmq_ctx_term(self.context)

    def of_context(self, number):
        """The value; None where it is refused."""
        ctypes.set_errno(0)
        value = self.zmq.zmq_ctx_get(self.context, number)
        return None if ctypes.get_errno() == errno.EINVAL else value

    def read(self, socket_type, number, room):
        """The octets; None where it is refused."""
        buffer, size = ctypes.create_string_buffer(room), ctypes.c_size_t(room)
        result = self.zmq.zmq_getsockopt(self.sockets[socket_type], number, buffer, ctypes.byref(size))
        return buffer.raw[: size.value] if result == 0 else None

    def can_be_read(self, socket_type, number):
        return any(self.read(socket_type, number, room) is not None for room in (*SIZES.values(), ROOM))

    def can_be_set(self, socket_type, number):
        zero = ctypes.c_int(0)
        return self.zmq.zmq_setsockopt(self.sockets[socket_type], number, ctypes.byref(zero), 4) == 0


def expected_octets(option, socket_type):
    kind, value = option.row["type"], option.default(socket_type)
    if kind in SIZES:
        return value.to_bytes(SIZES[kind], sys.byteorder, signed=value < 0)
    return {"string": b"\0", "octets": b""}[kind] if value == "none" else None


def socket_faults(option, library):
    for socket_type in TYPES:
        can_be_read = library.can_be_read(socket_type, option.number)
        if not option.is_built:
            if can_be_read or library.can_be_set(socket_type, option.number):
                yield f"{socket_type} has it, though it is not built"
        elif option.is_set_only():
            if can_be_read:
                yield f"{socket_type} lets it be read, though it is set only"
        elif option.row["default"] is None:
            if library.can_be_set(socket_type, option.number):
                yield f"{socket_type} lets it be set, though it is read only"
        else:
            room = SIZES.get(option.row["type"], ROOM)
            found, wanted = library.read(socket_type, option.number, room), expected_octets(option, socket_type)
            if found != wanted:
                yield f"{socket_type} has {found} by default, not {wanted}"
    if option.is_built and not option.is_set_only():
        if not any(library.can_be_read(socket_type, option.number) for socket_type in TYPES):
            yield "no socket lets it be read"


def context_faults(option, library, read_numbers):
    found = library.of_context(option.number)
    if option.is_set_only():
        if found is not None and option.number not in read_numbers:
            yield f"contexts let it be read, though it is set only: {found}"
    elif found is None or (option.row["default"] is not None and found != option.default(None)):
        yield f"contexts have {found} by default"


def library_faults(options, library):
    read_of_contexts = {o.number for o in options if o.is_of_contexts and not o.is_set_only()}
    for option in options:
        option.is_built &= not option.is_of_tls or library.has("tls")
        option.is_built &= not option.is_of_curve or library.has("curve")
        if option.is_of_sockets:
            yield from (f"{option.name}: {fault}" for fault in socket_faults(option, library))
        if option.is_of_contexts:
            yield from (f"{option.name}: {fault}" for fault in context_faults(option, library, read_of_contexts))
    of_sockets = {o.number for o in options if o.is_of_sockets}
    for number in NUMBERS:
        if number not in of_sockets and any(library.can_be_read(each, number) for each in TYPES):
            yield f"{number}: sockets have an option of which the header says nothing"
        if number not in read_of_contexts and library.of_context(number) is not None:
            yield f"{number}: contexts have an option of which the header says nothing"


def main():
    options = read_header(sys.argv[1])
    faults = [f"{option.name}: no row with type, default and time" for option in options if not option.is_understood()]
    if len(options) < FEWEST:
        faults.append(f"only {len(options)} options were found")
    if not faults and len(sys.argv) > 2:
        library = Library(sys.argv[2])
        faults += library_faults(options, library)
        library.close()
    print("\n".join(faults) or f"{len(options)} options, as the header says")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
