"""A synthetic campaign: many systems on many tasks, graded from disk. Prints the cost of a verdict and what a second worker gains.

Its sessions come from the solvers of `qharbor check` on fresh devices: reference, trap and cheats. A trial of the campaign is one of them
retold: the same experiments and records under a nonce, commitment and log of its own, with the same answer, another one, or none. A system
has a skill, the probability that it does what the reference does; else it fails in one of the ways in which systems fail. The folders have
the form in which Harbor leaves them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evidence import ANSWER, LOG_NAME, SCORE, Bundle, Truth, digest, dumps, read_events, write_whole
from evidence.log import GENESIS, make_event

SYSTEMS, REPEATS = 17, 3
GOAL_RATIO = 0.65
CUT_SHARE = 0.01
NOISE = 0.3
KEPT = object()

Bases = Mapping[str, Mapping[str, Sequence[Path]]]
"""Bundles by task and solver."""


def base_sessions(task: str, folder: Path, devices: int = 1) -> dict[str, list[Path]]:
    """Sessions of a task by solver, from `qharbor check`; what is there already is kept."""
    from qharbor.check import solvers

    found: dict[str, list[Path]] = {}
    for device in range(devices):
        at = folder / task / str(device)
        made = {}
        for solver in ("reference", "trap", "nop"):
            made[solver] = at / solver / "bundle"
            if not (made[solver] / SCORE).is_file():
                shutil.rmtree(at / solver, ignore_errors=True)
                solvers.script(task, solver, at / solver)
        passed = json.loads((made["reference"] / SCORE).read_text())["reward"] == 1
        for solver, derived in solvers.DERIVED.items():
            made[solver] = at / solver / "bundle"
            if not (made[solver] / SCORE).is_file():
                shutil.rmtree(at / solver, ignore_errors=True)
                try:
                    derived(task, solvers.Kept(made["reference"], passed), at / solver)
                except solvers.NotApplicable:
                    del made[solver]
        for solver, bundle in made.items():
            found.setdefault(solver, []).append(bundle)
    return found


def retold(bundle: Path, out: Path, answer: Any = KEPT) -> None:
    """`bundle` as the session of another nonce in `out`; `answer` replaces its answer, None takes it away."""
    out.mkdir(parents=True)
    for sub in ("records", "payloads"):
        if (bundle / sub).is_dir():
            shutil.copytree(bundle / sub, out / sub, copy_function=_link)
    truth = replace(Truth.read(bundle), nonce=secrets.token_hex(32), salt=secrets.token_hex(32))
    truth.write(out)
    text = Bundle(bundle).answer_text()
    data = None if text is None else text.encode()
    if answer is not KEPT:
        data = None if answer is None else dumps(answer)
    prev, lines = GENESIS, list[bytes]()
    for event in read_events(bundle / LOG_NAME):
        changed = dict(event.data)
        if event.kind == "session_opened":
            session = hashlib.sha256(truth.nonce.encode()).hexdigest()[:16]
            changed |= {"nonce": truth.nonce, "session": session, "commitment": truth.commitment}
        elif event.kind == "answer_submitted":
            if data is None:
                continue
            changed = {"sha256": digest(data), "bytes": len(data)}
        line = make_event(len(lines), event.kind, changed, prev, event.time)
        lines.append(line.line())
        prev = line.hash
    if data is not None:
        write_whole(out / ANSWER, data)
    (out / LOG_NAME).write_bytes(b"".join(lines))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def noisy(answer: Any, rng: np.random.Generator) -> Any:
    """An answer whose real numbers are off by about 30 % each."""
    if isinstance(answer, dict):
        return {k: noisy(v, rng) for k, v in answer.items()}
    if isinstance(answer, list):
        return [noisy(v, rng) for v in answer]
    return answer * float(np.exp(NOISE * rng.normal())) if isinstance(answer, float) else answer


def build(out: Path, bases: Bases, systems: int = SYSTEMS, repeats: int = REPEATS, seed: int = 0) -> int:
    """Write the campaign as Harbor jobs, one a system; the number of its trials."""
    rng = np.random.default_rng(seed)
    trials = 0
    for s, skill in enumerate(np.linspace(0.95, 0.1, systems)):
        name = f"system-{s + 1:02d}"
        for task, sessions in bases.items():
            for k in range(repeats):
                _trial(out / name / f"{task}__{k}", name, task, sessions, float(skill), rng)
                trials += 1
        (out / name / "result.json").write_text(json.dumps({"n_total_trials": len(bases) * repeats}))
    return trials


def _trial(folder: Path, system: str, task: str, sessions: Mapping[str, Sequence[Path]], skill: float, rng: np.random.Generator) -> None:
    reference = sessions["reference"][int(rng.integers(len(sessions["reference"])))]
    evidence = folder / "artifacts" / "evidence"
    kind = "reference" if rng.random() < skill else str(rng.choice([k for k in (*sessions, "noisy", "unanswered") if k != "reference"]))
    if kind == "noisy":
        text = Bundle(reference).answer_text()
        retold(reference, evidence, noisy(json.loads(text), rng) if text else None)
    elif kind == "unanswered":
        retold(reference, evidence, None)
    else:
        retold(sessions[kind][int(rng.integers(len(sessions[kind])))], evidence)
    if rng.random() < CUT_SHARE:  # the laboratory's fault: the end of the log was lost
        lines = (evidence / LOG_NAME).read_bytes().splitlines(keepends=True)
        (evidence / LOG_NAME).write_bytes(b"".join(lines[: max(1, len(lines) - 2)])[:-5])
    record: dict[str, Any] = {
        "id": secrets.token_hex(16), "task_name": f"quantum-harbor/{task}", "trial_name": folder.name,
        "agent_info": {"name": system, "version": "1", "model_info": None},
        "verifier_result": {"rewards": {"reward": int(kind == "reference")}},
        "agent_result": {"n_input_tokens": int(rng.integers(10_000, 200_000)), "n_output_tokens": int(rng.integers(1_000, 20_000))},
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(record))


def filled(names: Sequence[str], n: int) -> list[str]:
    """`names` and as many instances of the stabilizer tasks as make `n` of them, from the smallest code on."""
    from qharbor.stabilizer import instances

    known = {c: instances.row(c) for c in instances.chosen(())}
    small = sorted((c for c in known if known[c]["copy_of"] is None), key=lambda c: (int(known[c]["n"]), c))
    more = [f"{short}_{code}" for code in small for short in instances.TASKS]
    return [*names, *more[: max(0, n - len(names))]]


def timed(jobs: Path, workers: int, dask: bool) -> tuple[float, int, float]:
    """Wall time, verdicts and CPU time of grading a campaign without a cache."""
    from results.find import find
    from results.grading import grade_all

    trials = find([jobs])
    if not dask:
        began = time.monotonic()
        campaign = grade_all(trials, workers=workers)
        return time.monotonic() - began, len(campaign), sum(g.cpu_s for g in campaign)
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster:
        cluster.wait_for_workers(workers)
        grade_all(trials[:workers], dask=cluster.scheduler_address)  # imports are not what is measured
        began = time.monotonic()
        campaign = grade_all(trials, dask=cluster.scheduler_address)
        return time.monotonic() - began, len(campaign), sum(g.cpu_s for g in campaign)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.campaign", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tasks", nargs="*", default=["readout_confusion", "cycle_error_reconstruction"], help="tasks, or `all`")
    parser.add_argument("--fill", type=int, default=0, metavar="N", help="instances of the stabilizer tasks until there are N tasks")
    parser.add_argument("--systems", type=int, default=SYSTEMS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--devices", type=int, default=1, help="fresh devices per solver that the trials are made from")
    parser.add_argument("--base", type=Path, help="folder of the solvers' sessions; what is there is used")
    parser.add_argument("--out", type=Path, help="keep the campaign there")
    parser.add_argument("--dask", action="store_true", help="workers of a local Dask cluster instead of a process pool")
    given = parser.parse_args()
    import tasks

    names = filled(tasks.names() if given.tasks == ["all"] else given.tasks, given.fill)
    with tempfile.TemporaryDirectory(prefix="qharbor-campaign-") as scratch:
        base, jobs = given.base or Path(scratch) / "base", given.out or Path(scratch) / "jobs"
        bases = {task: base_sessions(task, base, given.devices) for task in names}
        trials = build(jobs, bases, given.systems, given.repeats)
        print(f"{given.systems} systems x {len(names)} tasks x {given.repeats} repeats: {trials} trials")
        one, n, cpu = timed(jobs, 1, given.dask)
        print(f"one worker: {one:.1f} s, {1e3 * cpu / n:.1f} ms of CPU time per verdict")
        two, _, _ = timed(jobs, 2, given.dask)
        good = two <= GOAL_RATIO * one
        print(f"two workers: {two:.1f} s, {two / one:.2f} of one (goal {GOAL_RATIO}): {'met' if good else 'not met'}")


if __name__ == "__main__":
    main()
