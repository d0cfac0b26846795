"""Sends a thousand messages of 10,000 octets."""
import zmq

context = zmq.Context.instance()
push = context.socket(zmq.PUSH)
push.connect("ipc://numbers.sock")
for _ in range(1000):
    push.send(bytes(10_000))
push.close()
context.term()  # waits until all is sent
