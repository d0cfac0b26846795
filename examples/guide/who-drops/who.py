"""A publisher that says which of its subscribers are too slow."""
import ctypes as c
import zmq

class Peer(c.Structure):
    """The first fields of zlink_peer_t: pyzmq does not know of it."""
    _fields_ = [*((name, c.c_char_p) for name in ("endpoint", "address", "mechanism", "user_id")),
                ("routing_id", c.c_void_p), ("routing_id_size", c.c_size_t),
                ("state", c.c_int), ("is_connecting", c.c_int),
                *((name, c.c_uint64) for name in (
                    "messages_sent", "messages_received", "octets_sent", "octets_received",
                    "queued_out", "queued_in", "queued_out_octets", "queued_in_octets",
                    "dropped_hwm"))]

EACH = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Peer), c.c_size_t)
zlink_peers = c.CDLL("libzmq.so.5").zlink_peers  # of the library that pyzmq uses
zlink_peers.argtypes = [c.c_void_p, EACH, c.c_void_p]

@EACH
def show(_arg, peer, _size):
    peer = peer.contents
    if peer.dropped_hwm > 0:
        address = peer.address.decode() or "a thread of this program"
        print(f"{peer.dropped_hwm} lost, {peer.queued_out} wait: {address}")
    return 0  # go on

context = zmq.Context.instance()
publisher = context.socket(zmq.XPUB)
publisher.sndhwm = 100
publisher.xpub_verbose = 1
publisher.bind("inproc://news")
quick, slow = context.socket(zmq.SUB), context.socket(zmq.SUB)
for subscriber, mark in ((quick, 1000), (slow, 10)):
    subscriber.rcvhwm = mark
    subscriber.subscribe("")
    subscriber.connect("inproc://news")
    publisher.recv()  # it is there

for _ in range(200):
    publisher.send(b"news")
zlink_peers(publisher.underlying, show, None)
context.destroy(linger=0)
