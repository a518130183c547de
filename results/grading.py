"""Grade trials from disk: the verdict of a bundle is the session's own, bit for bit, on one core or many, here or on a cluster.

A bundle is graded by `graders.kit.grade.grade_bundle`, the code that the verifier runs. Its verdict may be kept under the digest of the
evidence and of the code that judged it, so a second look at a campaign grades only what is new.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence import dumps, write_whole
from graders.kit.checks import Outcome
from graders.kit.grade import grade_bundle
from results import integrity, taxonomy, transcripts
from results.audit import compare, unattested
from results.find import GRADED
from results.fingerprint import bundle_digest, code_digest
from results.model import Campaign, Graded, Trial
from results.session import Session

Progress = Callable[[Graded], None]
_USAGE = {
    "n_input_tokens": "input_tokens", "n_cache_tokens": "cached_tokens", "n_output_tokens": "output_tokens", "cost_usd": "cost_usd",
}  # fmt: skip


def grade_trial(trial: Trial, cache: Path | None = None) -> Graded:
    """A trial with its verdict, pattern and evidence. Never raises for what lies in the trial: the verdict says what does not hold.

    `cache` is a folder of verdicts by digest, made if need be. Nothing is written into the trial.
    """
    before = time.process_time()
    try:
        graded = _grade(trial, cache)
    except Exception as exc:  # noqa: BLE001  one trial must not take a campaign with it
        traceback.print_exc()
        reason = f"the trial could not be graded: {type(exc).__name__}"
        graded = Graded(trial, integrity.fault(trial.task, reason), attested=False, evidence=(reason,))
    return replace(graded, cpu_s=round(time.process_time() - before, 6))


def _grade(trial: Trial, cache: Path | None) -> Graded:
    if trial.bundle is not None:
        graded = _from_bundle(trial, cache)
    elif trial.transcript is not None and not trial.harbor:
        graded = unattested(trial)
    else:
        reason = trial.fault or "the trial holds no evidence: nothing was collected from the sidecar"
        graded = Graded(trial, integrity.fault(trial.task, reason), attested=False)
    if graded.attested or trial.bundle is not None or trial.harbor:
        graded = taxonomy.classify(graded, _session(graded))
    return replace(graded, usage=_usage(trial))


def _from_bundle(trial: Trial, cache: Path | None) -> Graded:
    assert trial.bundle is not None
    digest = bundle_digest(trial.bundle)
    verdict = _verdict(trial, digest, cache)
    if verdict["outcome"] != Outcome.INFRASTRUCTURE_FAULT.value:
        problem = integrity.problem(trial)
        if problem is not None:
            verdict = _quarantined(verdict, problem)
        elif trial.fault and verdict["outcome"] == Outcome.NO_SUBMISSION.value:
            verdict = _quarantined(verdict, f"no answer, and Harbor ended the trial with {trial.fault}")
    held = verdict["outcome"] != Outcome.INFRASTRUCTURE_FAULT.value
    graded = Graded(trial, verdict, attested=held, digest=digest or "", budget=Session(trial.bundle).budget if held else {})
    lines = list(_changed(trial.embedded, verdict)) if held else []
    if held and trial.transcript is not None:
        with contextlib.suppress(transcripts.TranscriptError):
            lines += compare(transcripts.read(trial.transcript), Session(trial.bundle))
    return replace(graded, differences=tuple(lines))


def _quarantined(verdict: Mapping[str, Any], reason: str) -> dict[str, Any]:
    known = {k: verdict[k] for k in ("task_version", "instance", "reproducible", "session", "commitment")}
    return integrity.fault(verdict["task"], reason, **known)


def _verdict(trial: Trial, digest: str | None, cache: Path | None) -> dict[str, Any]:
    assert trial.bundle is not None
    kept = _kept_at(trial, digest, cache)
    if kept is not None and kept.is_file():
        with contextlib.suppress(ValueError, OSError):
            found = json.loads(kept.read_text(encoding="utf-8"))
            if isinstance(found, dict) and found.get("task") == trial.task:
                return found
    verdict = grade_bundle(trial.bundle, write=False).to_json()
    # through JSON, so that a fresh verdict and a kept one are the same value: tuples are lists, keys are texts
    verdict = json.loads(json.dumps(verdict, allow_nan=False))
    if kept is not None and verdict["outcome"] != Outcome.INFRASTRUCTURE_FAULT.value:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, json.dumps(verdict, allow_nan=False).encode() + b"\n")
    return dict(verdict)


def _kept_at(trial: Trial, digest: str | None, cache: Path | None) -> Path | None:
    if cache is None or digest is None:
        return None
    try:
        return cache / code_digest(trial.task)[:24] / f"{digest}.json"
    except (KeyError, ValueError, OSError):
        return None  # a task that is not known here: the grader says so


def _session(graded: Graded) -> Session | None:
    return Session(graded.trial.bundle) if graded.attested and graded.trial.bundle is not None else None


def _changed(told: Mapping[str, Any] | None, verdict: Mapping[str, Any]) -> Iterator[str]:
    """What the verdict that lies beside the evidence says otherwise."""
    if told is None or dumps(told) == dumps(verdict):
        return
    for key in ("outcome", "reward", "race_metric", "task_version"):
        if told.get(key) != verdict.get(key):
            yield f"{key}: the session's verdict says {told.get(key)}, this grading {verdict.get(key)}"
    before = {c["name"]: c for c in told.get("checks", ())}
    for check in verdict["checks"]:
        other = before.pop(check["name"], None)
        if other is None:
            yield f"check {check['name']!r} is not in the session's verdict"
        elif other != check:
            fields = [k for k in check if other.get(k) != check[k]]
            yield f"check {check['name']!r} differs in {', '.join(f'{k} ({other.get(k)} then, {check[k]} now)' for k in fields[:3])}"
    for name in before:
        yield f"check {name!r} of the session's verdict is not in this one"


def _usage(trial: Trial) -> dict[str, float]:
    spent = trial.harbor.get("agent_result") or {}
    usage = {ours: float(spent[theirs]) for theirs, ours in _USAGE.items() if spent.get(theirs) is not None}
    phase = trial.harbor.get("agent_execution") or {}
    begun, ended = integrity.moment(phase.get("started_at")), integrity.moment(phase.get("finished_at"))
    if begun and ended:
        usage["wall_s"] = (ended - begun).total_seconds()
    if not usage and trial.transcript is not None:
        with contextlib.suppress(transcripts.TranscriptError):
            usage = dict(transcripts.read(trial.transcript).usage)
    return usage


def grade_all(
    trials: Sequence[Trial], *, workers: int = 1, cache: Path | None = None, dask: str | None = None, progress: Progress = lambda _: None
) -> Campaign:
    """All trials graded, in their order. `workers` processes here, or the workers of the Dask scheduler at `dask`; the verdicts are equal.

    `progress` is called with each trial as it is done, in any order.
    """
    if dask is not None:
        from results.cluster import spread

        done = spread(trials, dask, cache=cache, progress=progress)
    elif workers <= 1 or len(trials) <= 1:
        done = {}
        for k, trial in enumerate(trials):
            done[k] = grade_trial(trial, cache)
            progress(done[k])
    else:
        done = _pooled(trials, workers, cache, progress)
    return Campaign(tuple(integrity.once([done[k] for k in range(len(trials))])))


def _pooled(trials: Sequence[Trial], workers: int, cache: Path | None, progress: Progress) -> dict[int, Graded]:
    done: dict[int, Graded] = {}
    # spawned: a console's threads would be left behind half-way in a fork
    with ProcessPoolExecutor(max_workers=min(workers, len(trials)), mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(grade_trial, trial, cache): k for k, trial in enumerate(trials)}
        try:
            for future in as_completed(futures):
                k = futures[future]
                with contextlib.suppress(BrokenProcessPool):
                    done[k] = future.result()
                    progress(done[k])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for k in sorted(set(range(len(trials))) - done.keys()):
        # a process died and took the pool with it: the rest one by one, so that the one which kills its process is found
        done[k] = _alone(trials[k], cache)
        progress(done[k])
    return done


def _alone(trial: Trial, cache: Path | None) -> Graded:
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(grade_trial, trial, cache).result()
        except BrokenProcessPool:
            reason = "the grading process died (out of memory, or killed)"
            return taxonomy.classify(Graded(trial, integrity.fault(trial.task, reason), attested=False))


def write(campaign: Campaign, folder: Path) -> Path:
    """`graded.jsonl` in `folder`: one trial a line. Gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(g.to_json(), allow_nan=False, separators=(",", ":")) for g in campaign)
    path = folder / GRADED
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    return path


__all__ = ["grade_all", "grade_trial", "write"]
