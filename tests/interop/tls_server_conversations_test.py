"""Servers that say what OpenSSL never would, at a client of zlink: what RFC 8446 demands of it, and that it speaks with the next server.

ZLINK_LIBRARY_DIR says where the library is.
"""

import socket

import pytest

pytest.importorskip("tlslite", reason="tlslite-ng is not there: make deps")

from ecdsa import SigningKey
from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey

from bare_socket import PUSH, zmq
from foreign_tls import (
    ALERT, CERTIFICATE, CERTIFICATE_REQUEST, DATA, EARLY_DATA, ENCRYPTED_EXTENSIONS, FINISHED, HANDSHAKE, HELLO_RETRY, KEY_SHARE, KEY_UPDATE,
    NEW_TICKET, P256, SERVER_HELLO, SIGNATURES, VERSIONS, Ended, Exchange, Server, message, number, record, vector)
from served import called_by, server_of_pythons_ssl
from zmtp_octets import greeting, ready

pytestmark = pytest.mark.skipif(zmq.zmq_has(b"tls") != 1, reason="built without TLS")
RAW_KEY = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\0\4"
ASKS = message(CERTIFICATE_REQUEST, b"\x04zonk" + vector(number(SIGNATURES) + vector(vector(b"\x04\x03"))))


@pytest.fixture
def meeting(context, files):
    """A client with a message to send, and what it connects to."""
    with called_by(context, files, PUSH) as (push, accept):
        push.send(b"to whom it concerns")
        yield lambda: Server(accept(), files, SigningKey.from_pem((files / "server.key").read_text()))


def gets_the_message(stream):
    stream.sendall(greeting() + ready(b"PULL"))
    octets = b""
    while b"to whom it concerns" not in octets:
        more = stream.recv(4096)
        assert more, "ended without the message"
        octets += more


def speaks_with_an_honest_server(meeting, files):
    with server_of_pythons_ssl(meeting().plain, files) as peer:
        gets_the_message(peer)


def hello_with(fields=None, **changes):
    """A ServerHello that is wrong in something."""

    def does(server):
        exchange = Exchange(next(iter(server.shares)))
        right = [(VERSIONS, b"\x03\x04"), (KEY_SHARE, number(exchange.group) + vector(exchange.share))]
        server.say(server.server_hello(right if fields is None else fields, **changes))

    return does


def plain(octets):
    return lambda server: server.send(octets)


def flight(*steps):
    """The right ServerHello, and then what `steps` make."""

    def does(server):
        server.say_hello()
        for each in steps:
            server.say(each(server) if callable(each) else each)

    return does


def agreed(*fields):
    return message(ENCRYPTED_EXTENSIONS, vector(b"".join(number(kind) + vector(body) for kind, body in fields)))


def showing(*entries):
    return lambda server: server.certificate(entries)


def certificate(server):
    return server.certificate()


def verify(server):
    return server.certificate_verify()


def wrong_finished(server):
    return message(FINISHED, bytes(32))


def asks_twice(server):
    server.ask_again(P256)
    server.hear_hello()
    server.say(server.server_hello([(VERSIONS, b"\x03\x04"), (KEY_SHARE, number(24))], random=HELLO_RETRY))


def asks_and_changes(server):
    server.ask_again(P256)
    server.hear_hello()
    hello_with(suite=0x1303)(server)


def raw_key(server):
    return server.certificate([RAW_KEY + bytes(64)])


