"""Publishes ten million octets, and then does something else."""
import signal
import zmq

publisher = zmq.Context.instance().socket(zmq.XPUB)
publisher.bind("ipc://feed.sock")
publisher.recv()  # somebody has subscribed
for _ in range(10_000):
    publisher.send(bytes(1000))
signal.pause()
