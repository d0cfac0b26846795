// What programs of zeromq.js do, each way in which a call may come before what it waits for: sends before connect and bind, receives
// before both, iteration, time-outs, a close in the middle, events, CURVE. Its last line says what went well, or which scenes failed.
//
//   node exchange.js    (NODE_PATH names where zeromq is)
"use strict"
const zmq = require("zeromq")
const assert = require("assert")

const PATIENCE_MS = 10000
let ends = 0

function endpoint(transport) {
    ends += 1
    return transport === "tcp" ? "tcp://127.0.0.1:*" : transport === "ipc" ? `ipc://@zlink-node-${process.pid}-${ends}` : `inproc://end-${ends}`
}

// Fails with the name of what hung: an event loop that nobody wakes waits for ever.
async function within(what, promise) {
    let clock
    const late = new Promise((_, reject) => {
        clock = setTimeout(() => reject(new Error(`${what}: nothing came in ${PATIENCE_MS} ms`)), PATIENCE_MS)
    })
    try {
        return await Promise.race([promise, late])
    } finally {
        clearTimeout(clock)
    }
}

async function sendsBeforeConnect(transport) {
    const push = new zmq.Push({linger: 0})
    const pull = new zmq.Pull()
    const sent = push.send("early") // nobody is there: it waits for room
    await pull.bind(endpoint(transport))
    push.connect(pull.lastEndpoint)
    await sent
    assert.equal(String((await pull.receive())[0]), "early")
    push.close()
    pull.close()
}

async function sendsBeforeBind(transport) {
    const push = new zmq.Push({linger: 0})
    const pull = new zmq.Pull()
    const sent = push.send("early")
    await push.bind(endpoint(transport))
    pull.connect(push.lastEndpoint)
    await sent
    assert.equal(String((await pull.receive())[0]), "early")
    push.close()
    pull.close()
}

async function receivesBeforeConnect(transport) {
    const push = new zmq.Push({linger: 0})
    const pull = new zmq.Pull()
    const received = pull.receive()
    await push.bind(endpoint(transport))
    pull.connect(push.lastEndpoint)
    await push.send("late")
    assert.equal(String((await received)[0]), "late")
    push.close()
    pull.close()
}

async function receivesBeforeBind(transport) {
    const dealer = new zmq.Dealer({linger: 0})
    const router = new zmq.Router({linger: 0})
    const received = router.receive()
    await router.bind(endpoint(transport))
    dealer.connect(router.lastEndpoint)
    await dealer.send(["a", "b"])
    const [peer, a, b] = await received
    assert.deepEqual([String(a), String(b)], ["a", "b"])
    const answered = dealer.receive()
    await router.send([peer, "c"])
    assert.equal(String((await answered)[0]), "c")
    dealer.close()
    router.close()
}

async function questions(transport) {
    const reply = new zmq.Reply()
    const request = new zmq.Request()
    await reply.bind(endpoint(transport))
    request.connect(reply.lastEndpoint)
    const answering = (async () => {
        for await (const [question] of reply) {
            await reply.send(question)
        }
    })()
    for (let i = 0; i < 1000; ++i) {
        await request.send(`question ${i}`)
        assert.equal(String((await request.receive())[0]), `question ${i}`)
    }
    request.close()
    reply.close()
    await answering // a close ends the iteration
}

async function topics(transport) {
    const pub = new zmq.XPublisher({linger: 0})
    const sub = new zmq.Subscriber()
    const asked = pub.receive()
    await pub.bind(endpoint(transport))
    sub.connect(pub.lastEndpoint)
    sub.subscribe("wanted")
    assert.equal(String((await asked)[0]), "\u0001wanted")
    const heard = (async () => {
        let count = 0
        for await (const [topic, body] of sub) {
            assert.equal(String(topic), "wanted")
            assert.equal(body.readUInt32LE(), count)
            count += 1
            if (count === 500) return
        }
    })()
    for (let i = 0; i < 500; ++i) {
        const body = Buffer.alloc(4 + (i % 7) * 3000) // small ones are copied, large ones are lent
        body.writeUInt32LE(i)
        await pub.send(["wanted", body])
        await pub.send(["other", body])
    }
    await heard
    pub.close()
    sub.close()
}

async function timeouts(transport) {
    const pull = new zmq.Pull({receiveTimeout: 20})
    const push = new zmq.Push({sendTimeout: 20, linger: 0})
    await pull.bind(endpoint(transport))
    await assert.rejects(pull.receive(), {code: "EAGAIN"})
    await assert.rejects(push.send("nobody"), {code: "EAGAIN"})
    pull.receiveTimeout = -1
    const received = pull.receive()
    push.connect(pull.lastEndpoint)
    push.sendTimeout = -1
    await push.send("somebody")
    assert.equal(String((await received)[0]), "somebody")
    const never = pull.receive()
    pull.close()
    await assert.rejects(never, {code: "EAGAIN"})
    push.close()
}

async function events(transport) {
    const pull = new zmq.Pull()
    const seen = new Map()
    const wanted = ["bind", "accept", "handshake", "disconnect", "end"]
    const all = Promise.all(wanted.map((name) => new Promise((resolve) => pull.events.on(name, (event) => {
        seen.set(name, event)
        resolve()
    }))))
    await pull.bind(endpoint(transport))
    const push = new zmq.Push()
    push.connect(pull.lastEndpoint)
    await push.send("x")
    await pull.receive()
    push.close()
    const gone = new Promise((resolve) => pull.events.on("disconnect", resolve))
    await gone
    pull.close()
    await all
    assert.equal(seen.size, wanted.length)
}

async function curve(transport) {
    const server = zmq.curveKeyPair()
    const client = zmq.curveKeyPair()
    const pull = new zmq.Pull({curveServer: true, curvePublicKey: server.publicKey, curveSecretKey: server.secretKey})
    const push = new zmq.Push({curveServerKey: server.publicKey, curvePublicKey: client.publicKey, curveSecretKey: client.secretKey, linger: 0})
    const sent = push.send("sealed")
    await pull.bind(endpoint(transport))
    push.connect(pull.lastEndpoint)
    await sent
    assert.equal(String((await pull.receive())[0]), "sealed")
    push.close()
    pull.close()
}

const SCENES = [
    ["tcp", [sendsBeforeConnect, sendsBeforeBind, receivesBeforeConnect, receivesBeforeBind, questions, topics, timeouts, events, curve]],
    ["ipc", [sendsBeforeConnect, sendsBeforeBind, receivesBeforeConnect, receivesBeforeBind, questions, topics, timeouts, events, curve]],
    ["inproc", [sendsBeforeConnect, sendsBeforeBind, receivesBeforeConnect, receivesBeforeBind, questions, topics, timeouts]],
]

async function main() {
    const failed = []
    let count = 0
    for (const [transport, scenes] of SCENES) {
        for (const scene of scenes) {
            const name = `${scene.name} over ${transport}`
            count += 1
            await within(name, scene(transport)).catch((failure) => {
                console.error(failure)
                failed.push(name)
            })
        }
    }
    console.log(failed.length ? `FAILED: ${failed.join(", ")}` : `${count} scenes over ${SCENES.length} transports`)
    process.exit(failed.length ? 1 : 0)
}

main()
