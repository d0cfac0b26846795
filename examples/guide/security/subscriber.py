"""Subscribes over TLS to a publisher whom the authority vouches for."""
from pathlib import Path
import zmq

subscriber = zmq.Context.instance().socket(zmq.SUB)
subscriber.subscribe("")
subscriber.wss_trust_pem = Path("keys/ca.pem").read_bytes()  # who vouches for the publisher
subscriber.wss_cert_pem = Path("keys/alice.pem").read_bytes()  # who this is; for tls, too
subscriber.wss_key_pem = Path("keys/alice.key").read_bytes()
subscriber.connect("tls://127.0.0.1:5560")
print(subscriber.recv_string())
