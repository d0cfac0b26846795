"""Sends one message, to the server whose key it knows."""
import zmq
import zmq.auth

context = zmq.Context()
client = context.socket(zmq.PUSH)
public, secret = zmq.auth.load_certificate("clients/alice.key_secret")
client.curve_publickey, client.curve_secretkey = public, secret
client.curve_serverkey, _ = zmq.auth.load_certificate("server.key")
client.connect("tcp://127.0.0.1:5561")
client.send(b"sealed")
client.close()
context.term()  # waits until it is sent
