"""Sends updates to its clients, fifty a second. Who has no key that is known stays out."""
import json
import zmq
from zmq.auth.thread import ThreadAuthenticator

CLIENTS = range(1, 101)
keys = {str(number): [key.decode() for key in zmq.curve_keypair()] for number in (0, *CLIENTS)}
withdrawn = 88  # the client does not know yet


class Known:
    keys = {keys[str(number)][0] for number in CLIENTS if number != withdrawn}

    def callback(self, domain, key):
        return key.decode() in self.keys


context = zmq.Context()
judge = ThreadAuthenticator(context)
judge.start()
judge.configure_curve_callback(credentials_provider=Known())
server = context.socket(zmq.ROUTER)
server.curve_publickey, server.curve_secretkey = (key.encode() for key in keys["0"])
server.curve_server = True
server.sndhwm = 100
server.sndbuf = 16384
server.bind("tcp://127.0.0.1:5574")
with open("keys.json", "w", encoding="utf-8") as file:  # as if each had been given its own
    json.dump(keys, file)

clients = set()
while True:
    while server.poll(20):
        clients.add(server.recv_multipart()[0])
        if not server.poll(0):
            break
    for client in clients:
        server.send_multipart([client, bytes(1000)])
