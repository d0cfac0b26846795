"""ws:// and wss:// against the WebSocket of two Python packages, websockets and aiohttp, as clients and as servers.

Each conversation carries the same messages, of sizes on both sides of every form of a length, some in fragments where the package sends them,
with Pings in between. ZLINK_LIBRARY_DIR says where the library is.
"""

import asyncio
import contextlib
import itertools
import random
import ssl

import aiohttp
import aiohttp.web
import pytest
import websockets.legacy.client
import websockets.legacy.server

from bare_socket import DEALER, HEARTBEAT_IVL, HEARTBEAT_TIMEOUT, PATIENCE, ROUTER, SNDHWM, TLS_CA, TLS_CERT, TLS_KEY, XPUB, XSUB, zmq

COUNT = 10_000
EDGES = (0, 1, 123, 124, 125, 126, 127, 254, 255, 256, 65533, 65534, 65535, 65536, 70_000)
PINGS_EVERY = 50
FRAGMENTS_EVERY = 20
AHEAD = 100
ROUTING_ID = b"python"


def make_messages():
    chance = random.Random(45)
    noise = chance.randbytes(80_000)

    def body():
        size = chance.choices((chance.randrange(300), chance.randrange(5000), chance.choice(EDGES), chance.randrange(70_001)), (790, 185, 20, 5))[0]
        start = chance.randrange(len(noise) - size)
        return noise[start : start + size]

    return [[body() for _ in range(chance.choice((1, 1, 1, 2, 3)))] for _ in range(COUNT)]


MESSAGES = make_messages()


class Client(websockets.legacy.client.WebSocketClientProtocol):
    """The package takes no sub-protocol with a stroke in its name."""

    @staticmethod
    def process_subprotocol(headers, available_subprotocols):
        return headers["Sec-WebSocket-Protocol"]


class Server(websockets.legacy.server.WebSocketServerProtocol):
    def process_subprotocol(self, headers, available_subprotocols):
        offered = [each.strip() for each in headers["Sec-WebSocket-Protocol"].split(",")]
        return next(each for each in self.spoken if each in offered)


class Websockets:
    """A connection of the package websockets. It answers Pings by itself, and sends fragments."""

    def __init__(self, connection):
        self.connection = connection
        self.pongs = []

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, url, protocol, trust):
        async with websockets.legacy.client.connect(
            url, extra_headers={"Sec-WebSocket-Protocol": protocol}, ssl=trust, max_size=None, create_protocol=Client
        ) as connection:
            assert connection.subprotocol == protocol
            yield cls(connection)
            await connection.close()
            assert connection.close_code == 1000

    @staticmethod
    def speaking(protocol):
        """Which sub-protocol a server takes."""
        return {"create_protocol": type("Speaking", (Server,), {"spoken": [protocol]})}

    @classmethod
    @contextlib.asynccontextmanager
    async def listening(cls, protocol, shown):
        """The port, and a queue of connections."""
        came, done = asyncio.Queue(), asyncio.Event()

        async def serve(connection):
            await came.put(cls(connection))
            await done.wait()

        async with websockets.legacy.server.serve(serve, "127.0.0.1", 0, ssl=shown, max_size=None, **cls.speaking(protocol)) as server:
            yield server.sockets[0].getsockname()[1], came
            done.set()

    async def send(self, octets):
        await self.connection.send(octets)

    async def send_in_fragments(self, pieces):
        async def with_pings():
            for piece in pieces:
                yield piece
                await self.ping()

        await self.connection.send(with_pings())

    async def ping(self):
        self.pongs.append(await self.connection.ping())

    async def receive(self):
        return await self.connection.recv()

    async def hear_pongs(self):
        await asyncio.gather(*self.pongs)


class StrictWebsockets(Websockets):
    """As the package comes: its server refuses a request that offers a name with a stroke."""

    @staticmethod
    def speaking(protocol):
        return {"subprotocols": [protocol]}


