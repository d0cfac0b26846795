"""Subscribes, and reads nothing."""
import signal
import zmq

subscriber = zmq.Context.instance().socket(zmq.SUB)
subscriber.subscribe("")
subscriber.connect("ipc://feed.sock")
signal.pause()
