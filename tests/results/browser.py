"""A headless Chromium driven over the DevTools protocol: enough to open a page, ask it something and press keys."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

WAIT_S = 90.0
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0",
    "--window-size=1400,900",
)  # fmt: skip


def chromium() -> str:
    """Path of the browser; skips the test where there is none."""
    found = os.environ.get("QHARBOR_CHROMIUM") or next((p for n in NAMES if (p := shutil.which(n))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: pages are not looked at (apt-get install chromium, or set QHARBOR_CHROMIUM)")
    return found


class Page:
    """A tab. `messages` are the console and the log of the browser, `exceptions` what the script threw, `requests` all URLs asked for."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self._ids = socket, itertools.count(1)
        self.messages: list[str] = []
        self.exceptions: list[str] = []
        self.requests: list[str] = []
        self.loaded = False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=WAIT_S))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            self._heard(message)

    def _heard(self, message: dict[str, Any]) -> None:
        params, method = message.get("params", {}), message.get("method")
        if method == "Runtime.consoleAPICalled":
            self.messages.append(f"{params['type']}: {[a.get('value', a.get('description')) for a in params['args']]}")
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.exceptions.append(str(details.get("exception", {}).get("description", details.get("text"))))
        elif method == "Log.entryAdded":
            self.messages.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it has drawn itself."""
        self.loaded = False
        if "loaderId" not in self.call("Page.navigate", url=path.resolve().as_uri() + fragment):
            self.loaded = True  # the page is there already
        end = time.monotonic() + WAIT_S
        while not self.loaded:
            assert time.monotonic() < end, f"{path.name} did not load within {WAIT_S:.0f} s"
            self._heard(json.loads(self.socket.recv(timeout=WAIT_S)))
        self.settle()

    def settle(self) -> None:
        """Wait for two frames."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def ask(self, script: str) -> Any:
        """The value of an expression, awaited where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def emulate(self, *, dark: bool = False, media: str = "", width: int = 1400, height: int = 900) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser() -> Iterator[Page]:
    """One tab of a fresh browser with an empty profile."""
    program = chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            port = _port(Path(profile) / "DevToolsActivePort", process)
            with connect(f"ws://127.0.0.1:{port[0]}{port[1]}", max_size=None, open_timeout=WAIT_S) as top:
                top.send(json.dumps({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}))
                target = json.loads(top.recv(timeout=WAIT_S))["result"]["targetId"]
                with connect(f"ws://127.0.0.1:{port[0]}/devtools/page/{target}", max_size=None, open_timeout=WAIT_S) as socket:
                    yield Page(socket)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Port and path of the browser's own socket, from the file that it writes when it listens."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the browser ended with status {process.returncode}"
        lines = file.read_text().split() if file.is_file() else []
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        time.sleep(0.05)
    raise AssertionError(f"the browser did not listen within {WAIT_S:.0f} s")
