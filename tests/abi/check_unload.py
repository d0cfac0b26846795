"""Has a peer pass a descriptor that nobody asked for, unloads the library, and looks whether the code of the thread that closed it is still there.
Likewise after a use of TLS, in a program that has initialised OpenSSL: OpenSSL calls the library when the program exits.

Usage: check_unload.py LIBRARY
"""

import _ctypes
import ctypes
import errno
import os
import socket
import sys
import tempfile

ZMQ_PULL = 7
PATIENCE_S = 20


def pass_last_reference(peer):
    """Passes one end of a stream; returns once it is closed. False where the system refuses it."""
    passed, other_end = socket.socketpair()
    try:
        socket.send_fds(peer, [b"\xff"], [passed.fileno()])
    except PermissionError:
        return False
    passed.close()
    other_end.settimeout(PATIENCE_S)
    if other_end.recv(1):
        sys.exit("nobody has written there")
    return True


def is_loaded(path):
    with open("/proc/self/maps") as maps:
        return any(line.rstrip().endswith(path) for line in maps)


def unload_after_tls(path):
    """In a child, which ends as programs do. A server without a certificate fails, but not before OpenSSL has been started."""
    child = os.fork()
    if child == 0:
        import ssl

        ssl.create_default_context()
        library = ctypes.CDLL(path)
        for name in ("zmq_ctx_new", "zmq_socket"):
            getattr(library, name).restype = ctypes.c_void_p
        context = ctypes.c_void_p(library.zmq_ctx_new())
        pull = ctypes.c_void_p(library.zmq_socket(context, ZMQ_PULL))
        if library.zmq_bind(pull, b"tls://127.0.0.1:*") == 0:
            sys.exit("a server needs no certificate")
        has_tls = library.zmq_errno() == errno.EINVAL
        library.zmq_close(pull)
        library.zmq_ctx_term(context)
        _ctypes.dlclose(library._handle)
        if has_tls and not is_loaded(path):
            sys.exit("the library is gone, and OpenSSL will call it")
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"a program that has unloaded the library after a use of TLS ends with {status}")


def main():
    path = os.path.realpath(sys.argv[1])
    unload_after_tls(path)
    library = ctypes.CDLL(path)
    for name in ("zmq_ctx_new", "zmq_socket"):
        getattr(library, name).restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.zmq_ctx_new())
    pull = ctypes.c_void_p(library.zmq_socket(context, ZMQ_PULL))
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as peer:
        name = os.path.join(place, "pull")
        if library.zmq_bind(pull, f"ipc://{name}".encode()) != 0:
            sys.exit("zmq_bind failed")
        peer.connect(name)
        peer.recv(1)  # of the greeting: before, the system may refuse descriptors
        was_passed = pass_last_reference(peer)
        library.zmq_close(pull)
        library.zmq_ctx_term(context)
    _ctypes.dlclose(library._handle)
    if was_passed and not is_loaded(path):
        sys.exit("the library is gone, and the thread may be in it still")


main()
