"""A router with a hundred peers: who is there, and how much waits for each."""
import ctypes as c
import zmq

class Peer(c.Structure):
    """The first fields of zlink_peer_t: pyzmq does not know of it."""
    _fields_ = [*((name, c.c_char_p) for name in ("endpoint", "address", "mechanism", "user_id")),
                ("routing_id", c.c_void_p), ("routing_id_size", c.c_size_t),
                ("state", c.c_int), ("is_connecting", c.c_int)]

EACH = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Peer), c.c_size_t)
READY = 2  # ZLINK_PEER_READY
zlink_peers = c.CDLL("libzmq.so.5").zlink_peers  # of the library that pyzmq uses
zlink_peers.argtypes = [c.c_void_p, EACH, c.c_void_p]

context = zmq.Context(io_threads=2)
router = context.socket(zmq.ROUTER)
router.heartbeat_ivl = 5000  # finds those that vanished
router.bind("ipc://many.sock")
clients = [context.socket(zmq.DEALER) for _ in range(100)]
for number, client in enumerate(clients):
    client.routing_id = b"client %d" % number
    client.reconnect_ivl_max = 10_000
    client.connect("ipc://many.sock")
    client.send(b"here")
for _ in range(100):
    router.recv_multipart()  # the name, and "here"

ready = []

@EACH
def count(_arg, peer, _size):
    ready.append(peer.contents.state == READY and peer.contents.routing_id_size > 0)
    return 0  # go on

shown = zlink_peers(router.underlying, count, None)
print(f"{shown} peers, {sum(ready)} of them are there")
context.destroy()
