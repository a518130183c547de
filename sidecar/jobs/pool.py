"""A pool of worker processes that can be cancelled one by one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

from qtypes import LabFault

_START_S = 60.0
_LINE_BYTES = 8_000_000


class WorkerDied(LabFault):
    """The worker ended before it answered (crash, memory bound, time limit)."""


class Process:
    """One worker process and its pipes; one caller at a time."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._setup = setup
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def warm(self) -> None:
        """Start now rather than at the first call."""
        async with self._lock:
            await self._ensure()

    async def call(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """The answer to one message; after a failure or a cancellation the process is gone and the next call starts another."""
        async with self._lock:
            await self._ensure()
            return await self._exchange(message, timeout_s)

    async def close(self) -> None:
        async with self._lock:
            await self._kill()

    async def _ensure(self) -> None:
        if self._process is not None and self._process.returncode is None:
            return
        await self._kill()
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
        # the worker needs no secret: it gets the one device by pipe
        env = {k: v for k, v in os.environ.items() if not k.startswith("QHARBOR_")} | {"PYTHONPATH": path}
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sidecar.backends.worker", str(os.getpid()),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=env, limit=_LINE_BYTES,
            )  # fmt: skip
        except OSError as exc:
            raise WorkerDied(f"no process for a worker: {exc}") from exc
        if await self._exchange(self._setup, _START_S) != {"ready": True}:
            await self._kill()
            raise WorkerDied("a worker did not start")

    async def _exchange(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """One line out, one line back, both within the time limit; the process does not survive anything else."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(timeout_s):
                process.stdin.write(json.dumps(message).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            if not line.endswith(b"\n"):
                raise WorkerDied("a worker ended while it worked")
            return dict(json.loads(line))
        except TimeoutError as exc:
            await self._kill()
            raise WorkerDied("a worker passed its time limit") from exc
        except (ConnectionError, RuntimeError, ValueError) as exc:
            await self._kill()
            raise WorkerDied(f"a worker broke its protocol ({type(exc).__name__})") from exc
        except (asyncio.CancelledError, WorkerDied):
            await self._kill()
            raise

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(ConnectionError):
                await process.stdin.wait_closed()
        if process.stdout is not None:
            with contextlib.suppress(ValueError, TimeoutError):
                # to the end of the pipe, so that its transport is closed before the loop is
                await asyncio.wait_for(process.stdout.read(), 5.0)
        await process.wait()


class Pool:
    """`size` workers. `urgent` callers (queries) are served before waiting jobs."""

    def __init__(self, setup: dict[str, Any], size: int, timeout_s: float) -> None:
        self._idle = deque(Process(setup) for _ in range(max(1, size)))
        self._all = tuple(self._idle)
        self._waiting: deque[asyncio.Future[Process]] = deque()
        self.timeout_s = timeout_s

    async def warm(self) -> None:
        """Start all workers; one that does not start is started again when it is needed."""
        for process in self._all:  # one after the other: on few cores the first is ready sooner
            with contextlib.suppress(LabFault, OSError):
                await process.warm()

    async def acquire(self, *, urgent: bool = False) -> Process:
        if self._idle:
            return self._idle.popleft()
        future: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if urgent else self._waiting.append)(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future in self._waiting:
                self._waiting.remove(future)
            elif future.done() and not future.cancelled():
                self.release(future.result())
            raise

    def release(self, process: Process) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(process)
                return
        self._idle.append(process)

    async def call(self, message: dict[str, Any], *, urgent: bool = False) -> dict[str, Any]:
        """Run one message on a free worker; :class:`WorkerDied` if it does not answer in time."""
        process = await self.acquire(urgent=urgent)
        try:
            return await process.call(message, self.timeout_s)
        finally:
            self.release(process)

    async def close(self) -> None:
        await asyncio.gather(*(p.close() for p in self._all), return_exceptions=True)
