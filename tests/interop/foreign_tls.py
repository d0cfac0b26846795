"""TLS 1.3 message by message, on the ciphers and curves of tlslite-ng: a peer that says what a test makes it say, right or wrong.

Read: Keys protects records; Peer is one connection; Client and Server are the two ends of it.
"""

import hashlib
import os
import socket

from ecdsa.util import sigencode_der
from tlslite.keyexchange import ECDHKeyExchange, FFDHKeyExchange
from tlslite.utils.cipherfactory import createAESGCM, createCHACHA20
from tlslite.utils.cryptomath import HKDF_expand_label, secureHMAC

from bare_socket import PATIENCE

CCS, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
CLIENT_HELLO, SERVER_HELLO, NEW_TICKET, END_OF_EARLY_DATA, ENCRYPTED_EXTENSIONS = 1, 2, 4, 5, 8
CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, FINISHED, KEY_UPDATE = 11, 13, 15, 20, 24
SNI, GROUPS, SIGNATURES, TICKET_PSK, EARLY_DATA, VERSIONS, COOKIE, PSK_MODES = 0, 10, 13, 41, 42, 43, 44, 45
POST_HANDSHAKE_AUTH, KEY_SHARE = 49, 51
AES_128, AES_256, CHACHA = 0x1301, 0x1302, 0x1303
P256, P384, P521, X25519, X448, FFDHE2048, FFDHE3072 = 23, 24, 25, 29, 30, 256, 257
ECDSA_P256, PSS_SHA256, ED25519 = 0x0403, 0x0804, 0x0807
SIGNATURE_SCHEMES = (ECDSA_P256, PSS_SHA256, 0x0805, 0x0806, ED25519, 0x0808, 0x0503, 0x0603)
HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
MOST_IN_RECORD = 2**14

ALERTS = {
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure", 42: "bad_certificate",
    43: "unsupported_certificate", 46: "certificate_unknown", 47: "illegal_parameter", 48: "unknown_ca", 50: "decode_error", 51: "decrypt_error",
    70: "protocol_version", 80: "internal_error", 109: "missing_extension", 110: "unsupported_extension", 112: "unrecognized_name",
    116: "certificate_required", 120: "no_application_protocol",
}


def number(value, size=2):
    return value.to_bytes(size, "big")


def vector(octets, size=2):
    """A field of variable length, behind `size` octets that say how long it is."""
    return number(len(octets), size) + bytes(octets)


def numbers(values, size=2):
    return b"".join(number(each) for each in values) if size == 2 else bytes(values)


def message(kind, body):
    return bytes([kind]) + vector(body, 3)


def record(kind, body, version=0x0303):
    return bytes([kind]) + number(version) + vector(body)


def extensions(fields):
    return vector(b"".join(number(kind) + vector(body) for kind, body in fields))


class Ended(Exception):
    """The peer has sent an alert, or nothing more (closed)."""

    def __init__(self, how):
        super().__init__(how)
        self.how = how


class Exchange:
    """A key of ours in a group."""

    def __init__(self, group):
        self.group = group
        self.kind = (FFDHKeyExchange if group >= FFDHE2048 else ECDHKeyExchange)(group, (3, 4))
        self.private = self.kind.get_random_private_key()
        self.share = bytes(self.kind.calc_public_value(self.private))

    def shared(self, theirs):
        return bytes(self.kind.calc_shared_key(self.private, bytearray(theirs)))


class Keys:
    """One direction's, until they are renewed."""

    def __init__(self, secret, suite):
        self.secret, self.suite, self.count = secret, suite, 0
        size = 16 if suite == AES_128 else 32
        key = HKDF_expand_label(bytearray(secret), b"key", b"", size, self.hash)
        self.iv = HKDF_expand_label(bytearray(secret), b"iv", b"", 12, self.hash)
        self.cipher = createCHACHA20(key) if suite == CHACHA else createAESGCM(key)

    @property
    def hash(self):
        return "sha384" if self.suite == AES_256 else "sha256"

    def nonce(self):
        counted = int.from_bytes(self.iv, "big") ^ self.count
        self.count += 1
        return bytearray(counted.to_bytes(12, "big"))

    def seal(self, kind, body, padding=0):
        return self.seal_inner(bytes(body) + bytes([kind]) + bytes(padding))

    def seal_inner(self, inner):
        header = bytes([DATA, 3, 3]) + number(len(inner) + 16)
        return header + bytes(self.cipher.seal(self.nonce(), bytearray(inner), bytearray(header)))

    def open(self, header, body):
        inner = self.cipher.open(self.nonce(), bytearray(body), bytearray(header))
        assert inner is not None, "a record that this key does not open"
        inner = bytes(inner).rstrip(b"\0")
        return inner[-1], inner[:-1]

    def renewed(self):
        size = hashlib.new(self.hash).digest_size
        return Keys(bytes(HKDF_expand_label(bytearray(self.secret), b"traffic upd", b"", size, self.hash)), self.suite)


