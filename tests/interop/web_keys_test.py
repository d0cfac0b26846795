"""PLAIN and CURVE inside WebSocket, with a peer of Python: the package websockets, and the boxes of libsodium.

The peer does what RFC 24, RFC 26 and RFC 45 say, and knows nothing of zlink. The conversations are those of web_test.py.
"""

import asyncio
import ctypes
import ctypes.util
import threading

import pytest

from bare_socket import DEALER, REP, ROUTER, zmq
from web_test import ROUTING_ID, Peer, Websockets, answer, ask, peer_answers, peer_asks, prepared, run

PLAIN_SERVER, PLAIN_USERNAME, PLAIN_PASSWORD = 44, 45, 46
CURVE_SERVER, CURVE_PUBLICKEY, CURVE_SECRETKEY, CURVE_SERVERKEY = 47, 48, 49, 50
ZAP_DOMAIN = 55
COMMAND = 2


def properties(kind):
    pairs = ((b"Socket-Type", kind), (b"Identity", ROUTING_ID))
    return b"".join(bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value for name, value in pairs)


def socket_type_in(data):
    behind = data.split(b"\x0bSocket-Type", 1)[1]
    return behind[4 : 4 + int.from_bytes(behind[:4], "big")]


class Commands(Peer):
    """The commands of a handshake, each a message of WebSocket."""

    async def say(self, name, data=b""):
        await self.line.send(bytes([COMMAND, len(name)]) + name + data)

    async def hear(self, name):
        octets = await self.line.receive()
        assert octets.startswith(bytes([COMMAND, len(name)]) + name), octets[:40]
        return octets[2 + len(name) :]


# ---- PLAIN ----

CREDENTIALS = b"\x03bob\x06secret"


class PlainClient(Commands):
    async def meet(self, kind, other):
        await self.say(b"HELLO", CREDENTIALS)
        assert await self.hear(b"WELCOME") == b""
        await self.say(b"INITIATE", properties(kind))
        assert socket_type_in(await self.hear(b"READY")) == other


class PlainServer(Commands):
    async def meet(self, kind, other):
        assert await self.hear(b"HELLO") == CREDENTIALS
        await self.say(b"WELCOME")
        assert socket_type_in(await self.hear(b"INITIATE")) == other
        await self.say(b"READY", properties(kind))


def let_bob_in(handler):
    version, request, _, _, _, mechanism, name, password = handler.receive_frames()
    good = (mechanism, name, password) == (b"PLAIN", b"bob", b"secret")
    handler.send(version, request, b"200" if good else b"400", b"", b"bob", b"")


# ---- CURVE ----


def octets_of(size):
    return ctypes.create_string_buffer(size)


class Sodium:
    """Boxes, by way of the library that everybody has."""

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("sodium"))
        self.library.sodium_init()

    def pair(self):
        public, secret = octets_of(32), octets_of(32)
        self.library.crypto_box_keypair(public, secret)
        return public.raw, secret.raw

    def random(self, size):
        out = octets_of(size)
        self.library.randombytes_buf(out, ctypes.c_size_t(size))
        return out.raw

    def agree(self, public, secret):
        out = octets_of(32)
        assert self.library.crypto_box_beforenm(out, public, secret) == 0
        return out.raw

    def seal(self, text, nonce, shared):
        out = octets_of(len(text) + 16)
        assert self.library.crypto_secretbox_easy(out, text, ctypes.c_ulonglong(len(text)), nonce, shared) == 0
        return out.raw

    def open(self, box, nonce, shared):
        out = octets_of(len(box) - 16)
        assert self.library.crypto_secretbox_open_easy(out, box, ctypes.c_ulonglong(len(box)), nonce, shared) == 0, "no box of theirs"
        return out.raw


sodium = Sodium()  # what crypto_box_beforenm makes of two keys is a key of crypto_secretbox


def number(value):
    return value.to_bytes(8, "big")


class Sealed:
    """A connection whose messages are boxes."""

    def __init__(self, line, shared, own_letter, their_letter):
        self.line, self.shared = line, shared
        self.own, self.theirs = b"CurveZMQMESSAGE" + own_letter, b"CurveZMQMESSAGE" + their_letter
        self.sent, self.received = 2, 0

    def box(self, octets):
        self.sent += 1
        return b"\x00\x07MESSAGE" + number(self.sent) + sodium.seal(octets, self.own + number(self.sent), self.shared)

    async def send(self, octets):
        await self.line.send(self.box(octets))

    async def send_in_fragments(self, pieces):
        whole = self.box(b"".join(pieces))
        await self.line.send_in_fragments([whole[:1], whole[1:20], whole[20:]])

    async def receive(self):
        octets = await self.line.receive()
        assert octets[:9] == b"\x00\x07MESSAGE"
        count = int.from_bytes(octets[9:17], "big")
        assert count > self.received
        self.received = count
        return sodium.open(octets[17:], self.theirs + octets[9:17], self.shared)

    async def ping(self):
        await self.line.ping()

    async def hear_pongs(self):
        await self.line.hear_pongs()


