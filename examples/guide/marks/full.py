"""Sends to somebody who does not read, until there is no more room."""
import zmq

context = zmq.Context.instance()
pull, push = context.socket(zmq.PULL), context.socket(zmq.PUSH)
push.sndhwm, pull.rcvhwm = 3, 2  # before bind and connect
pull.bind("inproc://jobs")
push.connect("inproc://jobs")

fit = 0
try:
    while True:
        push.send(b"job", zmq.DONTWAIT)  # without that flag it would wait now
        fit += 1
except zmq.Again as full:
    print(f"{fit} messages fit, then: {full}")
context.destroy(linger=0)
