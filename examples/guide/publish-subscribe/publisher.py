"""Publishes the weather, once somebody has subscribed."""
import zmq

publisher = zmq.Context.instance().socket(zmq.XPUB)  # a PUB that hears of subscriptions
publisher.bind("tcp://127.0.0.1:5556")
publisher.recv()  # waits for the first subscription: 1 and the topic
for topic, text in (("weather.oslo", "snow"), ("traffic", "dense"), ("weather.rome", "sun")):
    publisher.send_multipart([topic.encode(), text.encode()])
publisher.send_multipart([b"weather", b"end"])