class CurveClient(Commands):
    """It knows the server's key, and has a pair of its own."""

    server_key = own = None

    async def meet(self, kind, other):
        public, secret = sodium.pair()
        to_server = sodium.agree(self.server_key, secret)
        await self.say(b"HELLO", b"\x01\x00" + bytes(72) + public + number(1) + sodium.seal(bytes(64), b"CurveZMQHELLO---" + number(1), to_server))
        welcome = await self.hear(b"WELCOME")
        assert len(welcome) == 160
        text = sodium.open(welcome[16:], b"WELCOME-" + welcome[:16], to_server)
        their_key, cookie = text[:32], text[32:]
        shared = sodium.agree(their_key, secret)
        drawn = sodium.random(16)
        vouch = drawn + sodium.seal(public + self.server_key, b"VOUCH---" + drawn, sodium.agree(their_key, self.own[1]))
        box = sodium.seal(self.own[0] + vouch + properties(kind), b"CurveZMQINITIATE" + number(2), shared)
        await self.say(b"INITIATE", cookie + number(2) + box)
        ready = await self.hear(b"READY")
        assert socket_type_in(sodium.open(ready[8:], b"CurveZMQREADY---" + ready[:8], shared)) == other
        self.line = Sealed(self.line, shared, b"C", b"S")


class CurveServer(Commands):
    """It has a pair of its own, and lets in whose key it knows."""

    own = client_key = None

    async def meet(self, kind, other):
        hello = await self.hear(b"HELLO")
        assert len(hello) == 194 and hello[:74] == b"\x01\x00" + bytes(72)
        their_key = hello[74:106]
        to_client = sodium.agree(their_key, self.own[1])
        assert sodium.open(hello[114:], b"CurveZMQHELLO---" + hello[106:114], to_client) == bytes(64)
        public, secret = sodium.pair()
        cookie, drawn = sodium.random(96), sodium.random(16)
        await self.say(b"WELCOME", drawn + sodium.seal(public + cookie, b"WELCOME-" + drawn, to_client))
        initiate = await self.hear(b"INITIATE")
        assert initiate[:96] == cookie
        shared = sodium.agree(their_key, secret)
        text = sodium.open(initiate[104:], b"CurveZMQINITIATE" + initiate[96:104], shared)
        assert text[:32] == self.client_key
        vouched = sodium.open(text[48:128], b"VOUCH---" + text[32:48], sodium.agree(text[:32], secret))
        assert vouched == their_key + self.own[0]
        assert socket_type_in(text[128:]) == other
        await self.say(b"READY", number(1) + sodium.seal(properties(kind), b"CurveZMQREADY---" + number(1), shared))
        self.line = Sealed(self.line, shared, b"S", b"C")


# ---- the conversations ----


class Plain:
    name, client, server = "ZWS2.0/PLAIN", PlainClient, PlainServer

    def make_server(self, socket):
        socket.set(PLAIN_SERVER, 1)
        socket.set(ZAP_DOMAIN, b"here")

    def make_client(self, socket):
        socket.set(PLAIN_USERNAME, b"bob")
        socket.set(PLAIN_PASSWORD, b"secret")


class Curve:
    name = "ZWS2.0/CURVE"

    def __init__(self):
        self.servers, self.clients = sodium.pair(), sodium.pair()
        self.client = type("KnowingClient", (CurveClient,), {"server_key": self.servers[0], "own": self.clients})
        self.server = type("KnowingServer", (CurveServer,), {"own": self.servers, "client_key": self.clients[0]})

    def make_server(self, socket):
        socket.set(CURVE_SERVER, 1)
        socket.set(CURVE_SECRETKEY, self.servers[1])

    def make_client(self, socket):
        socket.set(CURVE_SERVERKEY, self.servers[0])
        socket.set(CURVE_PUBLICKEY, self.clients[0])
        socket.set(CURVE_SECRETKEY, self.clients[1])


async def converse(peer, kinds, job, peer_job, socket):
    working = asyncio.create_task(asyncio.to_thread(job, socket))
    await peer.meet(*kinds)
    await peer_job(peer)
    await peer.line.ping()
    await peer.line.hear_pongs()
    await working


each_mechanism = pytest.mark.parametrize(
    "mechanism", (Plain, pytest.param(Curve, marks=pytest.mark.skipif(zmq.zmq_has(b"curve") != 1, reason="built without CURVE")))
)


@each_mechanism
def test_a_client_of_python_with_keys_is_served(context, mechanism):
    how = mechanism()
    handler = context(REP)
    if mechanism is Plain:
        handler.bind("inproc://zeromq.zap.01")
        judging = threading.Thread(target=let_bob_in, args=(handler,), daemon=True)
        judging.start()
    socket = prepared(context, ROUTER)
    how.make_server(socket)
    url = socket.bind("ws://127.0.0.1:*/here")

    async def conversation():
        async with Websockets.connected(url, how.name, None) as line:
            await converse(how.client(line, how.name), (b"DEALER", b"ROUTER"), answer, peer_asks, socket)

    run(conversation())
    if mechanism is Plain:
        judging.join()


@each_mechanism
def test_a_server_of_python_with_keys_is_spoken_to(context, mechanism):
    how = mechanism()
    socket = prepared(context, DEALER)
    how.make_client(socket)

    async def conversation():
        async with Websockets.listening(how.name, None) as (port, came):
            socket.connect(f"ws://localhost:{port}/here")
            await converse(how.server(await came.get(), how.name), (b"ROUTER", b"DEALER"), ask, peer_answers, socket)

    run(conversation())