CASES = [
    ("octets of nothing", {"closed", "protocol_version", "unexpected_message", "decode_error"}, plain(b"220 mail.example ESMTP\r\n" * 10)),
    ("garbage in records", {"decode_error", "unexpected_message", "illegal_parameter"}, plain(record(HANDSHAKE, b"\2\0\0\x20" + bytes(32)))),
    ("data", "unexpected_message", plain(record(DATA, bytes(100)))),
    ("an empty ServerHello", "decode_error", plain(record(HANDSHAKE, b"\2\0\0\0"))),
    ("another message first", "unexpected_message", plain(record(HANDSHAKE, b"\x0b\0\0\4\0\0\0\0"))),
    ("an empty record", "closed", lambda server: (server.send(record(HANDSHAKE, b"")), server.plain.shutdown(socket.SHUT_WR))),
    ("an alert", "closed", plain(record(21, b"\2\x28"))),
    ("nothing", "closed", lambda server: server.plain.shutdown(socket.SHUT_WR)),
    # The ServerHello: RFC 8446 §4.1.3.
    ("TLS 1.2", "protocol_version", hello_with([])),
    ("a version unknown", {"illegal_parameter", "protocol_version"}, hello_with([(VERSIONS, b"\x03\x05")])),
    ("a cipher not offered", "illegal_parameter", hello_with(suite=0x1305)),
    ("another session", "illegal_parameter", hello_with(session=bytes(32))),
    ("compression", {"illegal_parameter", "decode_error"}, hello_with(compression=b"\1")),
    ("no key", {"missing_extension", "illegal_parameter", "decode_error"}, hello_with([(VERSIONS, b"\x03\x04")])),
    ("a key of a group not offered", "illegal_parameter", hello_with([(VERSIONS, b"\x03\x04"), (KEY_SHARE, number(0x7A7A) + vector(b"1"))])),
    ("a key that is short", {"illegal_parameter", "decode_error"}, hello_with([(VERSIONS, b"\x03\x04"), (KEY_SHARE, b"\0\x1d\0\1\1")])),
    ("an extension unasked, and no key", {"unsupported_extension", "illegal_parameter", "missing_extension"}, hello_with([(VERSIONS, b"\x03\x04"), (0x5000, b"")])),
    # HelloRetryRequest: §4.1.4.
    ("asks for what is there", "illegal_parameter", lambda server: server.ask_again(next(iter(server.shares)))),
    ("asks for nothing", "illegal_parameter", lambda server: server.ask_again(None)),
    ("asks for a group unknown", "illegal_parameter", lambda server: server.ask_again(0x7A7A)),
    ("asks twice", "unexpected_message", asks_twice),
    ("asks, and takes another cipher", "illegal_parameter", asks_and_changes),
    # The flight: §4.3, §4.4.
    ("no certificate", "unexpected_message", flight(agreed(), wrong_finished)),
    ("an empty certificate", "decode_error", flight(agreed(), showing())),
    ("a certificate of no octets", {"decode_error", "bad_certificate"}, flight(agreed(), showing(b""))),
    ("a certificate of garbage", {"bad_certificate", "decode_error"}, flight(agreed(), showing(bytes(200)))),
    ("a raw public key", {"bad_certificate", "decode_error", "unsupported_certificate"}, flight(agreed(), raw_key)),
    # OpenSSL passes over an extension unasked that it does not know.
    ("a raw public key announced", {"unsupported_extension", "bad_certificate"}, flight(agreed((20, b"\2")), raw_key)),
    ("a client's raw public key announced", {"unsupported_extension", "unexpected_message"}, flight(
        agreed((19, b"\2")), wrong_finished)),
    ("no signature", "unexpected_message", flight(agreed(), certificate, wrong_finished)),
    ("a signature of something else", "decrypt_error", flight(agreed(), certificate, lambda server: server.certificate_verify(signed=b"else"))),
    ("a scheme that is not the key's", {"illegal_parameter", "decrypt_error"}, flight(
        agreed(), certificate, lambda server: server.certificate_verify(scheme=0x0804))),
    ("a scheme of TLS 1.2", "illegal_parameter", flight(agreed(), certificate, lambda server: server.certificate_verify(scheme=0x0203))),
    ("a wrong Finished", "decrypt_error", flight(agreed(), certificate, verify, wrong_finished)),
    ("early data taken", {"unsupported_extension", "illegal_parameter"}, flight(agreed((EARLY_DATA, b"")))),
    ("a protocol unasked", "unsupported_extension", flight(agreed((16, b"\0\3\2h2")))),
    ("extensions cut short", "decode_error", flight(message(ENCRYPTED_EXTENSIONS, b"\0\5\0"))),
    ("new keys too early", "unexpected_message", flight(agreed(), message(KEY_UPDATE, b"\0"))),
    ("a plain flight", {"unexpected_message", "bad_record_mac"}, lambda server: (
        server.say_hello(), server.send(record(HANDSHAKE, agreed())))),
]


