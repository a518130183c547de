"""A laboratory without a sidecar: the client's calls that solvers make, answered by a device in this process."""

from __future__ import annotations

import importlib
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
from qtypes import Clock, Device, seeds


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
        from datetime import date

        book = self.qtype.notebook(self.device.hidden, seeds.generator(self.root, "notebook"), self.device.profile, date(2026, 1, 31))
        return list(book.model_dump(mode="json")["entries"])

    def submit(self, tool: str, **fields: Any) -> Record:
        (model,) = (e for e in self.qtype.experiments if e.tool == tool)
        request = model.model_validate_json(_json(fields))
        request.admit(self.device.spec)
        name = f"j{len(self.jobs)}"
        record = request.run(self.device, Clock(0.0), seeds.generator(self.root, f"job/{name}"))
        found = Record({n: a.values for n, a in record.arrays.items()})
        found.job_id = name
        self.jobs.append(
            SimpleNamespace(job_id=name, tool=tool, request=request, lab_start_s=0.0, lab_end_s=1.0, arrays=lambda: dict(found))
        )
        return found

    run = submit

    def submit_answer(self, answer: dict[str, Any]) -> str:
        self.answer = answer
        return "taken"

    def failed(self, grader: Any, **changes: Any) -> set[str]:
        """Names of the checks that fail the submitted answer with `changes`."""
        session = SimpleNamespace(device=self.device, jobs=tuple(self.jobs), card=self.card)
        answer = grader.Answer.model_validate_json(_json(self.answer | changes))
        q = grader.recompute(session)
        checks = [*grader.bind(answer, session, q), *grader.score(answer, session, q, np.random.default_rng(0)).checks]
        return {c.name for c in checks if not c.passed}


def _json(value: Any) -> str:
    import json

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


def solved(task: str, module: ModuleType, root: bytes) -> Bench:
    """The session in which `module.main()` worked."""
    bench = Bench(task, root)
    module.lab = SimpleNamespace(connect=lambda: bench, Lab=object)  # type: ignore[attr-defined]
    module.main()
    return bench
