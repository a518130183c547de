"""An ASGI application that is built and started by its first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send


class OnDemand:
    """Stands for the Starlette application that `build` returns.

    The first request builds it in a thread, so that others are served meanwhile, and enters its lifespan in a task of its own, because the
    lifespan must be left by the task that entered it. A build that fails is tried again by the next request.
    """

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[ASGIApp] | None = None
        self._life: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._life = asyncio.create_task(self._live(self._ready))
        app = await asyncio.shield(self._ready)
        await app(scope, receive, send)

    async def _live(self, ready: asyncio.Future[ASGIApp]) -> None:
        try:
            app = await asyncio.to_thread(self._build)
            async with app.router.lifespan_context(app):
                ready.set_result(app)
                await self._stop.wait()
        except Exception as exc:
            if ready.done():
                raise
            self._ready = None
            ready.set_exception(exc)

    async def close(self) -> None:
        """Leave the lifespan, if it was entered."""
        self._stop.set()
        if self._life is not None:
            await self._life
