"""Squares numbers, until the sink says that it is over."""
import zmq

context = zmq.Context.instance()
jobs, sink, over = context.socket(zmq.PULL), context.socket(zmq.PUSH), context.socket(zmq.SUB)
jobs.connect("tcp://127.0.0.1:5562")
sink.connect("tcp://127.0.0.1:5563")
over.subscribe("")
over.connect("tcp://127.0.0.1:5570")
poller = zmq.Poller()
poller.register(jobs, zmq.POLLIN)
poller.register(over, zmq.POLLIN)
while over not in dict(poller.poll()):
    number = int(jobs.recv())
    sink.send_multipart([b"square", b"%d" % (number * number)])
