"""Servers of zlink over tls, and how the tests of foreign TLS see that they serve; and where clients of zlink call."""

import contextlib
import itertools
import socket
import ssl

from bare_socket import PATIENCE, PULL, TLS_CA, TLS_CERT, TLS_GROUPS, TLS_KEY
from zmtp_octets import frame, greeting, ready

GROUPS = "X25519:P-256:P-384:P-521:X448:ffdhe2048:ffdhe3072"  # more than there are by default
tokens = itertools.count()


def server(context, files, certificate="server"):
    """The socket, and its port."""
    pull = context(PULL)
    pull.set(TLS_CERT, files / f"{certificate}.pem")
    pull.set(TLS_KEY, files / f"{certificate}.key")
    pull.set(TLS_GROUPS, GROUPS)
    return pull, int(pull.bind("tls://127.0.0.1:*").rsplit(":", 1)[1])


@contextlib.contextmanager
def called_by(context, files, kind):
    """A socket of zlink that connects over tls, and what accepts its connections."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        caller = context(kind)
        caller.set(TLS_CA, files / "ca.pem")
        caller.set(TLS_GROUPS, GROUPS)
        caller.connect(f"tls://localhost:{listening.getsockname()[1]}")

        def accept():
            plain, _ = listening.accept()
            plain.settimeout(PATIENCE)
            return plain

        yield caller, accept


def server_of_pythons_ssl(plain, files):
    """TLS on an accepted connection."""
    shown = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    shown.load_cert_chain(files / "server.pem", files / "server.key")
    return shown.wrap_socket(plain, server_side=True)


@contextlib.contextmanager
def client_of_pythons_ssl(files, port, certificate=None):
    """TLS to a server of zlink at that port."""
    trust = ssl.create_default_context(cafile=files / "ca.pem")
    if certificate:
        trust.load_cert_chain(files / f"{certificate}.pem", files / f"{certificate}.key")
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
        with trust.wrap_socket(plain, server_hostname="feed.example") as peer:
            yield peer


def conversation():
    """All that a PUSH sends, and what it is to be known by."""
    token = b"token %d" % next(tokens)
    return greeting() + ready(b"PUSH") + frame(token), token


def is_served(client, pull, **how):
    octets, token = conversation()
    client.say_data(octets, **how)
    return client.read_data(64)[:1] == b"\xff" and pull.receive()[0] == token


def serves_an_honest_peer(pull, port, files):
    with client_of_pythons_ssl(files, port) as peer:
        octets, token = conversation()
        peer.sendall(octets)
        assert pull.receive()[0] == token