class Aiohttp:
    """A connection of the package aiohttp, which offers compression and sends no fragments."""

    def __init__(self, connection):
        self.connection = connection
        self.pings = self.answered = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, url, protocol, trust):
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(url, protocols=[protocol], ssl=trust, max_msg_size=0, autoping=False, compress=15) as connection:
                assert connection.protocol == protocol
                yield cls(connection)
                await connection.close()
                assert connection.close_code == 1000

    @classmethod
    @contextlib.asynccontextmanager
    async def listening(cls, protocol, shown):
        came, done = asyncio.Queue(), asyncio.Event()

        async def serve(request):
            connection = aiohttp.web.WebSocketResponse(protocols=[protocol], max_msg_size=0, autoping=False)
            await connection.prepare(request)
            await came.put(cls(connection))
            await done.wait()
            return connection

        application = aiohttp.web.Application()
        application.router.add_get("/here", serve)
        runner = aiohttp.web.AppRunner(application)
        await runner.setup()
        site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0, ssl_context=shown)
        await site.start()
        yield runner.addresses[0][1], came
        done.set()
        await runner.cleanup()

    async def send(self, octets):
        await self.connection.send_bytes(octets)

    async def send_in_fragments(self, pieces):
        await self.send(b"".join(pieces))

    async def ping(self):
        self.pings += 1
        await self.connection.ping(b"%d" % self.pings)

    async def take(self):
        """The next binary message, or None where something else came."""
        message = await self.connection.receive()
        if message.type == aiohttp.WSMsgType.BINARY:
            return message.data
        if message.type == aiohttp.WSMsgType.PING:
            await self.connection.pong(message.data)
        else:
            assert message.type == aiohttp.WSMsgType.PONG, message
            assert self.answered < int(message.data) <= self.pings
            self.answered = int(message.data)
        return None

    async def receive(self):
        while True:
            octets = await self.take()
            if octets is not None:
                return octets

    async def hear_pongs(self):
        while self.answered < self.pings:
            assert await self.take() is None


class Peer:
    """ZWS 2.0 on a connection of either package."""

    def __init__(self, line, protocol):
        self.line = line
        self.protocol = protocol
        self.sent = 0
        self.chance = random.Random(6455)

    async def meet(self, kind, other):
        if self.protocol == "ZWS2.0":
            await self.line.send(b"\x00" + ROUTING_ID)
            assert await self.line.receive() == b"\x00"
            return
        properties = ((b"Socket-Type", kind), (b"Identity", ROUTING_ID))
        data = b"".join(bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value for name, value in properties)
        await self.line.send(b"\x02\x05READY" + data)
        ready = await self.line.receive()
        assert ready.startswith(b"\x02\x05READY\x0bSocket-Type" + len(other).to_bytes(4, "big") + other)

    async def send(self, frames):
        for i, body in enumerate(frames):
            octets = (b"\x01" if i + 1 < len(frames) else b"\x00") + body
            if self.sent % FRAGMENTS_EVERY == 0:
                cuts = sorted({0, 1, len(octets), *(self.chance.randrange(len(octets) + 1) for _ in range(3))})
                await self.line.send_in_fragments([octets[a:b] for a, b in itertools.pairwise(cuts)])
            else:
                await self.line.send(octets)
            self.sent += 1
            if self.sent % PINGS_EVERY == 0:
                await self.line.ping()

    async def receive(self):
        frames = []
        while True:
            octets = await self.line.receive()
            assert octets[0] in (0, 1)
            frames.append(octets[1:])
            if octets[0] == 0:
                return frames


# What zlink does, each on a thread.


def publish(xpub):
    """Answers a subscription with all messages, and with others that are not asked for; then hears it taken back."""
    assert xpub.receive_frames() == [b"\x01feed"]
    for frames in MESSAGES:
        xpub.send(b"feed", *frames)
        if len(frames) == 3:
            xpub.send(b"food", *frames)
    assert xpub.receive_frames() == [b"\x00feed"]


def subscribe(xsub):
    xsub.send(b"\x01feed")
    for frames in MESSAGES:
        assert xsub.receive_frames() == [b"feed", *frames]
    xsub.send(b"\x00feed")


def answer(router):
    for _ in MESSAGES:
        frames = router.receive_frames()
        assert frames[0] == ROUTING_ID
        router.send(*frames)


def ask(dealer):
    """Never more under way than fits, since one thread both sends and receives."""
    for frames in MESSAGES[:AHEAD]:
        dealer.send(*frames)
    for i, frames in enumerate(MESSAGES):
        assert dealer.receive_frames() == frames
        if i + AHEAD < COUNT:
            dealer.send(*MESSAGES[i + AHEAD])


# What the peer does.