def outcome(server, does):
    try:
        server.hear_hello()
        does(server)
    except Ended as ended:
        return ended.how
    except ConnectionError:
        return "closed"
    # What the client says of the flight has no key yet where it has not taken the hello.
    return server.end()


@pytest.mark.parametrize("expected, does", [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_a_server(meeting, files, expected, does):
    server = meeting()
    how = outcome(server, does)
    server.close()
    speaks_with_an_honest_server(meeting, files)
    assert how in ({expected} if isinstance(expected, str) else expected)


LATER = [
    ("a certificate asked for", "unexpected_message", ASKS),
    ("Finished once more", "unexpected_message", message(FINISHED, bytes(32))),
    ("a demand for renegotiation", "unexpected_message", message(0, b"")),
    ("new keys with an unknown demand", "illegal_parameter", message(KEY_UPDATE, b"\2")),
    ("a ticket cut short", "decode_error", message(NEW_TICKET, bytes(5))),
    ("a certificate", "unexpected_message", message(CERTIFICATE, b"\0\0\0\0")),
    ("a ServerHello", "unexpected_message", message(SERVER_HELLO, bytes(40))),
]


@pytest.mark.parametrize("expected, octets", [each[1:] for each in LATER], ids=[each[0] for each in LATER])
def test_a_server_later(meeting, files, expected, octets):
    server = meeting().shake_hands()
    server.say(octets, counts=False)
    how = server.end()
    server.close()
    speaks_with_an_honest_server(meeting, files)
    assert how == expected


def test_a_ticket_that_invites_to_early_data_is_used_without(meeting, files):
    server = meeting().shake_hands()
    server.say(message(NEW_TICKET, number(3600, 4) + bytes(4) + vector(b"n", 1) + vector(bytes(32)) + vector(
        number(EARLY_DATA) + vector(number(2**14, 4)))), counts=False)
    server.say_data(greeting()[:10])
    assert server.read_data(10)[:1] == b"\xff"
    server.send(server.protected(ALERT, b"\1\0"))
    server.end()
    server.close()
    again = meeting()
    again.hear_hello()
    assert 41 in again.fields, "the ticket is offered"
    assert EARLY_DATA not in again.fields
    again.close()
    speaks_with_an_honest_server(meeting, files)


def test_a_client_offers_neither_raw_keys_nor_later_certificates(meeting):
    server = meeting()
    server.hear_hello()
    assert not {19, 20, EARLY_DATA, 49, 16} & set(server.fields)


@pytest.mark.parametrize("curves", [["x25519"], ["secp256r1"], ["secp384r1"], ["x448"]])
def test_a_server_of_tlslite(meeting, files, curves):
    """It asks for another key where the client has sent none of that group."""
    settings = HandshakeSettings()
    settings.minVersion = settings.maxVersion = (3, 4)
    settings.eccCurves, settings.keyShares, settings.dhGroups = curves, curves, []
    chain = X509CertChain()
    chain.parsePemList((files / "server.pem").read_text())
    peer = TLSConnection(meeting().plain)
    peer.handshakeServer(certChain=chain, privateKey=parsePEMKey((files / "server.key").read_text(), private=True), settings=settings)
    assert peer.version == (3, 4)
    gets_the_message(peer)
