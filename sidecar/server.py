"""The HTTP protocol with a time limit for a connection that sends no complete request head."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 15.0


class TimedProtocol(H11Protocol):
    """Closes a connection whose first request head is not complete after 15 s, so that slow clients cannot hold all of them."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEAD_S, self._too_slow)

    def _too_slow(self) -> None:
        if self.cycle is None and self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)
