"""Adds up what two workers find, and sends them home."""
import zmq

context = zmq.Context.instance()
pull, over = context.socket(zmq.PULL), context.socket(zmq.XPUB)
pull.bind("tcp://127.0.0.1:5563")
over.setsockopt(zmq.XPUB_VERBOSE, 1)  # tells of each subscriber
over.bind("tcp://127.0.0.1:5570")
found, results, total = 0, 0, None
while results != total:  # the total may come before the last results
    what, value = pull.recv_multipart()
    if what == b"total":
        total = int(value)
    else:
        found, results = found + int(value), results + 1
print(found)
for _ in range(2):
    over.recv()  # a worker that listens
over.send(b"go home")
pull.close()
over.close()
context.term()
