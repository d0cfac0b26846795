"""Hands orders to cooks: whoever says that he is free gets the next."""
import zmq

context = zmq.Context.instance()
desk = context.socket(zmq.ROUTER)
desk.setsockopt(zmq.ROUTER_MANDATORY, 1)  # a name that nobody has is an error, not silence
desk.bind("tcp://127.0.0.1:5564")

for order in (b"soup", b"bread", b"fish"):
    cook, _ = desk.recv_multipart()       # a ROUTER puts the peer's name in front
    desk.send_multipart([cook, order])    # and takes it off what it sends, and sends it there

cook, _ = desk.recv_multipart()
desk.send_multipart([cook, b""])          # go home
try:
    desk.send_multipart([b"nobody", b"cake"])
except zmq.ZMQError as error:
    print("nobody:", error)
desk.close()
context.term()
