"""Sessions of the stabilizer tasks without a sidecar: queries answered in this process and counted, then graded."""

from __future__ import annotations

import json
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import graders
from graders.kit import Check
from qtypes import AgentError, Device
from tests.graders.in_process import Bench as _Bench
from tests.graders.in_process import failed, graded


class Bench(_Bench):
    """A session whose tools are queries."""

    def __init__(self, task: str, root: bytes = b"0", device: Device | None = None) -> None:
        super().__init__(task, root)
        self.queries: list[Any] = []
        if device is not None:
            self.__dict__["device"] = device

    def query(self, tool: str, **fields: Any) -> dict[str, Any]:
        if len(self.queries) >= self.card.budget["attempts"]:
            raise AgentError("the budget is used up", code="budget-exhausted")
        request = self.qtype.tools()[tool].model_validate_json(json.dumps(fields))
        request.admit(self.device.spec)
        result = json.loads(json.dumps(request.answer(self.device, None, None, np.random.default_rng(0))))
        self.queries.append(SimpleNamespace(tool=tool, request=request, result=result))
        return dict(result)

    @property
    def session(self) -> Any:
        return SimpleNamespace(device=self.device, queries=tuple(self.queries), card=self.card)

    @property
    def grader(self) -> Any:
        return graders.load(self.card.name)

    def verdict(self, **changes: Any) -> dict[str, Check]:
        """All checks of the submitted answer with `changes`, by name."""
        answer = self.grader.Answer.model_validate_json(json.dumps(self.answer | changes))
        return graded(self.grader, self.session, answer)[0]

    def fails(self, **changes: Any) -> set[str]:
        return failed(self.verdict(**changes))


def at_work(task: str, module: ModuleType, root: bytes) -> Bench:
    """The session in which `module.main()` worked."""
    bench = Bench(task, root)
    module.lab = SimpleNamespace(connect=lambda: bench)  # type: ignore[attr-defined]
    module.main()
    return bench


def judged(task: str, root: bytes, *circuits: str) -> Bench:
    """A session in which these circuits were judged and the first was handed in."""
    bench = Bench(task, root)
    found = [bench.query(bench.grader.oracle, circuit=c) for c in circuits]
    bench.answer = {"circuit_sha256": found[0]["sha256"]}
    return bench
