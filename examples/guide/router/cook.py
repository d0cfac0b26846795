"""Takes orders, one after the other."""
import zmq

cook = zmq.Context.instance().socket(zmq.DEALER)
cook.setsockopt(zmq.ROUTING_ID, b"anna")  # before it connects; without one the router makes one up
cook.connect("tcp://127.0.0.1:5564")
while True:
    cook.send(b"I am free")
    order = cook.recv()
    if not order:
        break
    print("anna cooks", order.decode())
