"""Prints the weather."""
import zmq

subscriber = zmq.Context.instance().socket(zmq.SUB)
subscriber.subscribe("weather")  # all topics that begin so
subscriber.connect("tcp://127.0.0.1:5556")
while True:
    topic, text = subscriber.recv_multipart()
    if text == b"end":
        break
    print(topic.decode(), text.decode())
