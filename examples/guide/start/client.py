"""Asks once, and prints the answer."""
import zmq

client = zmq.Context.instance().socket(zmq.REQ)
client.connect("tcp://127.0.0.1:5555")
client.send_string("world")
print(client.recv_string())  # waits for the answer
