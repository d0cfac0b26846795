"""Asks, and asks again where no answer comes."""
import sys
import zmq

client = zmq.Context.instance().socket(zmq.REQ)
client.setsockopt(zmq.REQ_RELAXED, 1)    # may send again before the answer has come
client.setsockopt(zmq.REQ_CORRELATE, 1)  # and then takes no answer to a former request
client.setsockopt(zmq.RCVTIMEO, 300)     # milliseconds to wait for an answer
client.setsockopt(zmq.SNDTIMEO, 300)     # and for a server to be there
client.setsockopt(zmq.LINGER, 0)         # a request that nobody took ends here
client.connect("tcp://127.0.0.1:5558")

for attempt in range(100):
    try:
        client.send(b"zlink")
        print("zlink has", client.recv().decode(), "letters")
        break
    except zmq.Again:
        print("no answer, once more", file=sys.stderr)
else:
    sys.exit("the server does not answer")
