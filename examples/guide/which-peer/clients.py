"""A hundred clients that say ten times a second that they live. Not all of them do."""
import json
import time
import zmq

with open("keys.json", encoding="utf-8") as file:
    keys = json.load(file)
context = zmq.Context()


def connect(number):
    client = context.socket(zmq.DEALER)
    client.linger = 0
    client.routing_id = b"client-%d" % number
    client.curve_serverkey = keys["0"][0].encode()
    client.curve_publickey, client.curve_secretkey = (key.encode() for key in keys[str(number)])
    if number == 17:
        client.rcvhwm, client.rcvbuf = 10, 4096
    client.connect("tcp://127.1.0.%d:0;127.0.0.1:5574" % number)  # a machine each
    return client


clients = {number: connect(number) for number in range(1, 101)}
while True:
    for number, client in clients.items():
        if number != 63 and client.poll(0, zmq.POLLOUT):
            client.send(b"alive")
        has_news = number != 17 and client.poll(0)
        while has_news and client.poll(0):
            client.recv()
        if has_news and number == 42:
            client.close()
            clients[42] = connect(42)
    time.sleep(0.1)
