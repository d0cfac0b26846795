"""Hands out numbers, once both workers are there, and tells the sink how many."""
import ctypes
import sys
import zmq

context = zmq.Context.instance()
jobs, sink = context.socket(zmq.PUSH), context.socket(zmq.PUSH)
sink.connect("tcp://127.0.0.1:5563")
jobs.bind("tcp://127.0.0.1:5562")
zlink_wait_ready = ctypes.CDLL("libzmq.so.5").zlink_wait_ready  # of the library that pyzmq uses
zlink_wait_ready.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PEERS = 1  # ZLINK_READY_PEERS
if zlink_wait_ready(jobs.underlying, PEERS, 2, 10_000) != 0:
    print("not both are there", file=sys.stderr)

total = 100
for number in range(1, total + 1):  # waits where nobody works, or all are full
    jobs.send(b"%d" % number)
sink.send_multipart([b"total", b"%d" % total])
jobs.close()
sink.close()
context.term()  # waits until all is handed out
