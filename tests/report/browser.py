"""A headless Chromium, spoken to over pipes by its DevTools protocol."""

import json
import os
import select
import subprocess
from contextlib import contextmanager
from pathlib import Path

SILENCE = 20
"""Seconds without a message after which the browser counts as hung."""


class Browser:
    """A browser with one page, and its errors and requests."""

    def __init__(self, send: int, receive: int):
        self.send, self.receive, self.received = send, receive, b""
        self.number, self.session = 0, None
        self.errors, self.requests, self.waiting = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Call a method and return its result; events that come before it are noted."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send, json.dumps(message).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            self.note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def message(self):
        """Return the next message: they end with a zero byte."""
        while b"\0" not in self.received:
            assert select.select([self.receive], [], [], SILENCE)[0], "the browser is silent"
            part = os.read(self.receive, 1 << 16)
            assert part, "the browser went away"
            self.received += part
        text, _, self.received = self.received.partition(b"\0")
        return json.loads(text)

    def note(self, event):
        method, details = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(details["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
            self.errors.append(details["args"])
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.errors.append(details["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        self.waiting.append(method)

    def open(self, path: Path, part=""):
        """Open a page from a file and wait until it is loaded."""
        for address in ("about:blank", path.resolve().as_uri() + part):
            self.waiting.clear()  # from the same page another part alone would load nothing
            self.call("Page.navigate", url=address)
            while "Page.loadEventFired" not in self.waiting:
                self.note(self.message())

    def run(self, script):
        """Return the value of an expression, awaited if it is a promise."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition):
        """Wait until an expression of the page holds: it looks at each frame, ten seconds long."""
        script = f"""new Promise((done) => {{
            const end = Date.now() + 10000;
            const look = () => ({condition}) ? done(true)
                : Date.now() > end ? done(false) : setTimeout(look, 10);
            look();
        }})"""
        assert self.run(script), condition

    def click(self, element):
        """Click on the middle of an element, as a mouse does."""
        box = f"(({element}).getBoundingClientRect())"
        x, y = self.run(f"[{box}.x + {box}.width / 2, {box}.y + {box}.height / 2]")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)


@contextmanager
def browser(profile: Path):
    """Start a browser with a profile of its own, and end it."""
    mine = os.pipe(), os.pipe()
    (read, send), (receive, write) = mine
    # the browser reads its descriptor 3 and writes its descriptor 4
    command = 'exec chromium "$@" 3<&$READ 4>&$WRITE'
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
        "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
    environment = os.environ | {"READ": str(read), "WRITE": str(write)}
    process = subprocess.Popen(
        ["bash", "-c", command, "chromium", *options], env=environment, pass_fds=(read, write),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(read)
    os.close(write)
    try:
        yield Browser(send, receive)
    finally:
        process.terminate()
        process.wait()
        os.close(send)
        os.close(receive)
