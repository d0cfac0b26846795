"""ClientHellos that OpenSSL never sends, at a server of zlink: what RFC 8446 demands of it, and that it serves the next client.

ZLINK_LIBRARY_DIR says where the library is.
"""

import socket

import pytest

pytest.importorskip("tlslite", reason="tlslite-ng is not there: make deps")

from bare_socket import zmq
from foreign_tls import (
    AES_128, CCS, COOKIE, EARLY_DATA, FFDHE2048, GROUPS, HANDSHAKE, KEY_SHARE, P256, P384, POST_HANDSHAKE_AUTH, PSK_MODES,
    SIGNATURES, SNI, TICKET_PSK, VERSIONS, X25519, Client, Exchange, Hello, number, numbers, record, resuming, vector)
from served import is_served, serves_an_honest_peer, server

pytestmark = pytest.mark.skipif(zmq.zmq_has(b"tls") != 1, reason="built without TLS")
SERVED = "is served"
P_2048 = Exchange(FFDHE2048).kind.prime


@pytest.fixture(scope="module")
def pull(files, module_context):
    return server(module_context, files)


def field(kind, octets):
    return lambda hello: hello.fields.__setitem__(kind, octets)


def without(*kinds):
    return lambda hello: [hello.fields.pop(each) for each in kinds]


def attribute(name, value):
    return lambda hello: setattr(hello, name, value)


def versions(*listed):
    return field(VERSIONS, vector(numbers(listed), 1))


def share(group, octets):
    return lambda hello: hello.offer([(group, octets)])


def share_beside(*others):
    return lambda hello: hello.offer([*others, (X25519, hello.exchange.share)])


def schemes(*listed):
    return field(SIGNATURES, vector(numbers(listed)))


def shuffled(hello):
    hello.fields = dict(reversed(hello.fields.items()))


def unknown_extensions(count, size=0):
    return lambda hello: hello.fields.update({0x5000 + i: bytes(size) for i in range(count)})


def not_on_the_curve(hello):
    right = Exchange(P256).share
    hello.offer([(P256, right[:-1] + bytes([right[-1] ^ 1]))])


