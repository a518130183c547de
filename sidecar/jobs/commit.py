"""Group commit: one `fsync` makes durable all events that were appended while the one before it ran."""

from __future__ import annotations

import asyncio

from evidence import LogWriter
from qtypes import LabFault


class Committer:
    """`await durable()` returns once everything appended so far is on disk."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._synced = writer.next_seq
        self._flush: asyncio.Task[None] | None = None

    async def _run(self) -> None:
        target = self._writer.next_seq
        try:
            await asyncio.to_thread(self._writer.sync)
            self._synced = max(self._synced, target)
        finally:
            self._flush = None

    async def durable(self) -> None:
        """:class:`LabFault` where the disk does not take it."""
        target = self._writer.next_seq
        while self._synced < target:
            if self._flush is None:
                self._flush = asyncio.create_task(self._run())
            try:
                await asyncio.shield(self._flush)
            except OSError as exc:
                raise LabFault(f"the log could not be made durable: {exc}") from exc
