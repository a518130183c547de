"""A trial as Harbor left it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TASK = "lattice_surgery_cnot"


@dataclass(frozen=True)
class Trial:
    """`rewards` is None where the verifier left none; `exception` is the type of what Harbor recorded."""

    folder: Path
    seconds: float
    rewards: dict[str, float] | None
    exception: str | None

    def file(self, path: str) -> Any:
        return json.loads((self.folder / path).read_text())

    @property
    def score(self) -> dict[str, Any]:
        return self.file("verifier/score.json")


def read_trial(job: Path, seconds: float) -> Trial:
    (folder,) = [p.parent for p in job.glob("*/result.json")]
    result = json.loads((folder / "result.json").read_text())
    verified, fault = result.get("verifier_result"), result.get("exception_info")
    return Trial(folder, seconds, verified["rewards"] if verified else None, fault["exception_type"] if fault else None)