HELLOS = [
    ("conversation", SERVED, lambda hello: None),
    ("shuffled extensions", SERVED, shuffled),
    ("many unknown extensions", SERVED, unknown_extensions(2000)),
    ("a large unknown extension", SERVED, unknown_extensions(1, 15_000)),
    ("more than is taken of a hello", "closed", unknown_extensions(1, 17_000)),
    ("session id empty", SERVED, attribute("session", b"")),
    ("session id too long", {"decode_error", "illegal_parameter"}, attribute("session", bytes(33))),
    ("post-handshake authentication offered", SERVED, field(POST_HANDSHAKE_AUTH, b"")),
    ("post-handshake authentication with content", "decode_error", field(POST_HANDSHAKE_AUTH, b"\0")),
    # Versions: RFC 8446 §4.1.2, §4.2.1, D.5.
    ("legacy version 1.1", SERVED, attribute("version", 0x0302)),
    ("legacy version 1.3", SERVED, attribute("version", 0x0304)),
    ("unknown versions beside", SERVED, versions(0x7A7A, 0x0305, 0x0304, 0x0303)),
    ("no versions", "protocol_version", without(VERSIONS)),
    ("TLS 1.2 alone", "protocol_version", versions(0x0303)),
    ("an unknown version alone", "protocol_version", versions(0x0305)),
    ("a draft alone", "protocol_version", versions(0x7F1C)),
    ("SSL 3 alone", "protocol_version", versions(0x0300)),
    ("empty versions", {"decode_error", "protocol_version"}, field(VERSIONS, b"\0")),
    ("odd versions", {"decode_error", "protocol_version"}, field(VERSIONS, b"\x03\x03\x04\x03")),
    # Ciphers and compression.
    ("unknown ciphers beside", SERVED, attribute("suites", b"\x7a\x7a\x13\x01\x00\xff")),
    ("no ciphers", {"decode_error", "illegal_parameter", "handshake_failure"}, attribute("suites", b"")),
    ("half a cipher", "decode_error", attribute("suites", b"\x13\x01\x13")),
    ("unknown ciphers alone", "handshake_failure", attribute("suites", b"\x7a\x7a")),
    ("TLS 1.2 ciphers alone", "handshake_failure", attribute("suites", b"\xc0\x2b\xc0\x2f")),
    ("compression beside none", "illegal_parameter", attribute("compression", b"\1\0")),
    ("no compression method", {"decode_error", "illegal_parameter"}, attribute("compression", b"")),
    # Groups and key shares: §4.2.7, §4.2.8.
    ("an unknown share beside", SERVED, share_beside((0x7A7A, b"\0"))),
    ("obsolete curves beside", SERVED, share_beside((1, b"\4" + bytes(42)), (21, b"\4" + bytes(56)))),
    ("no groups in common", "handshake_failure", share(0x7A7A, b"\0")),
    ("obsolete curves alone", "handshake_failure", share(1, b"\4" + bytes(42))),
    ("no key share", "missing_extension", without(KEY_SHARE)),
    ("no groups", "missing_extension", without(GROUPS)),
    ("neither", {"missing_extension", "handshake_failure"}, without(KEY_SHARE, GROUPS)),
    ("empty groups", {"decode_error", "illegal_parameter", "handshake_failure"}, field(GROUPS, b"\0\0")),
    ("half a group", "decode_error", field(GROUPS, b"\0\3\0\x1d\0")),
    ("an empty share", {"decode_error", "illegal_parameter"}, share(X25519, b"")),
    ("a short share", "illegal_parameter", share(X25519, bytes(31))),
    ("a long share", "illegal_parameter", share(X25519, bytes(33))),
    ("an all-zero share", {"illegal_parameter", "internal_error"}, share(X25519, bytes(32))),
    ("a share cut short", "decode_error", field(KEY_SHARE, b"\0\6\0\x1d\0\x20\1\2")),
    ("a point that is not on the curve", "illegal_parameter", not_on_the_curve),
    ("a compressed point", "illegal_parameter", share(P256, b"\2" + Exchange(P256).share[1:33])),
    ("the point at infinity", "illegal_parameter", share(P256, b"\0")),
    ("a share of 0", "illegal_parameter", share(FFDHE2048, bytes(256))),
    ("a share of 1", "illegal_parameter", share(FFDHE2048, number(1, 256))),
    ("a share of p - 1", "illegal_parameter", share(FFDHE2048, number(P_2048 - 1, 256))),
    ("a share of p", "illegal_parameter", share(FFDHE2048, number(P_2048, 256))),
    ("a share not padded", "illegal_parameter", share(FFDHE2048, number(P_2048 - 2, 256)[1:])),
    # Signatures: §4.2.3.
    ("unknown schemes beside", SERVED, schemes(*range(0xFE00, 0xFE80), 0x0403)),
    ("no signatures", "missing_extension", without(SIGNATURES)),
    ("empty signatures", {"decode_error", "handshake_failure"}, field(SIGNATURES, b"\0\0")),
    ("half a scheme", "decode_error", field(SIGNATURES, b"\0\3\4\3\4")),
    ("unknown schemes alone", "handshake_failure", schemes(0xFE00)),
    ("RSA for a key that is ECDSA", "handshake_failure", schemes(0x0804, 0x0401)),
    ("ECDSA of another curve", "handshake_failure", schemes(0x0503)),
    # Others.
    ("no names in the server's name", "decode_error", field(SNI, b"\0\0")),
    ("an empty server's name", {"decode_error", "unrecognized_name", "illegal_parameter", SERVED}, field(SNI, b"\0\3\0\0\0")),
    ("a name with a zero", {"decode_error", "unrecognized_name", "illegal_parameter"}, field(SNI, vector(b"\0" + vector(b"a\0b")))),
    ("a cookie unasked", {"illegal_parameter", "decode_error", SERVED}, field(COOKIE, vector(b"1234"))),
    ("early data without a ticket", SERVED, field(EARLY_DATA, b"")),
    ("a ticket in the middle", "illegal_parameter", lambda hello: setattr(
        hello, "fields", {TICKET_PSK: vector(vector(b"x") + bytes(4)) + vector(vector(bytes(32), 1)), **hello.fields})),
    ("a ticket and no modes", "missing_extension", lambda hello: (without(PSK_MODES)(hello), hello.fields.update(
        {TICKET_PSK: vector(vector(b"x" * 40) + bytes(4)) + vector(vector(bytes(32), 1))}))),
    ("an unknown ticket", SERVED, field(TICKET_PSK, vector(vector(b"x" * 208) + bytes(4)) + vector(vector(bytes(32), 1)))),
]


def outcome(client, pull):
    try:
        client.hear_hello()
        client.hear_flight()
        client.finish()
        return SERVED if is_served(client, pull[0]) else "not served"
    except Exception as ended:
        if hasattr(ended, "how"):
            return ended.how
        raise


