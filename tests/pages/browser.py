"""Headless Chromium spoken to over a pipe (--remote-debugging-pipe: JSON messages ended by a zero byte), with no other software.

Every message that a page logs and every request that it makes is kept, so that a test can say there were none.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
# The sandbox needs rights that a container seldom gives; the pages are our own.
FLAGS = ("--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-extensions", "--disable-sync",
         "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe")


def find_browser():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one tab."""

    def __init__(self, path, seconds=120):
        self.deadline = time.monotonic() + seconds
        self.number, self.received, self.events = 0, b"", []
        self.folder = tempfile.mkdtemp(prefix="rafter-pages-")
        their_in, self.writer = os.pipe()
        self.reader, their_out = os.pipe()
        # The browser reads at 3 and writes at 4. Four pipe ends are open here, so that nothing else of Popen lies there.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (their_in, their_out)]
        self.process = subprocess.Popen([path, *FLAGS, f"--user-data-dir={self.folder}/profile", "about:blank"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        close_fds=False, preexec_fn=lambda: (os.dup2(high[0], 3), os.dup2(high[1], 4)))
        for fd in (their_in, their_out, *high):
            os.close(fd)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    session = None

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for fd in (self.reader, self.writer):
            os.close(fd)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read_message(self):
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.reader], [], [], max(0, self.deadline - time.monotonic()))
            chunk = os.read(self.reader, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser " + ("closed its pipe" if ready else "did not answer in time"))
            self.received += chunk
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def navigate(self, url):
        """Returns when this very load has ended: events of an earlier one may still arrive."""
        loader = self.call("Page.navigate", url=url)["loaderId"]
        ended = lambda event: event.get("method") == "Page.lifecycleEvent" and (
            event["params"]["loaderId"], event["params"]["name"]) == (loader, "load")
        while not any(map(ended, self.events)):
            self.events.append(self.read_message())

    def open(self, path):
        """Loads a file; what was noted of the page before is forgotten."""
        self.navigate("about:blank")
        self.events.clear()
        self.navigate(path.resolve().as_uri())
        self.settle()

    def settle(self):
        """Lets layout and its observers run, so that what they log is noted too."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def complaints(self):
        """What was logged or thrown since the page was opened."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in kinds]

    def requests(self):
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in sent]

    def view(self, width=1280, height=900, dark=False, medium=""):
        self.width = width
        self.resize(height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        self.settle()

    def resize(self, height):
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=height, deviceScaleFactor=1, mobile=self.width < 600)
        self.settle()

    def screenshot(self, most=6000):
        """Of the whole page: the window grows to it first, so that nothing is laid out anew while the picture is taken."""
        self.resize(min(most, int(self.call("Page.getLayoutMetrics")["cssContentSize"]["height"])))
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)
        self.settle()

    def move_to(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def downloads(self, script, count):
        """The files that a script makes the page save, by name."""
        folder = os.path.join(self.folder, "downloads")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        self.evaluate(script)
        names, deadline = [], time.monotonic() + 15
        while time.monotonic() < deadline:
            names = [name for name in os.listdir(folder) if not name.endswith(".crdownload")] if os.path.isdir(folder) else []
            if len(names) >= count and all(os.path.getsize(os.path.join(folder, name)) for name in names):
                break
            self.settle()
        texts = {}
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                texts[name] = file.read()
        shutil.rmtree(folder, ignore_errors=True)
        return texts
