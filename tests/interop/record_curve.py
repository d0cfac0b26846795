"""Records a CURVE handshake of the distribution's libzmq with itself, with random octets that follow from one another.

  record_curve.py

Prints what stands behind the names of HELLO, WELCOME, INITIATE and READY, in hexadecimal, as mechanism_curve_test.cpp has it. PUSH to
PULL, the keys of zmq_curve(7); the client's octets count from 17 on, the server's from 117 on.
"""

import ctypes
import socket
import subprocess
import sys
import threading

CLIENT = (b"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", b"D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs")
SERVER = (b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", b"JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")
FIRST_OF = {"client": 17, "server": 117}
GREETING_SIZE = 64


class Implementation(ctypes.Structure):
    """Where libsodium takes its random octets from (randombytes.h)."""

    NAME = ctypes.CFUNCTYPE(ctypes.c_char_p)
    RANDOM = ctypes.CFUNCTYPE(ctypes.c_uint32)
    STIR = ctypes.CFUNCTYPE(None)
    UNIFORM = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)
    BUF = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)
    CLOSE = ctypes.CFUNCTYPE(ctypes.c_int)
    _fields_ = [("name", NAME), ("random", RANDOM), ("stir", STIR), ("uniform", UNIFORM), ("buf", BUF), ("close", CLOSE)]


def count_from(first):
    """From here on libsodium draws octets that follow from one another."""
    drawn = [first]

    def draw(to, size):
        ctypes.memmove(to, bytes((drawn[0] + i) % 256 for i in range(size)), size)
        drawn[0] = (drawn[0] + size) % 256

    known = Implementation(Implementation.NAME(lambda: b"known"), Implementation.RANDOM(lambda: 0), Implementation.STIR(lambda: None),
                           Implementation.UNIFORM(lambda most: 0), Implementation.BUF(draw), Implementation.CLOSE(lambda: 0))
    ctypes.CDLL("libsodium.so.23").randombytes_set_implementation(ctypes.byref(known))
    return known  # to be kept


def be(role, endpoint):
    import zmq

    context = zmq.Context()
    own = context.socket(zmq.PULL if role == "server" else zmq.PUSH)
    own.linger = 0
    own.curve_publickey, own.curve_secretkey = SERVER if role == "server" else CLIENT
    if role == "server":
        own.curve_server = True
        own.bind("tcp://127.0.0.1:*")
    else:
        own.curve_serverkey = SERVER[0]
    kept = count_from(FIRST_OF[role])
    if role == "server":
        print(own.last_endpoint.decode().rstrip("\0"), flush=True)
        own.recv()
    else:
        own.connect(endpoint)
        own.send(b"x")
        sys.stdin.read()
    del kept
    own.close()
    context.term()


def commands(octets):
    octets = octets[GREETING_SIZE:]
    while octets:
        size, front = (octets[1], 2) if not octets[0] & 2 else (int.from_bytes(octets[1:9], "big"), 9)
        body, octets = octets[front:front + size], octets[front + size:]
        yield body[1:1 + body[0]].decode(), body[1 + body[0]:]


def relay(source, to, said):
    for octets in iter(lambda: source.recv(65536), b""):
        said.extend(octets)
        to.sendall(octets)
    to.shutdown(socket.SHUT_WR)


def record():
    me = [sys.executable, __file__]
    server = subprocess.Popen([*me, "server", ""], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", 0)) as between:
        client = subprocess.Popen([*me, "client", "tcp://127.0.0.1:%d" % between.getsockname()[1]], stdin=subprocess.PIPE)
        near = between.accept()[0]
    with near, socket.create_connection(("127.0.0.1", port)) as far:
        said = {"client": bytearray(), "server": bytearray()}
        threads = [threading.Thread(target=relay, args=(near, far, said["client"])),
                   threading.Thread(target=relay, args=(far, near, said["server"]))]
        for each in threads:
            each.start()
        server.wait()
        client.stdin.close()
        client.wait()
        for each in threads:
            each.join()
    found = dict(commands(bytes(said["client"]))) | dict(commands(bytes(said["server"])))
    for name in ("HELLO", "WELCOME", "INITIATE", "READY"):
        print(name, found[name].hex().upper())


if __name__ == "__main__":
    if len(sys.argv) == 3:
        be(*sys.argv[1:])
    else:
        record()
