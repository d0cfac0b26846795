"""A message of two parts, from one socket to another."""
import zmq

context = zmq.Context.instance()
receiver, sender = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
receiver.bind("inproc://desk")  # within one process
sender.connect("inproc://desk")

sender.send_multipart([b"reading.7", bytes([0, 21, 255])])
for part in receiver.recv_multipart():
    print(len(part), "octets")
