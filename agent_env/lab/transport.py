"""HTTP with patience: bounded retries, bounded time, bounded sizes.

What may be sent twice is sent again after a broken connection, a torn response, a 5xx or a 429, with exponential backoff and jitter,
honouring `Retry-After`, until the patience of the connection is used up. A request whose repetition could count twice
(:attr:`Repeat.UNSENT`) is repeated only where the laboratory cannot have acted on it: it was never sent, or was answered 408, 429 or 503.
"""

from __future__ import annotations

import email.utils
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

import httpx

from lab.errors import Refused, Unreachable

PATIENCE_S = 60.0
JSON_BYTES = 64 * 2**20
RECORD_BYTES = 2**30
_CONNECT_S = 5.0
_READ_S = 30.0
_FIRST_DELAY_S = 0.25
_LONGEST_DELAY_S = 8.0
_NOT_ACTED_ON = (408, 429, 503)


class Repeat(Enum):
    """When a request may be sent again."""

    ANY = "any"
    """Sending it twice has the effect of sending it once."""
    UNSENT = "unsent"
    """Only where the laboratory cannot have acted on the first one."""


@dataclass(frozen=True)
class Reply:
    """A response with status < 400: its body and headers (names in lower case)."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; ValueError where it is not JSON or holds NaN or Infinity."""
        return json.loads(self.body.decode("utf-8"), parse_constant=_no_constant)


class _Torn(Exception):
    """The response cannot be used, and may be whole the next time."""


class Transport:
    """One laboratory's address and how patiently to talk to it. Thread-safe."""

    def __init__(
        self,
        url: str,
        *,
        patience_s: float = PATIENCE_S,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`patience_s`: longest time that one request may take with all its repetitions, s."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError(f"the address of a laboratory is http://HOST:PORT or https://HOST, got {url!r}")
        if not patience_s > 0:
            raise ValueError(f"patience_s must be > 0, got {patience_s!r}")
        self.url = url.rstrip("/")
        self.patience_s = patience_s
        self._sleep = sleep
        # The laboratory is a neighbour: proxies of the environment lead to the internet, never to it. Without compression the size on
        # the wire is the size in memory.
        try:
            self._http = httpx.Client(
                base_url=self.url, trust_env=False, follow_redirects=False, transport=transport, headers={"Accept-Encoding": "identity"},
                verify=parts.scheme == "https",  # certificates are not even loaded where none is met: it takes most of a start
            )  # fmt: skip
        except httpx.InvalidURL as exc:
            raise ValueError(f"{url!r} is no address: {exc}") from exc

    def close(self) -> None:
        self._http.close()

    def pause(self, seconds: float) -> None:
        """Wait between two requests."""
        self._sleep(seconds)

    def json(self, method: str, path: str, body: bytes | None = None, **options: Any) -> Any:
        """As :meth:`request`, with the response parsed; a response that is no JSON counts as torn."""
        return self.request(method, path, body, accept=_is_json, **options).json()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        key: str | None = None,
        repeat: Repeat = Repeat.ANY,
        accept: Callable[[Reply], str | None] | None = None,
        longest_bytes: int = JSON_BYTES,
        hold_s: float = 0.0,
    ) -> Reply:
        """Send until it is answered.

        `key` is the Idempotency-Key; `accept` says what is wrong with a reply (it is then treated as torn) or None; `hold_s` is how
        long the laboratory may hold the response back on purpose (long poll). Raises :class:`Refused` for a problem document and
        :class:`Unreachable` where patience ends.
        """
        deadline = time.monotonic() + self.patience_s + hold_s
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        attempt = 0
        while True:
            refusal: Refused | None = None
            asked_s: float | None = None
            try:
                reply = self._once(method, path, body, headers, deadline, hold_s, longest_bytes)
                if reply.status < 400:
                    fault = accept(reply) if accept else None
                    if fault is None:
                        return reply
                    reason, may_repeat = fault, repeat is Repeat.ANY
                else:
                    refusal = Refused(_problem(reply))
                    if reply.status not in _NOT_ACTED_ON and reply.status < 500:
                        raise refusal
                    reason, asked_s = f"HTTP {reply.status}: {refusal.args[0]}", _retry_after(reply.headers)
                    may_repeat = repeat is Repeat.ANY or reply.status in _NOT_ACTED_ON
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as exc:
                reason, may_repeat = _text(exc), True
            except (httpx.TransportError, httpx.DecodingError, _Torn) as exc:
                reason, may_repeat = _text(exc), repeat is Repeat.ANY
            delay = _delay(attempt) if asked_s is None else max(asked_s, _delay(attempt))
            if not may_repeat or time.monotonic() + delay >= deadline:
                if refusal is not None and refusal.status < 500:
                    raise refusal
                raise Unreachable(self._gave_up(method, path, attempt + 1, reason, may_repeat))
            self._sleep(delay)
            attempt += 1

    def _gave_up(self, method: str, path: str, attempts: int, reason: str, may_repeat: bool) -> str:
        if may_repeat:
            return f"the laboratory at {self.url} does not answer {method} {path} ({attempts} attempts): {reason}"
        return f"the laboratory at {self.url} may or may not have acted on {method} {path}, look before repeating it: {reason}"

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], deadline: float, hold_s: float, longest_bytes: int
    ) -> Reply:
        left_s = max(deadline - time.monotonic(), 0.001)
        timeout = httpx.Timeout(min(_READ_S + hold_s, left_s), connect=min(_CONNECT_S, left_s))
        with self._http.stream(method, path, content=body, headers=dict(headers), timeout=timeout) as response:
            declared = response.headers.get("content-length", "")
            if declared.isdigit() and int(declared) > longest_bytes:
                raise Unreachable(f"{method} {path}: {declared} bytes, more than the {longest_bytes} that are accepted")
            chunks, size = [], 0
            for chunk in response.iter_bytes():
                size += len(chunk)
                if size > longest_bytes:
                    raise Unreachable(f"{method} {path}: more than the {longest_bytes} bytes that are accepted")
                if time.monotonic() > deadline:
                    raise _Torn("the response did not end in time")
                chunks.append(chunk)
            return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, b"".join(chunks))


def _delay(attempt: int) -> float:
    """Full exponential step with jitter: many clients that were cut off together do not come back together."""
    return float(min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2.0**attempt) * random.uniform(0.5, 1.0))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `Retry-After`, which holds seconds or an HTTP date; None where it is absent or unreadable."""
    value = headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value[:9])
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _is_json(reply: Reply) -> str | None:
    try:
        reply.json()
    except (ValueError, RecursionError):
        return "the response is not JSON"
    return None


def _problem(reply: Reply) -> dict[str, Any]:
    """The problem document of a refusal, or one made from the status line where the body is something else."""
    try:
        document = reply.json()
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not (document.get("detail") or document.get("title")):
        document = {"title": "refused", "detail": f"HTTP {reply.status}"}
    return {**document, "status": reply.status}


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _text(exc: Exception) -> str:
    return str(exc) or type(exc).__name__
