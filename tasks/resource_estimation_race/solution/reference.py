"""Reference for resource_estimation_race: search in its own copy of the cost model, then one call to have the design counted."""

from __future__ import annotations

from typing import Any

from search import Design, Task, cheapest, cost

import lab


def task(spec: dict[str, Any]) -> Task:
    a, m = spec["algorithm"], spec["machine"]
    return Task(a["qubits"], a["t_gates"] + 4 * a["toffolis"], a["rotations"], a["error_budget"], *spec["pair"], m["injected_error"],
                m["reaction_us"])  # fmt: skip


def as_answer(x: Design, t: Task) -> dict[str, Any]:
    levels = [dict(zip(("dx", "dz", "dm", "count"), level, strict=True)) for level in x.levels]
    return {"d": x.d, "levels": levels, "eps_synthesis": t.synthesis(x.per_rotation), "routing": x.routing, "factories": x.factories}


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        t = task(spec)
        best = cheapest(t)
        answer = as_answer(best, t)
        found = dev.query("evaluate", **answer)
        print(f"{best}: {found['qubit_seconds']:.4g} qubit-seconds, error {found['total_error']:.3e}", flush=True)
        volume, error = cost(best, t)
        if not found["feasible"] or abs(found["qubit_seconds"] / volume - 1) > 1e-9 or abs(found["total_error"] / error - 1) > 1e-9:
            raise RuntimeError("the laboratory counts otherwise")
        dev.submit_answer(answer)


if __name__ == "__main__":
    main()
