"""Echoes what a browser, or anybody, sends over WebSocket."""
import zmq

server = zmq.Context.instance().socket(zmq.ROUTER)
server.bind("ws://127.0.0.1:5569/echo")
while True:
    server.send_multipart(server.recv_multipart())
