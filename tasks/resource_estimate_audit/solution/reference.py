"""Reference for resource_estimate_audit: mistakes from the report's own inputs, the pair from a pilot, then the sheet from the top."""

from __future__ import annotations

from typing import Any

import numpy as np
from pilot import Pilot
from sheet import differing, from_printed, recomputed

import lab

UNITS = 400  # of 600
WRONG_PAIR = 16.0  # chi-squared of the printed pair, 2 degrees of freedom


def measured(dev: Any, spec: dict[str, Any]) -> tuple[Pilot, tuple[float, float]]:
    """The pilot and its pair."""
    pilot = Pilot(dev, spec, UNITS)
    pilot.until_sure(float(recomputed(spec, tuple(spec["pair"]))["L9"]))  # type: ignore[arg-type]
    a, b = np.exp(pilot.fit()[0])
    return pilot, (float(a), float(b))


def answer_of(spec: dict[str, Any], pair: tuple[float, float], roots: list[str]) -> dict[str, Any]:
    lines = recomputed(spec, pair)
    return {"root_errors": roots, "corrected": lines | {"L8": list(pair)}, "meets_budget": lines["L13"] <= spec["qubit_cap"]}  # type: ignore[operator]


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        printed = spec["report"]
        roots = differing(printed, from_printed(spec, printed))
        pilot, pair = measured(dev, spec)
        theta, covariance = pilot.fit()
        away = np.log(printed["L8"]) - theta
        chi2 = float(away @ np.linalg.solve(covariance, away))
        if chi2 > WRONG_PAIR:
            roots.append("L8")
        print(f"A = {pair[0]:.4f}, Lambda = {pair[1]:.3f}, chi2 of the printed pair {chi2:.0f}; wrong in themselves: {roots}", flush=True)
        dev.submit_answer(answer_of(spec, pair, roots))


if __name__ == "__main__":
    main()
