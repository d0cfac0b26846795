"""Says how long words are. Its first request it forgets, as a server does that is started anew."""
import zmq

server = zmq.Context.instance().socket(zmq.ROUTER)
server.bind("tcp://127.0.0.1:5558")
server.recv_multipart()
while True:
    *envelope, word = server.recv_multipart()
    server.send_multipart([*envelope, b"%d" % len(word)])
