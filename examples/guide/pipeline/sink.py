"""Adds up what the workers have found."""
import zmq

pull = zmq.Context.instance().socket(zmq.PULL)
pull.bind("tcp://127.0.0.1:5563")
print(sum(int(pull.recv()) for _ in range(100)))