async def peer_subscribes(peer):
    await peer.send([b"\x01feed"])
    for frames in MESSAGES:
        assert await peer.receive() == [b"feed", *frames]
    await peer.send([b"\x00feed"])


async def peer_publishes(peer):
    assert await peer.receive() == [b"\x01feed"]
    for frames in MESSAGES:
        await peer.send([b"feed", *frames])
    assert await peer.receive() == [b"\x00feed"]


async def peer_asks(peer):
    async def send_all():
        for frames in MESSAGES:
            await peer.send(frames)

    sending = asyncio.create_task(send_all())
    for frames in MESSAGES:
        assert await peer.receive() == frames
    await sending


async def peer_answers(peer):
    for _ in MESSAGES:
        await peer.send(await peer.receive())


async def converse(line, protocol, kinds, job, peer_job, socket):
    peer = Peer(line, protocol)
    working = asyncio.create_task(asyncio.to_thread(job, socket))
    await peer.meet(*kinds)
    await peer_job(peer)
    await line.ping()
    await line.hear_pongs()
    await working


def run(conversation):
    asyncio.run(asyncio.wait_for(conversation, 2 * PATIENCE))


def prepared(context, kind):
    socket = context(kind)
    socket.set(SNDHWM, 0)
    socket.set(HEARTBEAT_IVL, 20)
    socket.set(HEARTBEAT_TIMEOUT, PATIENCE * 1000)
    return socket


def with_wss(*values):
    return pytest.param(*values, marks=pytest.mark.skipif(zmq.zmq_has(b"wss") != 1, reason="built without TLS"))


each_package = pytest.mark.parametrize("package", (Websockets, Aiohttp))
each_way = pytest.mark.parametrize(
    "protocol, secure",
    (
        ("ZWS2.0/NULL", False),
        ("ZWS2.0", False),
        with_wss("ZWS2.0/NULL", True),
    ),
)


@each_package
@each_way
@pytest.mark.parametrize(
    "kind, kinds, job, peer_job",
    ((XPUB, (b"SUB", b"XPUB"), publish, peer_subscribes), (ROUTER, (b"DEALER", b"ROUTER"), answer, peer_asks)),
    ids=("publishing", "answering"),
)
def test_a_client_of_python_is_served(context, files, package, protocol, secure, kind, kinds, job, peer_job):
    socket = prepared(context, kind)
    trust = None
    if secure:
        trust = ssl.create_default_context(cafile=files / "ca.pem")
        socket.set(TLS_CERT, files / "server.pem")
        socket.set(TLS_KEY, files / "server.key")
    url = socket.bind(f"{'wss' if secure else 'ws'}://127.0.0.1:*/here")

    async def conversation():
        async with package.connected(url + "?who=python", protocol, trust) as line:
            await converse(line, protocol, kinds, job, peer_job, socket)

    run(conversation())


each_asker = pytest.mark.parametrize(
    "kind, kinds, job, peer_job",
    ((XSUB, (b"PUB", b"XSUB"), subscribe, peer_publishes), (DEALER, (b"ROUTER", b"DEALER"), ask, peer_answers)),
    ids=("subscribing", "asking"),
)


@each_package
@each_way
@each_asker
def test_a_server_of_python_is_spoken_to(context, files, package, protocol, secure, kind, kinds, job, peer_job):
    speak_to_a_server(context, files, package, protocol, secure, kind, kinds, job, peer_job)


@pytest.mark.parametrize("secure", (False, with_wss(True)))
@each_asker
def test_a_strict_server_of_python_is_spoken_to(context, files, secure, kind, kinds, job, peer_job):
    speak_to_a_server(context, files, StrictWebsockets, "ZWS2.0", secure, kind, kinds, job, peer_job)


def speak_to_a_server(context, files, package, protocol, secure, kind, kinds, job, peer_job):
    socket = prepared(context, kind)
    shown = None
    if secure:
        shown = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        shown.load_cert_chain(files / "server.pem", files / "server.key")
        socket.set(TLS_CA, files / "ca.pem")

    async def conversation():
        async with package.listening(protocol, shown) as (port, came):
            socket.connect(f"{'wss' if secure else 'ws'}://localhost:{port}/here")
            line = await came.get()
            await converse(line, protocol, kinds, job, peer_job, socket)

    run(conversation())
