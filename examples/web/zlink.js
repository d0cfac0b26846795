// A client of ZeroMQ sockets for browsers, and for Node where it has a WebSocket: ZWS 2.0 (RFC 45), without a library.
//
//     const news = new Sub("ws://127.0.0.1:8081/news");
//     news.onmessage = frames => console.log(frames.map(text));
//     news.subscribe("weather");
//
//     const asking = new Dealer("ws://127.0.0.1:8082/echo");
//     asking.onmessage = frames => console.log(frames.map(text));
//     asking.send("one", "two");
//
//     const answer = await new Req("ws://127.0.0.1:8083/time").ask("now?");
//
// Frames are given as strings or octets, and arrive as Uint8Arrays; text() makes strings of them.
// The sub-protocol is "ZWS2.0", since a browser takes no name with a stroke, as "ZWS2.0/NULL" has one.

const LAST = 0;
const MORE = 1;
const COMMAND = 2;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
const NORMAL_END = 1000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const text = octets => decoder.decode(octets);

const octetsOf = body => {
    if (typeof body === "string")
        return encoder.encode(body);
    return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : new Uint8Array(body);
};

// One frame as it is sent: the octet that says what it is, and the body.
const wireForm = (kind, body) => {
    const octets = new Uint8Array(1 + body.length);
    octets[0] = kind;
    octets.set(body, 1);
    return octets;
};

/**
 * One connection to a socket that listens at `url`. It is opened again when it ends, until close(). What is sent before
 * it is open waits; what was sent into a connection that has ended is not sent again.
 */
export class Connection {
    onmessage = () => {}; // with the frames of each message
    onopen = () => {};
    onend = () => {}; // with the status, the reason, and whether there will be another attempt

    #url;
    #routingId;
    #socket = null;
    #isOpen = false;
    #isClosed = false;
    #waiting = [];
    #frames = [];
    #pause = FIRST_PAUSE_MS;
    #timer = null;

    constructor(url, { routingId = "" } = {}) {
        this.#url = url;
        this.#routingId = octetsOf(routingId);
        this.#dial();
    }

    /** Whether the other side has said who it is. */
    get isOpen() {
        return this.#isOpen;
    }

    /** Octets that have not gone out yet. */
    get bufferedAmount() {
        return this.#socket?.bufferedAmount ?? 0;
    }

    send(...frames) {
        if (frames.length === 0)
            throw new RangeError("a message has one frame at least");
        const octets = frames.map((body, i) => wireForm(i + 1 < frames.length ? MORE : LAST, octetsOf(body)));
        if (this.#isOpen)
            octets.forEach(each => this.#socket.send(each));
        else
            this.#waiting.push(...octets);
    }

    /** Drops what waits for a connection. */
    forget() {
        this.#waiting = [];
    }

    close() {
        this.#isClosed = true;
        clearTimeout(this.#timer);
        this.#socket?.close(NORMAL_END);
    }

    #dial() {
        const socket = new WebSocket(this.#url, ["ZWS2.0"]);
        socket.binaryType = "arraybuffer";
        socket.onopen = () => socket.send(wireForm(LAST, this.#routingId));
        socket.onmessage = ({ data }) => this.#take(data);
        let isOver = false;
        const end = (code, reason) => {
            if (!isOver)
                this.#end(code, reason);
            isOver = true;
        };
        // onclose follows, and tells why; but Node 20 has none behind an attempt that was refused.
        socket.onerror = () => socket.readyState === WebSocket.CONNECTING && end(1006, "");
        socket.onclose = ({ code, reason }) => end(code, reason);
        this.#socket = socket;
    }

    #take(data) {
        if (typeof data === "string" || data.byteLength === 0)
            return this.#fault("not a frame of ZWS 2.0");
        const octets = new Uint8Array(data);
        const body = octets.subarray(1);
        if (!this.#isOpen) // the first frame is the other side's routing id
            return octets[0] === LAST ? this.#begin() : this.#fault("no routing id");
        if (octets[0] === COMMAND)
            return undefined;
        if (octets[0] > COMMAND)
            return this.#fault("not a frame of ZWS 2.0");
        this.#frames.push(body);
        if (octets[0] === MORE)
            return undefined;
        const frames = this.#frames;
        this.#frames = [];
        return this.onmessage(frames);
    }

    #begin() {
        this.#isOpen = true;
        this.#pause = FIRST_PAUSE_MS;
        this.greet().concat(this.#waiting).forEach(each => this.#socket.send(each));
        this.#waiting = [];
        this.onopen();
    }

    #fault(reason) {
        this.#socket.close(3000, reason); // a page may not say 1002
    }

    #end(code, reason) {
        this.#isOpen = false;
        this.#frames = [];
        if (!this.#isClosed) {
            this.#timer = setTimeout(() => this.#dial(), this.#pause);
            this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
        }
        this.onend(code, reason, !this.#isClosed);
    }

    /** What each new connection is told first, in wire form. */
    greet() {
        return [];
    }
}

/** Asks a ROUTER or DEALER, or answers one: messages both ways, as they come. */
export class Dealer extends Connection {}

/** Hears a PUB or XPUB. A topic may be subscribed to several times, and is cancelled as often. */
export class Sub extends Connection {
    #topics = []; // as octets, with those that are there several times

    subscribe(topic = "") {
        const octets = octetsOf(topic);
        this.#topics.push(octets);
        if (this.isOpen)
            this.send(wireForm(1, octets));
    }

    unsubscribe(topic = "") {
        const octets = octetsOf(topic);
        const place = this.#topics.findIndex(each => each.join() === octets.join());
        if (place < 0)
            return;
        this.#topics.splice(place, 1);
        if (this.isOpen)
            this.send(wireForm(0, octets));
    }

    greet() {
        return this.#topics.map(each => wireForm(LAST, wireForm(1, each)));
    }
}

/** Asks a REP or ROUTER: each question has one answer, and questions are answered in turn. */
export class Req extends Connection {
    #asked = [];

    constructor(url, options) {
        super(url, options);
        this.onmessage = frames => this.#asked.shift()?.resolve(frames.slice(1)); // behind the empty frame
        this.onend = () => this.#giveUp();
    }

    #giveUp() {
        this.forget();
        this.#asked.splice(0).forEach(({ reject }) => reject(new Error("the connection has ended")));
    }

    /** A promise of the frames of the answer. */
    ask(...frames) {
        return new Promise((resolve, reject) => {
            this.#asked.push({ resolve, reject });
            this.send("", ...frames);
        });
    }
}
