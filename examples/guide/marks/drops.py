"""A publisher does not wait: what a slow subscriber has no room for is lost, and counted."""
import ctypes
import zmq

context = zmq.Context.instance()
publisher, subscriber = context.socket(zmq.XPUB), context.socket(zmq.SUB)
publisher.sndhwm = subscriber.rcvhwm = 10
publisher.bind("inproc://news")
subscriber.subscribe("")
subscriber.connect("inproc://news")
publisher.recv()  # the subscription has come

for _ in range(50):
    publisher.send(b"news")  # succeeds each time

class Stats(ctypes.Structure):
    """The first fields of zlink_stats_t: pyzmq does not know of it."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "messages_sent", "messages_received", "octets_sent", "octets_received", "dropped_hwm")]

stats = Stats()
zlink_stats = ctypes.CDLL("libzmq.so.5").zlink_stats  # of the library that pyzmq uses
zlink_stats.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
zlink_stats(publisher.underlying, ctypes.byref(stats), ctypes.sizeof(stats))
print(f"{stats.messages_sent} sent, {stats.dropped_hwm} lost")
context.destroy(linger=0)
