"""How servers of large language models use ZeroMQ, as a small exchange between three processes. It is a program: wheel_test.py runs it.

An engine's ROUTER answers two DEALER clients over ipc, with messages of many parts whose large ones are neither copied when sent nor when
received. The engine publishes numbered events, too; a subscriber that has missed some asks a second ROUTER for them.
"""

import asyncio
import os
import pickle
import subprocess
import sys
import zlib

import zmq
import zmq.asyncio

LARGE = 6 * 1024 * 1024
REQUESTS = 6
EVENTS = 40
LAST = b"last"
PATIENCE_MS = 30_000


def buffers_of(number):
    """Of sizes about those at which a library changes its way."""
    return [bytearray([number + place]) * size for place, size in enumerate((0, 1, 31, 256, 70_000, LARGE))]


def sum_of(parts):
    total = 0
    for part in parts:
        total = zlib.crc32(part, total)
    return total


def engine(folder):
    context = zmq.Context()
    context.setsockopt(zmq.RCVTIMEO, PATIENCE_MS)
    context.setsockopt(zmq.SNDTIMEO, PATIENCE_MS)
    work, events, replay = context.socket(zmq.ROUTER), context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
    work.bind(f"ipc://{folder}/work")
    replay.bind(f"ipc://{folder}/replay")
    kept = {}
    for number in range(EVENTS):  # nobody hears these: they are asked for
        kept[number] = pickle.dumps({"event": number})
    events.bind(f"ipc://{folder}/events")
    for _ in range(2 * REQUESTS):
        client, empty, head, *parts = work.recv_multipart(copy=False)
        request = pickle.loads(head.buffer)
        assert not empty.bytes and request["sum"] == sum_of(part.buffer for part in parts), "a request was damaged"
        answer = buffers_of(request["number"])
        work.send_multipart([client.bytes, b"", pickle.dumps({"number": request["number"], "sum": sum_of(answer)}), *answer], copy=False)
    assert events.recv() == b"\x01kv"
    kept[EVENTS] = pickle.dumps({"event": EVENTS})
    events.send_multipart([b"kv", EVENTS.to_bytes(8, "big"), kept[EVENTS]])
    client, empty, start = replay.recv_multipart()
    for number in sorted(kept):
        if number >= int.from_bytes(start, "big"):
            replay.send_multipart([client, b"", number.to_bytes(8, "big"), kept[number]])
    replay.send_multipart([client, b"", LAST, b""])
    assert work.recv_multipart()[1:] == [b"", b"bye"]
    context.destroy(linger=PATIENCE_MS)


async def client(folder, name, wants_events):
    context = zmq.asyncio.Context()
    work = context.socket(zmq.DEALER)
    work.setsockopt(zmq.IDENTITY, name)
    work.connect(f"ipc://{folder}/work")
    for number in range(REQUESTS):
        parts = buffers_of(number + 100)
        head = pickle.dumps({"number": number, "sum": sum_of(parts)})
        sent = await work.send_multipart([b"", head, *parts], copy=False, track=True)
        empty, head, *parts = await asyncio.wait_for(work.recv_multipart(copy=False), PATIENCE_MS / 1000)
        answer = pickle.loads(head.buffer)
        assert answer == {"number": number, "sum": sum_of(part.buffer for part in parts)}, "an answer was damaged"
        assert len(parts[-1].buffer) == LARGE
        await asyncio.to_thread(sent.wait, PATIENCE_MS / 1000)
    if wants_events:
        await hear(context, folder)
        await work.send_multipart([b"", b"bye"])
    context.destroy(linger=PATIENCE_MS)


async def hear(context, folder):
    """The first event that comes tells how many were missed."""
    events, replay = context.socket(zmq.SUB), context.socket(zmq.DEALER)
    events.subscribe(b"kv")
    events.connect(f"ipc://{folder}/events")
    _, number, _ = await asyncio.wait_for(events.recv_multipart(), PATIENCE_MS / 1000)
    replay.connect(f"ipc://{folder}/replay")
    await replay.send_multipart([b"", (0).to_bytes(8, "big")])
    heard = []
    while True:
        _, which, body = await asyncio.wait_for(replay.recv_multipart(), PATIENCE_MS / 1000)
        if which == LAST:
            break
        assert pickle.loads(body) == {"event": int.from_bytes(which, "big")}
        heard.append(int.from_bytes(which, "big"))
    assert heard == list(range(int.from_bytes(number, "big") + 1)), heard


def main(role, folder):
    assert zmq.has("tls"), "this is not zlink"
    if role == "engine":
        engine(folder)
    elif role in ("first", "second"):
        asyncio.run(client(folder, role.encode(), role == "first"))
    else:
        roles = ("engine", "first", "second")
        processes = [subprocess.Popen([sys.executable, __file__, each, folder]) for each in roles]
        sys.exit(max(process.wait() for process in processes))


if __name__ == "__main__":
    main(*(sys.argv[1:] if len(sys.argv) > 2 else ("all", os.path.abspath(sys.argv[1]))))
