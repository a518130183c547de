"""The HTTP protocol with a time limit for a connection on which no request is under way."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 15.0


class TimedProtocol(H11Protocol):
    """Closes a connection 15 s after it was made, or after its last answer, unless a complete request head has come since.

    uvicorn's own keep-alive limit ends with the first byte that arrives, so a slow client could hold a connection for ever: by an
    incomplete head, or by the rest of a body that was refused.
    """

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def on_response_complete(self) -> None:
        self._arm()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)

    def _arm(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = self.loop.call_later(HEAD_S, self._too_slow)

    def _too_slow(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
