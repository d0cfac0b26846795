"""A socket in a loop that somebody else has written, here of selectors."""
import selectors
import zmq

jobs = zmq.Context.instance().socket(zmq.PULL)
jobs.bind("tcp://127.0.0.1:5567")
loop = selectors.DefaultSelector()
loop.register(jobs.getsockopt(zmq.FD), selectors.EVENT_READ)

got = 0
while got < 3:
    while jobs.getsockopt(zmq.EVENTS) & zmq.POLLIN:  # to the end: it tells of news only
        print("job", jobs.recv(zmq.DONTWAIT).decode())
        got += 1
    if got < 3:
        loop.select()  # the loop's own wait, for all that it has
loop.close()  # before the descriptor goes with its socket
