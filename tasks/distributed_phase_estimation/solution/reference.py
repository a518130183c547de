"""Reference for distributed_phase_estimation: the offset of the pairs before and after, separable shots for a start, then both
mid-fringes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lab

COARSE, EXTREMUM, ZZ = 100, 150, 150
MID_FRINGE = 600  # at each of the two, before and after
SEPARABLE = 250  # at each of two quadratures
FIRST, ENTANGLED = 250, 1250  # at each of the two mid-fringes, before and after they are known better
GRID = np.linspace(-np.pi, np.pi, 1440, endpoint=False)
READ_CONTRAST = 0.96


def wrap(angle: Any) -> Any:
    return (np.asarray(angle) + np.pi) % (2 * np.pi) - np.pi


class Log:
    """Parities so far, in four sorts: (analysis phase, shots, even ones, lab time)."""

    def __init__(self, dev: Any) -> None:
        self.dev = dev
        self.jobs: list[str] = []
        self.bits = 0
        self.clock_s = 0.0
        spec = dev.spec()["spec"]
        self.cycle_s, self.job_s = spec["cycle_s"], spec["job_s"]
        self.rows: dict[str, list[tuple[float, int, int, float]]] = {"tomography": [], "ZZ": [], "separable": [], "entangled": []}

    def measure(self, sort: str, shots: int, phase: float) -> None:
        """One job and the transfer of all bits of node B."""
        tool = {"separable": "run_separable", "entangled": "run_entangled"}.get(sort, "run_pair_tomography")
        kind = "tomography" if sort == "ZZ" else sort
        fields: dict[str, Any] = {"shots": shots, "analysis_a_rad": float(wrap(phase)), "analysis_b_rad": 0.0}
        if kind == "tomography":
            fields["basis"] = "ZZ" if sort == "ZZ" else "equator"
        record = self.dev.run(tool, **fields)
        bought = self.dev.query("request_bits", job_id=record.job_id, kind=kind, first=0, count=shots)
        b = np.array(list(bought["bits"]), dtype=int)
        setting = np.array(list(bought.get("settings", "0" * shots)), dtype=int)
        even = (record["bits_a"] ^ b) == 0
        for s in np.unique(setting):
            chosen = setting == s
            when = self.clock_s + self.cycle_s * shots / 2
            self.rows[sort].append((phase + np.pi * s, int(chosen.sum()), int(even[chosen].sum()), when))
        self.clock_s += self.job_s + self.cycle_s * shots
        self.jobs.append(record.job_id)
        self.bits += shots * (2 if sort == "separable" else 1)


def likelihood(rows: list[tuple[float, int, int, float]], angle: np.ndarray, visibility: float) -> np.ndarray:
    """Log-likelihood of the rows on a grid of angles."""
    total = np.zeros(np.shape(angle))
    for phase, n, even, _ in rows:
        p = np.clip((1 + visibility * np.cos(angle + phase)) / 2, 1e-4, 1 - 1e-4)
        total = total + even * np.log(p) + (n - even) * np.log1p(-p)
    return total


def summary(log_likelihood: np.ndarray) -> tuple[float, float]:
    """Circular mean and standard deviation of a likelihood on GRID."""
    p = np.exp(log_likelihood - log_likelihood.max())
    p /= p.sum()
    mean = float(np.angle((p * np.exp(1j * GRID)).sum()))
    return mean, float(np.sqrt((p * wrap(GRID - mean) ** 2).sum()))


def drifted(rows: list[tuple[float, int, int, float]], rate: float, t_s: float) -> list[tuple[float, int, int, float]]:
    """The rows as they would be at one time, for an offset that drifts."""
    return [(phase + rate * (when - t_s), n, even, when) for phase, n, even, when in rows]


def main() -> None:
    with lab.connect() as dev:
        log = Log(dev)
        limit = dev.spec()["spec"]["ranges"]["largest_drift_rad_per_s"]
        for phase in (0.0, np.pi / 2):
            log.measure("tomography", COARSE, phase)
        rough = summary(likelihood(log.rows["tomography"], GRID, 0.83))[0]
        log.measure("tomography", EXTREMUM, -rough)
        log.measure("ZZ", ZZ, 0.0)
        for sign in (1, -1):
            log.measure("tomography", MID_FRINGE, sign * np.pi / 2 - rough)

        for phase in (0.0, np.pi / 2):
            log.measure("separable", SEPARABLE, phase)
        near = summary(likelihood(log.rows["separable"], GRID, 0.47))[0]
        before = summary(likelihood(log.rows["tomography"], GRID, 0.83))[0]
        for shots in (FIRST, ENTANGLED):
            for sign in (1, -1):
                log.measure("entangled", shots, sign * np.pi / 2 - near - before)
            near = summary(likelihood(log.rows["separable"], GRID, 0.47) + likelihood(log.rows["entangled"], GRID + before, 0.8))[0]
        for sign in (1, -1):
            log.measure("tomography", MID_FRINGE, sign * np.pi / 2 - before)

        trials = np.linspace(0.7, 0.95, 51)
        seen = float(trials[int(np.argmax([likelihood(log.rows["tomography"], GRID, v).max() for v in trials]))])
        sensing_s = float(np.average([row[3] for row in log.rows["entangled"]], weights=[row[1] for row in log.rows["entangled"]]))
        rates = np.linspace(-limit, limit, 21)
        grid = np.array([likelihood(drifted(log.rows["tomography"], r, sensing_s), GRID, seen) for r in rates])
        offset, offset_sigma = summary(np.logaddexp.reduce(grid, axis=0))
        weight = np.exp(grid.max(axis=1) - grid.max())
        rate = float((weight * rates).sum() / weight.sum())
        visibility = 0.97 * seen  # the interrogation costs a little coherence
        entangled = likelihood(drifted(log.rows["entangled"], rate, sensing_s), GRID + offset, visibility)
        theta, sigma = summary(entangled + likelihood(log.rows["separable"], GRID, 0.47))
        sigma = float(np.hypot(sigma, offset_sigma))
        _, zz_n, zz_even, _ = log.rows["ZZ"][0]
        fidelity = (1 + (2 * zz_even / zz_n - 1 + 2 * seen) / READ_CONTRAST) / 4
        print(f"offset {offset:.3f} +- {offset_sigma:.3f}, theta {theta:.3f} +- {sigma:.3f}, fidelity {fidelity:.3f}", flush=True)
        answer = {
            "theta_rad": theta, "sigma_rad": sigma, "pair": {"fidelity": min(fidelity, 1.0), "phase_offset_rad": offset},
            "sensing_pairs": 2 * (FIRST + ENTANGLED), "classical_bits": log.bits, "job_ids": log.jobs,
        }  # fmt: skip
        dev.check_answer(answer)
        dev.submit_answer(answer)


if __name__ == "__main__":
    main()
