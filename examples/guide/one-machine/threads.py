"""Two threads that share nothing but a context: no locks."""
import threading
import zmq

def square(context):
    with context.socket(zmq.REP) as work:  # a socket belongs to one thread
        work.connect("inproc://squares")
        while number := work.recv():  # an empty message: the end
            work.send(b"%d" % (int(number) ** 2))

context = zmq.Context.instance()
with context.socket(zmq.REQ) as ask:
    ask.bind("inproc://squares")  # whoever asks may bind, too
    thread = threading.Thread(target=square, args=(context,))
    thread.start()
    ask.send(b"12")
    print(ask.recv().decode())
    ask.send(b"")
    thread.join()