class Schedule:
    """RFC 8446 §7.1, a step at a time."""

    def __init__(self, suite, psk=None):
        self.hash = "sha384" if suite == AES_256 else "sha256"
        self.size = hashlib.new(self.hash).digest_size
        self.now = self.extract(bytes(self.size), psk or bytes(self.size))

    def digest(self, octets):
        return hashlib.new(self.hash, octets).digest()

    def extract(self, salt, secret):
        return bytes(secureHMAC(bytearray(salt), bytearray(secret), self.hash))

    def expand(self, secret, label, context):
        return bytes(HKDF_expand_label(bytearray(secret), label, bytearray(context), self.size, self.hash))

    def derive(self, label, transcript=b""):
        return self.expand(self.now, label, self.digest(transcript))

    def advance(self, secret=None):
        self.now = self.extract(self.derive(b"derived"), secret or bytes(self.size))

    def finished(self, secret, transcript):
        return self.extract(self.expand(secret, b"finished", b""), self.digest(transcript))


class Peer:
    def __init__(self, plain):
        self.plain = plain
        plain.settimeout(PATIENCE)
        self.transcript, self.heard = b"", b""  # what both have said in the handshake; what is no whole message yet
        self.reading = self.writing = self.schedule = None
        self.suite = None

    def send(self, octets):
        self.plain.sendall(octets)

    def protected(self, kind, body, padding=0):
        return self.writing.seal(kind, body, padding) if self.writing else record(kind, body)

    def say(self, *messages, pieces=MOST_IN_RECORD, counts=True):
        octets = b"".join(messages)
        if counts:
            self.transcript += octets
        self.send(b"".join(self.protected(HANDSHAKE, octets[i : i + pieces]) for i in range(0, len(octets), pieces)))

    def say_data(self, octets, padding=0):
        self.send(self.protected(DATA, octets, padding))

    def read_octets(self, count):
        octets = b""
        while len(octets) < count:
            try:
                more = self.plain.recv(count - len(octets))
            except ConnectionError:
                more = b""
            if not more:
                raise Ended("closed")
            octets += more
        return octets

    def read_record(self):
        """Its content type and content, without those of the compatibility mode."""
        while True:
            header = self.read_octets(5)
            kind, body = header[0], self.read_octets(int.from_bytes(header[3:], "big"))
            if kind == DATA and self.reading:
                kind, body = self.reading.open(header, body)
            if kind == ALERT:
                raise Ended(ALERTS.get(body[1], str(body[1])))
            if kind != CCS:
                return kind, body

    def read_message(self):
        while len(self.heard) < 4 or len(self.heard) < 4 + int.from_bytes(self.heard[1:4], "big"):
            kind, body = self.read_record()
            assert kind == HANDSHAKE, f"a record of type {kind} in the handshake"
            self.heard += body
        end = 4 + int.from_bytes(self.heard[1:4], "big")
        found, self.heard = self.heard[:end], self.heard[end:]
        return found

    def hear(self, *kinds):
        """The body of the next message, which counts for the transcript."""
        found = self.read_message()
        assert found[0] in kinds, f"message {found[0]} where {kinds} are due"
        self.transcript += found
        return found[4:]

    def read_data(self, count):
        octets = b""
        while len(octets) < count:
            kind, body = self.read_record()
            if kind == DATA:
                octets += body
        return octets

    def end(self):
        """How the conversation ends, whatever comes before."""
        try:
            while True:
                self.read_record()
        except Ended as ended:
            return ended.how

    def use_handshake_keys(self, shared, is_client):
        self.schedule.advance(shared)
        self.secrets = [self.schedule.derive(label + b" hs traffic", self.transcript) for label in (b"c", b"s")]
        self.writing, self.reading = [Keys(self.secrets[i], self.suite) for i in ((0, 1) if is_client else (1, 0))]

    def data_keys(self, is_client):
        """Of writing and reading."""
        self.schedule.advance()
        made = [Keys(self.schedule.derive(label + b" ap traffic", self.transcript), self.suite) for label in (b"c", b"s")]
        return made if is_client else made[::-1]

    def close(self):
        self.plain.close()


