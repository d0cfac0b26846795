"""Answers requests until it is told to end (kill, Ctrl-C); then those that have come already."""
import signal
import socket
import zmq

told, tell = socket.socketpair()
tell.setblocking(False)
signal.set_wakeup_fd(tell.fileno())  # each signal becomes an octet there, at once
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: None)

context = zmq.Context()
server = context.socket(zmq.REP)
server.bind("tcp://127.0.0.1:5559")
poller = zmq.Poller()
poller.register(server, zmq.POLLIN)
poller.register(told, zmq.POLLIN)
answered = 0

def answer_what_is_there():
    global answered
    while server.poll(0):
        server.recv()
        server.send(b"done")
        answered += 1

while told.fileno() not in dict(poller.poll()):
    answer_what_is_there()
answer_what_is_there()  # what has come meanwhile
server.close()
context.term()  # waits until the answers are sent
print(answered, "answered")
