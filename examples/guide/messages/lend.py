"""A large body that is sent from where it is, without a copy."""
import zmq

context = zmq.Context.instance()
receiver, sender = context.socket(zmq.PULL), context.socket(zmq.PUSH)
receiver.bind("ipc://picture.sock")
sender.connect("ipc://picture.sock")

picture = bytearray(10_000_000)
sent = sender.send(picture, copy=False, track=True)  # picture is not to be changed now
received = receiver.recv(copy=False)  # its memory is the library's
print(len(received.buffer), "octets")
sent.wait(timeout=10)  # until nobody needs it any more