class Hello:
    """A ClientHello that is right until it is changed."""

    def __init__(self, group=X25519, suites=(AES_128, AES_256, CHACHA), psk_modes=True):
        self.exchange = Exchange(group)
        self.version, self.random, self.session, self.suites, self.compression = 0x0303, os.urandom(32), os.urandom(32), numbers(suites), b"\0"
        self.psk = None
        self.fields = {
            VERSIONS: vector(b"\x03\x04", 1),
            GROUPS: vector(numbers([group])),
            SIGNATURES: vector(numbers(SIGNATURE_SCHEMES)),
            KEY_SHARE: vector(number(group) + vector(self.exchange.share)),
        }
        if psk_modes:
            self.fields[PSK_MODES] = b"\x01\x01"

    def offer(self, shares, groups=None):
        """Shares of other groups, as they are given."""
        self.fields[KEY_SHARE] = vector(b"".join(number(group) + vector(share) for group, share in shares))
        self.fields[GROUPS] = vector(numbers(groups or [group for group, _ in shares]))

    def octets(self, listed=None):
        body = number(self.version) + self.random + vector(self.session, 1) + vector(self.suites) + vector(self.compression, 1)
        return message(CLIENT_HELLO, body + extensions(listed if listed is not None else self.fields.items()))


class Client(Peer):
    def __init__(self, port, hello=None):
        super().__init__(socket.create_connection(("127.0.0.1", port), PATIENCE))
        self.hello = hello or Hello()
        self.ticket = self.retry = self.shared = None

    def greet(self, octets=None, **how):
        self.say(octets or self.hello.octets(), **how)

    def hear_hello(self):
        """Takes the server's key; after a HelloRetryRequest there is none yet, but the group that it asks for."""
        body = self.hear(SERVER_HELLO)
        self.random, at = body[2:34], 35 + body[34]
        assert body[35:at] == self.hello.session
        self.suite, fields = int.from_bytes(body[at : at + 2], "big"), parsed(body[at + 3 :])
        assert fields[VERSIONS] == b"\x03\x04"
        self.is_resumed = TICKET_PSK in fields
        self.schedule = Schedule(self.suite, self.hello.psk if self.is_resumed else None)
        if self.random == HELLO_RETRY:
            first = self.schedule.digest(self.transcript[: -len(message(SERVER_HELLO, body))])
            self.transcript = message(254, first) + message(SERVER_HELLO, body)
            self.retry = int.from_bytes(fields[KEY_SHARE], "big")
            return
        self.shared = self.hello.exchange.shared(fields[KEY_SHARE][4:])
        self.use_handshake_keys(self.shared, True)

    def hear_flight(self):
        """Up to the server's Finished, whose keys count from there on."""
        self.agreed = parsed(self.hear(ENCRYPTED_EXTENSIONS))
        self.asked = None
        if not self.is_resumed:
            body = self.hear(CERTIFICATE, CERTIFICATE_REQUEST)
            if body[0] == 0 and body[1:3] != b"\0\0" and 3 + int.from_bytes(body[1:3], "big") == len(body):
                self.asked, body = parsed(body[1:]), self.hear(CERTIFICATE)
            self.certificate = body[7 : 7 + int.from_bytes(body[4:7], "big")]
            self.signed = b" " * 64 + b"TLS 1.3, server CertificateVerify\0" + self.schedule.digest(self.transcript)
            self.verify = self.hear(CERTIFICATE_VERIFY)
        proof = self.schedule.finished(self.secrets[1], self.transcript)
        assert self.hear(FINISHED) == proof
        self.next_writing, self.reading = self.data_keys(True)

    def proof(self):
        """Our Finished."""
        return message(FINISHED, self.schedule.finished(self.secrets[0], self.transcript))

    def use_data_keys(self):
        self.writing = self.next_writing
        self.resumption = self.schedule.derive(b"res master", self.transcript)

    def hear_all(self):
        self.greet()
        self.hear_hello()
        self.hear_flight()

    def shake_hands(self):
        self.hear_all()
        self.finish()
        return self

    def finish(self, **how):
        self.say(self.proof(), **how)
        self.use_data_keys()

    def hear_ticket(self):
        """What the next connection needs: the secret, and what to offer."""
        body = self.read_message()
        assert body[0] == NEW_TICKET
        body, nonce_end = body[4:], 13 + body[12]
        nonce, at = body[9:nonce_end - 4], nonce_end - 4
        size = int.from_bytes(body[at : at + 2], "big")
        self.ticket = body[at + 2 : at + 2 + size]
        self.ticket_fields = parsed(body[at + 2 + size :])
        self.age_add = int.from_bytes(body[4:8], "big")
        return self.schedule.expand(self.resumption, b"resumption", nonce)


