"""A publisher that tells each newcomer what was said last."""
import zmq

context = zmq.Context.instance()
publisher = context.socket(zmq.XPUB)
publisher.setsockopt(zmq.XPUB_VERBOSE, 1)  # tells of each subscription, not only of new topics
publisher.bind("tcp://127.0.0.1:5557")
latest = {b"rate.eur": b"1.08", b"rate.gbp": b"1.27"}

subscriber = context.socket(zmq.SUB)  # mostly in another program
subscriber.connect("tcp://127.0.0.1:5557")
subscriber.subscribe("rate.eur")

notice = publisher.recv()  # 1 and the topic, or 0 and the topic where a subscription ends
if notice[0] == 1 and notice[1:] in latest:
    publisher.send_multipart([notice[1:], latest[notice[1:]]])
topic, value = subscriber.recv_multipart()
print(topic.decode(), value.decode())
