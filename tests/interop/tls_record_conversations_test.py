"""Records and messages behind the ClientHello that OpenSSL never sends, at a server of zlink: what RFC 8446 demands of it, and that it serves
the next client.

ZLINK_LIBRARY_DIR says where the library is.
"""

import hashlib
import subprocess

import pytest

pytest.importorskip("tlslite", reason="tlslite-ng is not there: make deps")

from tlslite.x509 import X509

from bare_socket import zmq
from foreign_tls import (
    AES_128, AES_256, ALERT, CCS, CERTIFICATE, CERTIFICATE_REQUEST, CHACHA, CLIENT_HELLO, DATA, END_OF_EARLY_DATA, FFDHE2048, FFDHE3072,
    FINISHED, HANDSHAKE, KEY_UPDATE, P256, P384, P521, SIGNATURES, X448, X25519, Client, Hello, message, numbers, record, vector)
from served import is_served, serves_an_honest_peer, server
from zmtp_octets import greeting, ready

pytestmark = pytest.mark.skipif(zmq.zmq_has(b"tls") != 1, reason="built without TLS")


@pytest.fixture(scope="module")
def pull(files, module_context):
    return server(module_context, files)


@pytest.mark.parametrize("suite", [AES_128, AES_256, CHACHA], ids=hex)
@pytest.mark.parametrize("group", [X25519, P256, P384, P521, X448, FFDHE2048, FFDHE3072])
def test_ciphers_and_groups(pull, suite, group):
    client = Client(pull[1], Hello(group, (suite,))).shake_hands()
    assert client.suite == suite and client.hear_ticket() and is_served(client, pull[0])


def test_a_shared_secret_that_begins_with_zero(pull):
    for _ in range(4000):
        client = Client(pull[1], Hello(P256))
        client.greet()
        client.hear_hello()
        if client.shared[0] == 0:
            client.hear_flight()
            client.finish()
            assert is_served(client, pull[0])
            return
        client.close()
    pytest.fail("4000 secrets of P-256, and none begins with zero")


# ---- before the client's Finished ----


def plain(kind, body):
    return lambda client: client.send(record(kind, body))


def sealed(kind, body):
    return lambda client: client.send(client.protected(kind, body))


def sealed_inner(inner):
    return lambda client: client.send(client.writing.seal_inner(inner))


def say(*messages):
    return lambda client: client.say(*messages, counts=False)


def spoilt(octets, at):
    return octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]


def damaged(client):
    octets = client.protected(HANDSHAKE, client.proof())
    client.send(spoilt(octets, len(octets) - 1))


def finished_and(more):
    return lambda client: client.say(client.proof() + more, counts=False)


