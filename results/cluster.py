"""Grading on a Dask cluster (extra `cluster`). The tasks are those of the process pool; where a worker runs decides nothing.

Bundles travel to workers that do not see the folder: a path is used as it is where every worker finds the evidence under it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from evidence import LOG_NAME
from evidence.files import open_plain
from results.fingerprint import files_of
from results.model import Graded, Trial

CONNECT_S = 20


class NoCluster(Exception):
    """The cluster cannot be used; the text says what to do."""


def spread(
    trials: Sequence[Trial], address: str, *, cache: Path | None = None, progress: Callable[[Graded], None] = lambda _: None
) -> dict[int, Graded]:
    """Graded trials by their number, from the workers of the scheduler at `address` (`tcp://host:8786`)."""
    try:
        import distributed
    except ImportError as exc:
        raise NoCluster("--dask needs the extra `cluster`: pip install 'quantum-harbor[cluster]'") from exc
    try:
        client = distributed.Client(address, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as exc:
        start = f"start one with `dask scheduler`, and workers with `dask worker {address}`"
        raise NoCluster(f"no Dask scheduler at {address} ({type(exc).__name__}); {start}") from exc
    try:
        if not client.scheduler_info()["workers"]:
            raise NoCluster(f"the scheduler at {address} has no workers; start some with `dask worker {address}`")
        logs = [str((t.bundle / LOG_NAME).resolve()) for t in trials if t.bundle is not None]
        seen = set.intersection(*(set(found) for found in client.run(visible, logs).values())) if logs else set()
        futures = {}
        for k, trial in enumerate(trials):
            local = trial.bundle is None or str((trial.bundle / LOG_NAME).resolve()) in seen
            sent = trial if not local or trial.bundle is None else replace(trial, bundle=trial.bundle.resolve())
            futures[client.submit(on_worker, sent, None if local else packed(trial), cache if local else None, pure=False)] = k
        done: dict[int, Graded] = {}
        for future, found in distributed.as_completed(futures, with_results=True):
            k = futures[future]
            done[k] = replace(found, trial=trials[k])
            progress(done[k])
        return done
    finally:
        client.close()


def visible(paths: Sequence[str]) -> list[str]:
    """Those of `paths` that are files where this runs."""
    return [p for p in paths if os.path.isfile(p)]


def packed(trial: Trial) -> dict[str, bytes]:
    """The evidence of a trial by path in the bundle, and its transcript under the empty name."""
    assert trial.bundle is not None
    out = {}
    for path in files_of(trial.bundle):
        with open_plain(path) as f:
            out[path.relative_to(trial.bundle).as_posix()] = f.read()
    if trial.transcript is not None:
        with open_plain(trial.transcript) as f:
            out[""] = f.read()
    return out


@cache
def keep_freed_memory() -> None:
    """Let the C library keep what is freed. Dask tells its workers to hand every 64 kB back at once: then each array is paged in anew,
    and a verdict takes twice the time. Nothing happens where the library is not glibc."""
    trim, mmap, keep, largest = -1, -3, 1 << 28, 1 << 25  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of mallopt(3), bytes
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(trim, keep)
    mallopt(mmap, largest)


def on_worker(trial: Trial, content: dict[str, bytes] | None, kept: Path | None) -> Graded:
    """`grade_trial` of a bundle that lies here, or of one whose content came along. `kept` is the folder of verdicts."""
    from results.grading import grade_trial

    keep_freed_memory()
    if content is None:
        return grade_trial(trial, kept)
    folder = Path(tempfile.mkdtemp(prefix="qharbor-graded-"))
    try:
        changes: dict[str, Any] = {"bundle": folder / "bundle"}
        for name, data in content.items():
            path = folder / "bundle" / name if name else folder / "transcript"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if trial.transcript is not None:
            changes["transcript"] = folder / "transcript"
        return grade_trial(replace(trial, **changes), kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
