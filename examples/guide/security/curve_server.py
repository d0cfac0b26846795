"""Takes one message, of those whose keys are in the folder `clients`."""
import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator

context = zmq.Context()
judge = ThreadAuthenticator(context)  # is asked about each client
judge.start()
judge.configure_curve(domain="*", location="clients")

server = context.socket(zmq.PULL)
server.curve_server = True
server.curve_secretkey = zmq.auth.load_certificate("server.key_secret")[1]
server.bind("tcp://127.0.0.1:5561")
print(server.recv().decode())
server.close()
judge.stop()
context.term()
