"""Answers whoever asks with a greeting."""
import zmq

server = zmq.Context.instance().socket(zmq.REP)
server.bind("tcp://127.0.0.1:5555")
while True:
    name = server.recv_string()  # waits for a request
    server.send_string(f"Hello, {name}!")
