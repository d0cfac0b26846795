"""Publishes over TLS to whom the authority vouches for."""
from pathlib import Path
import zmq

TLS_REQUIRE_CLIENT_CERT = 0x5A04  # of zmq.h
publisher = zmq.Context.instance().socket(zmq.XPUB)
publisher.wss_cert_pem = Path("keys/127.0.0.1.pem").read_bytes()  # who this is; for tls, too
publisher.wss_key_pem = Path("keys/127.0.0.1.key").read_bytes()
publisher.wss_trust_pem = Path("keys/ca.pem").read_bytes()  # who vouches for subscribers
publisher.setsockopt(TLS_REQUIRE_CLIENT_CERT, 1)
publisher.bind("tls://127.0.0.1:5560")
publisher.recv()  # somebody has subscribed
publisher.send(b"a secret")
