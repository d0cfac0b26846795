"""Squares numbers, until it is stopped."""
import zmq

context = zmq.Context.instance()
pull, push = context.socket(zmq.PULL), context.socket(zmq.PUSH)
pull.rcvhwm = 1  # takes little in advance: who is quick gets more
pull.connect("tcp://127.0.0.1:5562")
push.connect("tcp://127.0.0.1:5563")
while True:
    number = int(pull.recv())
    push.send(b"%d" % (number * number))