def parsed(octets):
    """Extensions behind their length."""
    fields, at, end = {}, 2, 2 + int.from_bytes(octets[:2], "big")
    assert end == len(octets)
    while at < end:
        size = int.from_bytes(octets[at + 2 : at + 4], "big")
        fields[int.from_bytes(octets[at : at + 2], "big")] = octets[at + 4 : at + 4 + size]
        at += 4 + size
    return fields


def resuming(hello, ticket, psk, suite, age_add):
    """A ClientHello that offers a ticket, with the proof that the secret is known."""
    schedule = Schedule(suite, psk)
    hello.psk = psk
    identity = vector(vector(ticket) + number(age_add, 4))
    hello.fields.pop(TICKET_PSK, None)
    hello.fields[TICKET_PSK] = identity + vector(vector(bytes(schedule.size), 1))
    octets = hello.octets()
    binders = 3 + schedule.size
    proof = schedule.finished(schedule.derive(b"res binder"), octets[:-binders])
    return octets[:-schedule.size] + proof


class Server(Peer):
    """Over a connection that was accepted."""

    def __init__(self, plain, files, signing_key=None):
        super().__init__(plain)
        self.files, self.signing_key = files, signing_key
        self.suite, self.schedule = AES_128, Schedule(AES_128)

    def hear_hello(self):
        body = self.hear(CLIENT_HELLO)
        self.session = body[35 : 35 + body[34]]
        at = 35 + body[34]
        self.suites = body[at + 2 : at + 2 + int.from_bytes(body[at : at + 2], "big")]
        self.fields = parsed(body[at + 2 + len(self.suites) + 2 :])
        shares, self.shares, at = self.fields[KEY_SHARE], {}, 2
        while at < len(shares):
            size = int.from_bytes(shares[at + 2 : at + 4], "big")
            self.shares[int.from_bytes(shares[at : at + 2], "big")] = shares[at + 4 : at + 4 + size]
            at += 4 + size

    def server_hello(self, fields, random=None, suite=None, session=None, version=0x0303, compression=b"\0"):
        """A ServerHello of these extensions."""
        return message(SERVER_HELLO, number(version) + (random or os.urandom(32)) + vector(self.session if session is None else session, 1)
                       + number(suite or self.suite) + compression + extensions(fields))

    def ask_again(self, group, cookie=None):
        """A HelloRetryRequest."""
        self.transcript = message(254, self.schedule.digest(self.transcript))
        fields = [(VERSIONS, b"\x03\x04")] + ([(KEY_SHARE, number(group))] if group else []) + ([(COOKIE, vector(cookie))] if cookie else [])
        self.say(self.server_hello(fields, random=HELLO_RETRY))

    def say_hello(self, group=None, **changes):
        """The right one, up to the handshake's keys."""
        group = group or next(iter(self.shares))
        exchange = Exchange(group)
        self.say(self.server_hello([(VERSIONS, b"\x03\x04"), (KEY_SHARE, number(group) + vector(exchange.share))], **changes))
        self.use_handshake_keys(exchange.shared(self.shares[group]), False)

    def certificate(self, entries=None):
        """A Certificate of DER, or of anything else."""
        if entries is None:
            entries = [pem_octets((self.files / "server.pem").read_text())]
        return message(CERTIFICATE, b"\0" + vector(b"".join(vector(each, 3) + b"\0\0" for each in entries), 3))

    def certificate_verify(self, scheme=ECDSA_P256, signed=None):
        signed = signed or b" " * 64 + b"TLS 1.3, server CertificateVerify\0" + self.schedule.digest(self.transcript)
        return message(CERTIFICATE_VERIFY, number(scheme) + vector(self.signing_key.sign(signed, hashfunc=hashlib.sha256, sigencode=sigencode_der)))

    def proof(self):
        return message(FINISHED, self.schedule.finished(self.secrets[1], self.transcript))

    def say_flight(self):
        self.say(message(ENCRYPTED_EXTENSIONS, b"\0\0"))
        self.say(self.certificate())
        self.say(self.certificate_verify())
        self.say(self.proof())

    def hear_finished(self):
        writing, reading = self.data_keys(False)
        proof = self.schedule.finished(self.secrets[0], self.transcript)
        assert self.hear(FINISHED) == proof
        self.writing, self.reading = writing, reading

    def shake_hands(self):
        self.hear_hello()
        self.say_hello()
        self.say_flight()
        self.hear_finished()
        return self


def pem_octets(text):
    import base64
    begin = text.index("-----\n") + 6
    return base64.b64decode(text[begin : text.index("-----END", begin)])