BEFORE_FINISHED = [
    ("Finished that is wrong", "decrypt_error", lambda client: say(spoilt(client.proof(), 10))(client)),
    ("Finished too short", {"decode_error", "decrypt_error"}, lambda client: say(message(FINISHED, client.proof()[4:-1]))(client)),
    ("Finished too long", {"decode_error", "decrypt_error"}, lambda client: say(message(FINISHED, client.proof()[4:] + b"\0"))(client)),
    ("Finished empty", {"decode_error", "decrypt_error"}, say(message(FINISHED, b""))),
    ("Finished not encrypted", {"unexpected_message", "bad_record_mac"}, lambda client: plain(HANDSHAKE, client.proof())(client)),
    ("Finished damaged", "bad_record_mac", damaged),
    ("Finished with a message in its record", "unexpected_message", finished_and(message(KEY_UPDATE, b"\0"))),
    ("data before Finished", "unexpected_message", sealed(DATA, b"early")),
    ("new keys before Finished", "unexpected_message", say(message(KEY_UPDATE, b"\0"))),
    ("new keys not encrypted", {"unexpected_message", "bad_record_mac"}, plain(HANDSHAKE, message(KEY_UPDATE, b"\0"))),
    ("a certificate unasked", "unexpected_message", say(message(CERTIFICATE, b"\0\0\0\0"))),
    ("the end of early data unasked", "unexpected_message", say(message(END_OF_EARLY_DATA, b""))),
    ("another ClientHello", "unexpected_message", say(message(CLIENT_HELLO, bytes(40)))),
    ("an alert not encrypted", {"unexpected_message", "bad_record_mac", "closed"}, plain(ALERT, b"\2\x28")),
    ("a fatal alert", "closed", sealed(ALERT, b"\2\x28")),
    ("the end said", {"close_notify", "closed", "unexpected_message"}, sealed(ALERT, b"\1\0")),
    ("half an alert", {"decode_error", "unexpected_message"}, sealed(ALERT, b"\2")),
    ("an empty alert", {"decode_error", "unexpected_message"}, sealed(ALERT, b"")),
    ("an empty piece of a handshake", {"unexpected_message", "decode_error"}, sealed(HANDSHAKE, b"")),
    ("a message of a type unknown", "unexpected_message", say(message(99, b""))),
    ("a message longer than any", {"illegal_parameter", "decode_error", "unexpected_message"}, say(b"\x14\xff\xff\xff")),
    # OpenSSL says illegal_parameter where §5 has unexpected_message.
    ("a change of ciphers of 2", {"unexpected_message", "illegal_parameter"}, plain(CCS, b"\2")),
    ("a change of ciphers of two octets", {"unexpected_message", "illegal_parameter"}, plain(CCS, b"\1\1")),
    ("an empty change of ciphers", {"unexpected_message", "illegal_parameter"}, plain(CCS, b"")),
    ("an encrypted change of ciphers", "unexpected_message", sealed(CCS, b"\1")),
    ("a record without a content type", "unexpected_message", sealed_inner(bytes(20))),
    ("a record without anything", {"unexpected_message", "bad_record_mac", "decode_error"}, sealed_inner(b"")),
    ("a record of type 0 outside", {"unexpected_message", "bad_record_mac", "decode_error"}, plain(0, bytes(40))),
    ("a heartbeat inside", "unexpected_message", sealed(24, b"\1\0\1a")),
    ("a record shorter than a tag", {"bad_record_mac", "decode_error"}, plain(DATA, bytes(15))),
    ("a record longer than any", "record_overflow", plain(DATA, bytes(2**14 + 257))),
]


@pytest.mark.parametrize("expected, does", [each[1:] for each in BEFORE_FINISHED], ids=[each[0] for each in BEFORE_FINISHED])
def test_instead_of_finished(pull, files, expected, does):
    client = Client(pull[1])
    client.hear_all()
    does(client)
    how = client.end()
    serves_an_honest_peer(*pull, files)
    assert how in ({expected} if isinstance(expected, str) else expected)


@pytest.mark.parametrize("count", [1, 2, 16])
def test_changes_of_ciphers_are_passed_over(pull, files, count):
    client = Client(pull[1])
    client.hear_all()
    for _ in range(count):
        client.send(record(CCS, b"\1"))
    client.finish()
    assert is_served(client, pull[0])


@pytest.mark.parametrize("pieces", [1, 3, 35])
def test_finished_in_pieces(pull, pieces):
    client = Client(pull[1])
    client.hear_all()
    client.finish(pieces=pieces)
    assert is_served(client, pull[0])


# ---- with the connection there ----


def cut_by_data(client):
    client.say(b"\x18\0", counts=False)
    client.say_data(b"between")


def with_old_key(client):
    """What comes behind the announcement of new keys has still the old one."""
    client.say(message(KEY_UPDATE, b"\0"), counts=False)
    client.say_data(b"old")


def spoilt_data(at):
    return lambda client: client.send(spoilt(client.protected(DATA, bytes(40)), at))


def new_keys_for_ever(client):
    try:
        for _ in range(100_000):
            client.say(message(KEY_UPDATE, b"\0"), counts=False)
            client.writing = client.writing.renewed()
    except ConnectionError:
        return


def nothing_for_ever(client):
    try:
        for _ in range(100_000):
            client.say_data(b"")
    except ConnectionError:
        return


