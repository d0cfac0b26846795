#!/usr/bin/python3
"""Opens the page in a headless Chromium, and sees the feed and the echo arrive in it.

  LD_LIBRARY_PATH=build/release/lib check.py [SCREENSHOT]

Needs chromium and python3-websockets. Exit status 0 if the page showed what it has to.
"""

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

import websockets.legacy.client

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 60
LOOK = """
(async () => {
    const at = id => document.getElementById(id);
    const until = async done => {
        while (!done())
            await new Promise(resolve => setTimeout(resolve, 20));
    };
    await until(() => at("answers").children.length === 1);
    for (const words of ["äöü €", "z".repeat(40)]) {
        at("words").value = words;
        at("form").requestSubmit();
    }
    await until(() => Number(at("count").textContent) >= 180 && at("answers").children.length === 3);
    return { count: Number(at("count").textContent), lost: at("lost").textContent, rows: at("rows").innerText,
             answers: at("answers").innerText, feed: at("feed-state").innerText, echo: at("echo-state").innerText };
})()
"""


class Browser:
    def __init__(self, line):
        self.line = line
        self.number = 0

    async def ask(self, method, **parameters):
        self.number += 1
        await self.line.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            said = json.loads(await self.line.recv())
            if said.get("id") == self.number:
                assert "result" in said, said
                return said["result"]
            if said.get("method") == "Runtime.exceptionThrown":
                raise SystemExit("the page: %s" % json.dumps(said["params"]))

    async def until(self, event):
        while json.loads(await self.line.recv()).get("method") != event:
            pass


async def look(debugger, url, screenshot):
    port = re.search(r":(\d+)/", debugger).group(1)
    with urllib.request.urlopen("http://127.0.0.1:%s/json/list" % port) as listing:
        target = next(each for each in json.load(listing) if each["type"] == "page")
    async with websockets.legacy.client.connect(target["webSocketDebuggerUrl"], max_size=None) as line:
        browser = Browser(line)
        await browser.ask("Page.enable")
        await browser.ask("Runtime.enable")
        await browser.ask("Page.navigate", url=url)
        await browser.until("Page.loadEventFired")
        found = (await browser.ask("Runtime.evaluate", expression=LOOK, awaitPromise=True, returnByValue=True))["result"]["value"]
        if screenshot:
            taken = await browser.ask("Page.captureScreenshot", format="png")
            with open(screenshot, "wb") as file:
                file.write(base64.b64decode(taken["data"]))
        return found


def line_with(stream, pattern):
    for line in stream:
        found = re.search(pattern, line)
        if found:
            return found.group(0)
    raise SystemExit("a program ended before it said where it listens")


def main(screenshot=None):
    with tempfile.TemporaryDirectory(prefix="zlink-web-") as profile:
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--hide-scrollbars", "--window-size=800,760", "--remote-debugging-port=0", "--user-data-dir=" + profile, "about:blank"]
        server = subprocess.Popen([sys.executable, os.path.join(HERE, "server.py"), "--port", "0"], stdout=subprocess.PIPE, text=True)
        # The browser has no use for our library.
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        browser = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            url = line_with(server.stdout, r"http://\S+")
            debugger = line_with(browser.stderr, r"ws://\S+")
            found = asyncio.run(asyncio.wait_for(look(debugger, url, screenshot), PATIENCE_S))
        finally:
            for program in (browser, server):
                program.terminate()
                program.wait()
    print(json.dumps(found, indent=4, ensure_ascii=False))
    assert found["lost"] == "0"
    assert found["rows"].split()[::2] == ["rate.eur", "rate.gbp", "rate.jpy"]
    for words in ("hello from the browser", "äöü €", "z" * 40):
        assert "“%s” came back after" % words in found["answers"]
    assert found["feed"].startswith("connected to ws://") and found["echo"].startswith("connected to ws://")
    print("in order")


if __name__ == "__main__":
    main(*sys.argv[1:])
