"""Sessions without a sidecar: jobs run on a device in this process, what a grader says of them, and solvers at work on it."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import qtypes
import tasks
from graders.kit import Check
from qtypes import Clock, Device, seeds


def completed(
    qtype: Any, device: Device[Any, Any], job_id: str, tool: str, request: str, rng: np.random.Generator, start_s: float = 0.0
) -> Any:
    """A completed job as graders read it, from the JSON text of its request."""
    experiment = qtype.tools()[tool].model_validate_json(request)
    experiment.admit(device.spec)
    arrays = {k: a.values for k, a in experiment.run(device, Clock(start_s), rng).arrays.items()}
    end_s = start_s + float(experiment.cost().lab_s)
    return SimpleNamespace(job_id=job_id, tool=tool, request=experiment, lab_start_s=start_s, lab_end_s=end_s, arrays=lambda: dict(arrays))


def graded(grader: Any, session: Any, answer: Any, seed: int = 0) -> tuple[dict[str, Check], dict[str, Any]]:
    """All checks of binding and scoring by name, and the replayed quantities."""
    q = grader.recompute(session)
    bound = grader.bind(answer, session, q)
    score = grader.score(answer, session, q, np.random.default_rng(seed))
    return {c.name: c for c in [*bound, *score.checks]}, score.quantities


def failed(checks: dict[str, Check]) -> set[str]:
    """Names of the gates that do not pass."""
    return {n for n, c in checks.items() if c.gate and not c.passed}


class Record(dict[str, Any]):
    """Arrays by name, like the client's."""

    job_id: str

    def result(self) -> Record:
        return self


class Bench:
    """One session on one device of a task; `answer` is what was submitted, `jobs` what a grader would see."""

    def __init__(self, task: str, root: bytes) -> None:
        self.card = tasks.load(task)
        self.root = seeds.root_from(root)
        self.qtype = qtypes.load(self.card.qtype)
        self.jobs: list[Any] = []
        self.queries: list[Any] = []
        self.answer: dict[str, Any] = {}

    @cached_property
    def device(self) -> Device[Any, Any]:
        profile = self.qtype.read_profile(self.card.profile)
        hidden = self.qtype.draw(seeds.generator(self.root, "device"), profile)
        return Device(self.qtype.spec(hidden, profile), hidden, profile)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None: ...

    def spec(self) -> dict[str, Any]:
        return {"spec": self.device.spec.model_dump(mode="json")}

    def notebook(self) -> list[dict[str, Any]]:
        book = self.qtype.notebook(self.device.hidden, seeds.generator(self.root, "notebook"), self.device.profile, dt.date(2026, 1, 31))
        return list(book.model_dump(mode="json")["entries"])

    def start_s(self) -> float:
        """Lab clock at which the next job starts."""
        return 0.0

    def submit(self, tool: str, **fields: Any) -> Record:
        name = f"j{len(self.jobs)}"
        rng = seeds.generator(self.root, f"job/{name}")
        self.jobs.append(completed(self.qtype, self.device, name, tool, _json(fields), rng, self.start_s()))
        found = Record(self.jobs[-1].arrays())
        found.job_id = name
        return found

    run = submit

    def query(self, tool: str, **fields: Any) -> dict[str, Any]:
        """A query is answered, and kept as a grader sees it."""
        request = self.qtype.tools()[tool].model_validate_json(_json(fields))
        request.admit(self.device.spec)
        job = next((j for j in self.jobs if j.job_id == getattr(request, "job_id", None)), None)
        source = (job.arrays(), job.request) if job else (None, None)
        result = request.answer(self.device, *source, np.random.default_rng(len(self.queries)))
        self.queries.append(SimpleNamespace(tool=tool, request=request, result=result))
        return dict(result)

    def submit_answer(self, answer: dict[str, Any]) -> str:
        self.answer = answer
        return "taken"

    def failed(self, grader: Any, **changes: Any) -> set[str]:
        """Names of the checks that fail the submitted answer with `changes`."""
        session = SimpleNamespace(device=self.device, jobs=tuple(self.jobs), card=self.card)
        return failed(graded(grader, session, grader.Answer.model_validate_json(_json(self.answer | changes)))[0])


class ClockedBench(Bench):
    """A session in which the lab clock advances and budgets hold; `spent` is what the jobs were charged."""

    def __init__(self, task: str, root: bytes) -> None:
        super().__init__(task, root)
        self.spent: dict[str, float] = {}

    def start_s(self) -> float:
        return self.spent.get("lab_s", 0.0)

    def submit(self, tool: str, **fields: Any) -> Record:
        found = super().submit(tool, **fields)
        for unit, amount in self.jobs[-1].request.cost().to_json().items():
            self.spent[unit] = self.spent.get(unit, 0.0) + amount
            assert self.spent[unit] <= self.card.budget.get(unit, float("inf")), unit
        return found

    run = submit

    def check_answer(self, answer: dict[str, Any]) -> None: ...


def _json(value: Any) -> str:
    return json.dumps(value, default=float)


@contextmanager
def modules_in(folder: Path, *names: str) -> Iterator[dict[str, ModuleType]]:
    """Modules of a folder by name; nothing of them is left behind in `sys.modules`."""
    before = set(sys.modules)
    hidden = {n: sys.modules.pop(n) for n in names if n in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        yield {n: importlib.import_module(n) for n in names}
    finally:
        sys.path.remove(str(folder))
        for name in [n for n in sys.modules if n not in before or n in names]:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        sys.modules.update(hidden)


def solution(task: str, *names: str) -> AbstractContextManager[dict[str, ModuleType]]:
    """Modules of a task's solution."""
    return modules_in(tasks.load(task).folder / "solution", *names)


def solved[B: Bench](task: str, module: ModuleType, root: bytes, kind: type[B] = Bench) -> B:  # type: ignore[assignment]
    """The session in which `module.main()` worked."""
    bench = kind(task, root)
    module.lab = SimpleNamespace(connect=lambda: bench, Lab=object)  # type: ignore[attr-defined]
    module.main()
    return bench