LATER = [
    ("new keys with an unknown demand", "illegal_parameter", say(message(KEY_UPDATE, b"\2"))),
    ("new keys without a demand", "decode_error", say(message(KEY_UPDATE, b""))),
    ("new keys and more", {"decode_error", "illegal_parameter"}, say(message(KEY_UPDATE, b"\0\0"))),
    ("new keys twice in a record", "unexpected_message", say(message(KEY_UPDATE, b"\0") * 2)),
    ("new keys cut by data", "unexpected_message", cut_by_data),
    ("data with an old key", "bad_record_mac", with_old_key),
    ("new keys for ever", {"closed", "unexpected_message"}, new_keys_for_ever),
    ("nothing for ever", {"closed", "unexpected_message"}, nothing_for_ever),
    ("a certificate unasked", "unexpected_message", say(message(CERTIFICATE, b"\0\0\0\0"))),
    ("a demand for a certificate", "unexpected_message", say(message(CERTIFICATE_REQUEST, b"\0" + vector(b"\0\x0d\0\4\0\2\4\3")))),
    ("Finished once more", "unexpected_message", say(message(FINISHED, bytes(32)))),
    ("another ClientHello", {"unexpected_message"}, lambda client: client.say(Hello().octets(), counts=False)),
    ("a demand for renegotiation", "unexpected_message", say(message(0, b""))),
    ("a ticket from a client", "unexpected_message", say(message(4, bytes(20)))),
    ("a message of a type unknown", "unexpected_message", say(message(99, b""))),
    ("a change of ciphers", {"unexpected_message"}, plain(CCS, b"\1")),
    ("an alert not encrypted", {"unexpected_message", "bad_record_mac", "closed"}, plain(ALERT, b"\2\x28")),
    ("a fatal alert", "closed", sealed(ALERT, b"\2\x28")),
    ("data not encrypted", {"bad_record_mac", "unexpected_message"}, plain(DATA, bytes(40))),
    ("a damaged tag", "bad_record_mac", spoilt_data(5 + 40 + 1 + 15)),
    ("damaged data", "bad_record_mac", spoilt_data(5)),
    ("a damaged length", {"bad_record_mac", "record_overflow"}, lambda client: client.send(
        b"\x17\3\3\0\x30" + client.protected(DATA, bytes(40))[5:][:48])),
    ("a record of another version", {"bad_record_mac", "protocol_version", "decode_error", "unexpected_message"}, spoilt_data(2)),
    ("a record without a content type", "unexpected_message", sealed_inner(bytes(20))),
    ("an empty piece of a handshake", {"unexpected_message", "decode_error"}, sealed(HANDSHAKE, b"")),
    ("one octet too many", "record_overflow", sealed(DATA, bytes(2**14 + 1))),
    ("padding too long", "record_overflow", sealed_inner(b"a\x17" + bytes(2**14 + 239))),
    ("a record longer than any", "record_overflow", plain(DATA, bytes(2**14 + 257))),
]


@pytest.mark.parametrize("expected, does", [each[1:] for each in LATER], ids=[each[0] for each in LATER])
def test_later(pull, files, expected, does):
    client = Client(pull[1]).shake_hands()
    client.hear_ticket()
    does(client)
    how = client.end()
    serves_an_honest_peer(*pull, files)
    assert how in ({expected} if isinstance(expected, str) else expected)


@pytest.mark.parametrize("suite", [AES_128, AES_256, CHACHA], ids=hex)
@pytest.mark.parametrize("padding", [0, 1, 255, 8000])
def test_padding(pull, suite, padding):
    client = Client(pull[1], Hello(suites=(suite,))).shake_hands()
    client.hear_ticket()
    assert is_served(client, pull[0], padding=padding)


