"""A sidecar for `bench.submit_latency`: unlimited budget and queue, and a chosen way to make the log durable (`group`, `none`, `each`)."""

from __future__ import annotations

import sys
from typing import Any

import tasks
from evidence import Event, LogWriter
from sidecar import __main__ as sidecar

UNLIMITED = {"units": 1e9, "jobs": 1e9, "lab_s": 1e9}


def patch_task() -> None:
    """The task's own card, with limits that no benchmark meets."""
    load = tasks.load

    def generous(name: str) -> tasks.TaskCard:
        card = load(name)
        return card.model_copy(update={"budget": UNLIMITED, "limits": card.limits.model_copy(update={"queue": 1_000_000, "wall_s": 10**9})})

    tasks.load = generous  # type: ignore[assignment]


def patch_log(variant: str) -> None:
    """`none`: `sync` does nothing. `each`: every `append` is made durable on its own, before the next."""
    sync, append = LogWriter.sync, LogWriter.append

    def nothing(_: LogWriter) -> None: ...

    def append_durably(writer: LogWriter, kind: str, data: dict[str, Any]) -> Event:
        event = append(writer, kind, data)
        sync(writer)
        return event

    if variant == "none":
        LogWriter.sync = nothing  # type: ignore[method-assign]
    elif variant == "each":
        LogWriter.sync, LogWriter.append = nothing, append_durably  # type: ignore[method-assign]
    elif variant != "group":
        raise SystemExit(f"no variant {variant!r}")


if __name__ == "__main__":
    patch_task()
    patch_log(sys.argv[1])
    sidecar.main()