@pytest.mark.parametrize("expected, change", [each[1:] for each in HELLOS], ids=[each[0] for each in HELLOS])
def test_hello(pull, files, expected, change):
    hello = Hello()
    change(hello)
    client = Client(pull[1], hello)
    client.greet()
    how = outcome(client, pull)
    client.close()
    serves_an_honest_peer(*pull, files)
    assert how in ({expected} if isinstance(expected, str) else expected)


@pytest.mark.parametrize("twice", [KEY_SHARE, VERSIONS, 0x5000])
def test_an_extension_given_twice(pull, files, twice):
    client = Client(pull[1])
    if twice == 0x5000:  # OpenSSL does not look at what it does not know
        client.greet(client.hello.octets([*client.hello.fields.items(), (twice, b""), (twice, b"")]))
        assert outcome(client, pull) in (SERVED, "illegal_parameter", "decode_error")
    else:
        client.greet(client.hello.octets([*client.hello.fields.items(), (twice, client.hello.fields[twice])]))
        assert client.end() in ("illegal_parameter", "decode_error")
    serves_an_honest_peer(*pull, files)


@pytest.mark.parametrize("pieces", [1, 2, 5, 100])
def test_a_hello_in_pieces(pull, pieces):
    client = Client(pull[1])
    client.greet(pieces=pieces)
    assert outcome(client, pull) == SERVED


@pytest.mark.parametrize("first, expected", [
    (record(HANDSHAKE, b""), {"closed", "unexpected_message", "decode_error"}),
    (record(21, b""), {"closed", "unexpected_message", "decode_error"}),
    (record(21, b"\2"), {"unexpected_message", "decode_error"}),
    (record(CCS, b"\1"), {"unexpected_message"}),
    (record(23, b"data"), {"unexpected_message"}),
    (record(24, b"\1\0\1a"), {"unexpected_message"}),
    (record(99, b"?"), {"unexpected_message"}),
    (record(HANDSHAKE, b"\2\0\0\0"), {"unexpected_message"}),
    (record(HANDSHAKE, b"\0\0\0\0"), {"unexpected_message"}),
    (record(HANDSHAKE, b"\x63\0\0\0"), {"unexpected_message"}),
    (record(HANDSHAKE, b"\1\0\0\0"), {"decode_error"}),
    (b"\x16\3\1\xff\xff", {"closed", "record_overflow"}),
    (b"GET / HTTP/1.1\r\n\r\n", {"closed", "protocol_version", "unexpected_message", "decode_error"}),
    (b"\x80\x2e\1\0\2\0\x15\0\0\0\x10" + bytes(37), {"closed", "protocol_version", "unexpected_message", "decode_error", "handshake_failure"}),
], ids=lambda value: value[:8].hex() if isinstance(value, bytes) else "")
def test_another_thing_comes_first(pull, files, first, expected):
    client = Client(pull[1])
    client.send(first)
    how = client.end()
    serves_an_honest_peer(*pull, files)
    assert how in expected


def asked_again(pull, group=P256):
    """A client that has no share of the group which the server asks for."""
    hello = Hello(group)
    hello.fields[KEY_SHARE] = b"\0\0"
    client = Client(pull[1], hello)
    client.greet()
    client.hear_hello()
    assert client.retry == group and client.shared is None
    return client


@pytest.mark.parametrize("group", [X25519, P256, P384, FFDHE2048])
def test_a_server_asks_for_another_key(pull, group):
    client = asked_again(pull, group)
    client.hello.offer([(group, client.hello.exchange.share)])
    client.greet()
    assert outcome(client, pull) == SERVED


RETRIES = [
    ("the same again", {"illegal_parameter"}, lambda client: None),
    ("a share of another group", {"illegal_parameter"}, lambda client: client.hello.offer([(X25519, bytes(range(32)))], [X25519, P256])),
    ("no share at all", {"missing_extension"}, lambda client: client.hello.fields.pop(KEY_SHARE)),
    ("other ciphers", {"illegal_parameter", "handshake_failure"}, lambda client: (
        client.hello.offer([(P256, client.hello.exchange.share)]), setattr(client.hello, "suites", b"\x13\x03"))),
    ("TLS 1.2 now", {"illegal_parameter", "protocol_version"}, lambda client: (
        client.hello.offer([(P256, client.hello.exchange.share)]), versions(0x0303)(client.hello))),
    ("early data", {"illegal_parameter", "unsupported_extension"}, lambda client: (
        client.hello.offer([(P256, client.hello.exchange.share)]), field(EARLY_DATA, b"")(client.hello))),
]


