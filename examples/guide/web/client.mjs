// Asks an echo over WebSocket: in a page, or in Node.
import { Dealer, text } from "../../web/zlink.js";

const dealer = new Dealer("ws://127.0.0.1:5569/echo");
dealer.onmessage = frames => {
    console.log(frames.map(text));
    dealer.close();
};
dealer.send("one", "two");
