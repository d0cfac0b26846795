// The client of examples/web, under Node. Told by web_node_test.py where the sockets are; checks what comes; exit status 0 if it is right.
//
//   node web_client.mjs FEED ECHO REPLY COUNT [MODULE]
//
// MODULE has a WebSocket to use instead of Node's own.

import assert from "node:assert";
import { Dealer, Req, Sub } from "../../examples/web/zlink.js";

const [feed, echo, reply, countOf, module] = process.argv.slice(2);
const count = Number(countOf);
if (module)
    globalThis.WebSocket = (await import(module)).WebSocket;

const EDGES = [0, 1, 123, 124, 125, 126, 127, 254, 255, 256, 65533, 65534, 65535, 65536, 70000];
const octets = new Uint8Array(70000 + 251).map((_, i) => i % 251);

// As body_of() in web_node_test.py.
const bodyOf = number => {
    const size = number % 97 === 0 ? EDGES[number / 97 % EDGES.length] : number * 7919 % 1500;
    return octets.subarray(number % 251, number % 251 + size);
};

const check = (frames, ...expected) => {
    assert.strictEqual(frames.length, expected.length);
    frames.forEach((each, i) => assert(Buffer.from(expected[i]).equals(each), `frame ${i}`));
};

const hearFeed = () => new Promise((resolve, reject) => {
    const sub = new Sub(feed);
    let number = 0;
    let ends = 0;
    sub.subscribe("feed");
    sub.onend = () => ++ends;
    sub.onmessage = frames => {
        try {
            if (number < count) {
                check(frames, "feed", String(number), bodyOf(number));
            } else { // of the socket that took the place of the first one
                check(frames, "feed", "again");
                assert(ends > 0);
                sub.unsubscribe("feed");
                sub.onend = resolve;
            }
            ++number;
        } catch (fault) {
            reject(fault);
        }
    };
});

// Of a WebSocket to a port where nobody is, Node 20 tells an error and no close.
const dialNobody = () => new Promise(resolve => {
    const sub = new Sub("ws://127.0.0.1:1/");
    let ends = 0;
    sub.onend = () => {
        if (++ends === 2) {
            sub.close();
            resolve();
        }
    };
});

const hearEcho = () => new Promise((resolve, reject) => {
    const dealer = new Dealer(echo, { routingId: "node" });
    let number = 0;
    dealer.onmessage = frames => {
        try {
            check(frames, String(number), bodyOf(number), "");
            if (++number === count) {
                dealer.onend = resolve;
                dealer.close();
            }
        } catch (fault) {
            reject(fault);
        }
    };
    for (let i = 0; i < count; ++i)
        dealer.send(String(i), bodyOf(i), "");
});

const hearAnswers = async () => {
    const req = new Req(reply);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => req.ask("question", String(i))));
    answers.forEach((frames, i) => check(frames, "answer", String(i)));
    req.close();
};

await Promise.all([dialNobody(), hearFeed(), hearEcho(), hearAnswers()]);
console.log("in order");
process.exit(0);