@pytest.mark.parametrize("expected, change", [each[1:] for each in RETRIES], ids=[each[0] for each in RETRIES])
def test_a_second_hello(pull, files, expected, change):
    client = asked_again(pull)
    change(client)
    client.greet()
    how = client.end()
    serves_an_honest_peer(*pull, files)
    assert how in expected


def test_a_plain_message_in_the_place_of_a_second_hello(pull, files):
    client = asked_again(pull)
    client.say(b"\x14\0\0\x20" + bytes(32))
    assert client.end() == "unexpected_message"
    serves_an_honest_peer(*pull, files)


def with_ticket(pull):
    first = Client(pull[1]).shake_hands()
    secret = first.hear_ticket()
    assert EARLY_DATA not in first.ticket_fields, "a ticket that invites to 0-RTT"
    assert is_served(first, pull[0])
    first.close()
    return first, secret


def test_a_ticket_resumes(pull):
    first, secret = with_ticket(pull)
    client = Client(pull[1], Hello())
    client.greet(resuming(client.hello, first.ticket, secret, first.suite, first.age_add))
    assert outcome(client, pull) == SERVED and client.is_resumed


def test_a_ticket_with_a_wrong_proof(pull, files):
    first, secret = with_ticket(pull)
    client = Client(pull[1], Hello())
    octets = resuming(client.hello, first.ticket, secret, first.suite, first.age_add)
    client.greet(octets[:-1] + bytes([octets[-1] ^ 1]))
    assert client.end() in ("decrypt_error", "illegal_parameter")
    serves_an_honest_peer(*pull, files)


@pytest.mark.parametrize("change", ["modes", "ticket", "suites"])
def test_a_ticket_that_does_not_do_means_a_whole_handshake(pull, change):
    first, secret = with_ticket(pull)
    hello = Hello(suites=(0x1302,) if change == "suites" else (AES_128, 0x1302))
    ticket = first.ticket
    if change == "modes":
        hello.fields[PSK_MODES] = b"\1\0"
    if change == "ticket":
        ticket = ticket[:-1] + bytes([ticket[-1] ^ 1])
    client = Client(pull[1], hello)
    client.greet(resuming(client.hello, ticket, secret, first.suite, first.age_add))
    assert outcome(client, pull) == SERVED and not client.is_resumed


@pytest.mark.parametrize("resumes", [False, True])
def test_early_data_is_passed_over(pull, resumes):
    """With a ticket that is good, and with one that is not."""
    first, secret = with_ticket(pull)
    hello = Hello()
    hello.fields[EARLY_DATA] = b""
    ticket = first.ticket if resumes else bytes(len(first.ticket))
    client = Client(pull[1], hello)
    client.greet(resuming(hello, ticket, secret, first.suite, first.age_add))
    client.send(record(23, bytes(range(200))) * 3)
    assert outcome(client, pull) == SERVED and client.is_resumed == resumes
    assert EARLY_DATA not in client.agreed


def test_more_early_data_than_is_passed_over(pull, files):
    client = Client(pull[1])
    client.hello.fields[EARLY_DATA] = b""
    client.greet(resuming(client.hello, bytes(208), bytes(32), AES_128, 0))
    try:
        client.send(record(23, bytes(16_000)) * 20)
    except ConnectionError:
        pass
    assert client.end() in ("unexpected_message", "bad_record_mac", "closed")
    serves_an_honest_peer(*pull, files)


def test_garbage_that_is_no_early_data(pull, files):
    client = Client(pull[1])
    client.greet()
    client.hear_hello()
    client.hear_flight()
    client.send(record(23, bytes(200)))
    assert client.end() in ("bad_record_mac", "unexpected_message")
    serves_an_honest_peer(*pull, files)


def test_the_random_numbers_differ(pull):
    seen = set()
    for _ in range(20):
        client = Client(pull[1])
        client.greet()
        client.hear_hello()
        assert not client.random.startswith(b"DOWNGRD", 24)
        seen.add(client.random)
        client.close()
    assert len(seen) == 20


@pytest.mark.parametrize("until", ["connected", "half a hello", "hello", "answer", "flight"])
def test_a_client_that_goes_away(pull, files, until):
    for how in ("end", "reset"):
        client = Client(pull[1])
        if until == "half a hello":
            client.send(record(HANDSHAKE, client.hello.octets())[:100])
        elif until != "connected":
            client.greet()
        if until in ("answer", "flight"):
            client.hear_hello()
        if until == "flight":
            client.hear_flight()
        if how == "reset":
            client.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    serves_an_honest_peer(*pull, files)
