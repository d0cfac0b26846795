"""Two sockets in one thread, each with a coroutine of its own."""
import asyncio
import zmq
import zmq.asyncio

context = zmq.asyncio.Context()

async def serve(server, requests):
    for _ in range(requests):
        word = await server.recv()
        await server.send(word[::-1])

async def ask(client, word):
    await client.send(word)
    print((await client.recv()).decode())

async def main():
    server, client = context.socket(zmq.REP), context.socket(zmq.REQ)
    server.bind("inproc://mirror")
    client.connect("inproc://mirror")
    serving = asyncio.create_task(serve(server, 2))
    await ask(client, b"live")
    await asyncio.wait_for(ask(client, b"stressed"), timeout=10)  # seconds
    await serving

asyncio.run(main())
context.destroy(linger=0)
