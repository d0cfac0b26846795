"""Hands out numbers to whoever works."""
import zmq

context = zmq.Context.instance()
push = context.socket(zmq.PUSH)
push.bind("tcp://127.0.0.1:5562")
for number in range(1, 101):
    push.send(b"%d" % number)  # waits where nobody works, or all have enough to do
push.close()
context.term()  # waits until all is handed out
