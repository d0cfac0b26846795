"""Stands between clients and services: clients know one address, and services come and go."""
import zmq

context = zmq.Context.instance()
clients, services = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
clients.bind("tcp://127.0.0.1:5565")
services.bind("tcp://127.0.0.1:5566")
zmq.proxy(clients, services)  # both ways, until the context ends
