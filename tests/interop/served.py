"""A server of zlink over tls, and how the tests of foreign TLS see that it serves."""

import itertools
import socket
import ssl

from bare_socket import PATIENCE, PULL, TLS_CERT, TLS_KEY

tokens = itertools.count()
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48)
READY = b"\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH"


def server(context, files, certificate="server"):
    """The socket, and its port."""
    pull = context(PULL)
    pull.set(TLS_CERT, files / f"{certificate}.pem")
    pull.set(TLS_KEY, files / f"{certificate}.key")
    return pull, int(pull.bind("tls://127.0.0.1:*").rsplit(":", 1)[1])


def conversation():
    """All that a PUSH sends, and what it is to be known by."""
    token = b"token %d" % next(tokens)
    return GREETING + READY + b"\0" + bytes([len(token)]) + token, token


def is_served(client, pull, **how):
    octets, token = conversation()
    client.say_data(octets, **how)
    return client.read_data(64)[:1] == b"\xff" and pull.receive()[0] == token


def serves_an_honest_peer(pull, port, files):
    trust = ssl.create_default_context(cafile=files / "ca.pem")
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
        with trust.wrap_socket(plain, server_hostname="feed.example") as peer:
            octets, token = conversation()
            peer.sendall(octets)
            assert pull.receive()[0] == token