def test_a_record_as_long_as_may_be(pull):
    client = Client(pull[1]).shake_hands()
    client.hear_ticket()
    body = bytes(2**14)
    frames = greeting() + ready(b"PUSH") + b"\2" + (2 * len(body)).to_bytes(8, "big")
    client.say_data(frames)
    client.send(client.protected(DATA, body))
    client.say_data(body[:-1], padding=1)
    client.say_data(b"!")
    assert pull[0].receive()[0] == body + body[:-1] + b"!"


def test_empty_records_between(pull):
    client = Client(pull[1]).shake_hands()
    client.hear_ticket()
    for _ in range(8):
        client.say_data(b"")
        client.say_data(b"", padding=100)
    assert is_served(client, pull[0])


@pytest.mark.parametrize("demands", [0, 1])
@pytest.mark.parametrize("pieces", [1, 5])
def test_new_keys(pull, demands, pieces):
    client = Client(pull[1]).shake_hands()
    client.hear_ticket()
    for _ in range(3):
        client.say(message(KEY_UPDATE, bytes([demands])), pieces=pieces, counts=False)
        client.writing = client.writing.renewed()
    if not demands:
        assert is_served(client, pull[0])
        return
    # The server's greeting may stand before the first answer.
    while True:
        kind, body = client.read_record()
        if kind == HANDSHAKE:
            break
    assert body == message(KEY_UPDATE, b"\0")
    client.reading = client.reading.renewed()


def test_one_ticket_comes(pull):
    client = Client(pull[1]).shake_hands()
    assert client.hear_ticket() and client.read_record()[0] == DATA


# ---- certificates of other kinds ----


@pytest.fixture(scope="module")
def of_kind(tmp_path_factory, module_context):
    directory, made = tmp_path_factory.mktemp("kinds"), {}

    def find(*kind):
        if kind not in made:
            name = "-".join(each.replace(":", "_") for each in kind)
            subprocess.run(["openssl", "req", "-x509", "-nodes", "-newkey", *kind, "-subj", "/CN=kind", "-keyout", directory / f"{name}.key",
                            "-out", directory / f"{name}.pem"], check=True, capture_output=True)
            made[kind] = server(module_context, directory, name)
        return made[kind]

    return find


KINDS = [
    (("rsa:2048",), [(0x0804, "sha256"), (0x0805, "sha384"), (0x0806, "sha512")]),
    (("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), [(0x0403, "sha256")]),
    (("ec", "-pkeyopt", "ec_paramgen_curve:P-384"), [(0x0503, "sha384")]),
    (("ec", "-pkeyopt", "ec_paramgen_curve:P-521"), [(0x0603, "sha512")]),
    (("ed25519",), [(0x0807, None)]),
    (("ed448",), [(0x0808, None)]),
]


@pytest.mark.parametrize("kind, scheme, digest", [(kind, *each) for kind, schemes in KINDS for each in schemes],
                         ids=[f"{each[0]:04x}" for _, schemes in KINDS for each in schemes])
def test_a_server_signs_with_the_scheme_that_is_left(of_kind, kind, scheme, digest):
    pull, port = of_kind(*kind)
    client = Client(port)
    client.hello.fields[SIGNATURES] = vector(numbers([scheme]))
    client.shake_hands()
    assert client.verify[:2] == scheme.to_bytes(2, "big")
    certificate = X509()
    certificate.parseBinary(bytearray(client.certificate))
    key, signature = certificate.publicKey, bytearray(client.verify[4:])
    if digest is None:
        assert key.hashAndVerify(signature, bytearray(client.signed))
    else:
        hashed = bytearray(hashlib.new(digest, client.signed).digest())
        how = ("pss", digest, len(hashed)) if scheme >> 8 == 8 else ()
        assert key.verify(signature, hashed, *how)
    client.hear_ticket()
    assert is_served(client, pull)


@pytest.mark.parametrize("scheme", [0x0401, 0x0201, 0x0403], ids=hex)
def test_a_server_with_rsa_does_not_sign_otherwise(of_kind, scheme):
    client = Client(of_kind("rsa:2048")[1])
    client.hello.fields[SIGNATURES] = vector(numbers([scheme]))
    client.greet()
    assert client.end() == "handshake_failure"
