"""Reference experimentalist of bose_hubbard_parameters: four levels calibrated, walks of one boson, then quenches of four."""

from __future__ import annotations

import numpy as np
from chain_fit import DELAY, MU, N_PAR, PATTERNS, Data, J, U, confusion, continued, deviations, evolved, log_likelihood, sector

import lab

CALIBRATION_SHOTS = 1000
WALKS, WALK_TIMES, WALK_SHOTS = ("100000", "000100", "000001"), (2.0, 3.5, 5.0, 6.5, 8.0, 10.0, 12.5, 16.0), 100
QUENCHES = ("101011", "011101", "200200", "020020", "110011", "002110", "002002")
QUENCH_TIMES, QUENCH_SHOTS = (2.0, 4.0, 6.0, 9.0, 13.0, 18.0), 280
RAMSEY, RAMSEY_SITE, RAMSEY_TIMES, RAMSEY_SHOTS = "+00000", 1, (2.5, 4.5, 6.5, 8.5, 10.5, 12.5), 200
STARTS = 8
WALK_STAGES = (5.0, 8.0, 12.5, 16.0)
SHORT_NS = 6.0
STAGES = (4.0, 6.0, 9.0, 13.0, 18.0)

Runs = list[tuple[str, tuple[float, ...], np.ndarray]]


def occupations(dev: lab.Lab, initials: tuple[str, ...], times: tuple[float, ...], shots: int) -> tuple[Runs, list[str]]:
    jobs = [dev.submit("run_occupation", initial=i, times_ns=list(times), shots=shots) for i in initials]
    records = [j.result() for j in jobs]
    return [(i, times, r["n"]) for i, r in zip(initials, records, strict=True)], [r.job_id for r in records]


def quadratures(dev: lab.Lab) -> tuple[list[np.ndarray], list[str]]:
    """Both quadratures of a site next to one that began in a superposition."""
    fields = {"initial": RAMSEY, "times_ns": list(RAMSEY_TIMES), "site": RAMSEY_SITE, "shots": RAMSEY_SHOTS}
    records = [dev.run("run_quadrature", lo_phase_rad=phase, **fields) for phase in (0.0, np.pi / 2)]
    return [r["v"] for r in records], [r.job_id for r in records]


def mean_quadratures(par: np.ndarray) -> np.ndarray:
    """Expected quadratures `(2, times)` at phases 0 and pi/2: sqrt(2) (Re, Im) of <a>, with half a boson at first."""
    start = np.zeros((len(RAMSEY_TIMES), 6))
    _, _, place = sector(1)
    one = [tuple(int(k == i) for k in range(6)) for i in range(6)]
    start[:, place[one[RAMSEY.index("+")]]] = 1.0
    a = evolved(par, start, np.array(RAMSEY_TIMES), 1)[:, place[one[RAMSEY_SITE]]] / 2
    return np.sqrt(2) * np.array([a.real, a.imag])


def walk_fit(data: Data, j0: float, spread: float = 30.0) -> np.ndarray:
    """J, mu up to the common sign, and the delay. U does nothing to one boson."""
    free = np.r_[0:5, 11:16, DELAY]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(STARTS):
        par = np.concatenate([np.full(5, j0), np.zeros(6), spread * rng.standard_normal(5), [0.9]])
        found.append(continued(par, [data], free, WALK_STAGES))
    values = np.sort([v for _, v in found])[::-1]
    print("walks: log-likelihoods of the starts", np.round(values, 1))
    return max(found, key=lambda f: f[1])[0]


def answer_of(par: np.ndarray, sigma: np.ndarray, ids: list[str]) -> dict:
    def parts(v: np.ndarray, end: str) -> dict:
        return {f"j{end}": v[J].tolist(), f"u{end}": v[U].tolist(), f"mu{end}": v[MU].tolist()}

    return {
        **parts(par, "_mhz"), "delay_ns": float(par[DELAY]), **parts(sigma, "_sigma_mhz"), "delay_sigma_ns": float(sigma[DELAY]),
        "job_ids": ids,
    }  # fmt: skip


def old_u(dev: lab.Lab) -> list[float]:
    return next(e["data"]["u_mhz"] for e in dev.notebook() if e["data"] and "u_mhz" in e["data"])


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        print(spec["hamiltonian"])
        calibration = dev.run("run_level_reference", patterns=list(PATTERNS), shots=CALIBRATION_SHOTS)
        matrices = confusion(PATTERNS, calibration["n"])
        walks, walk_ids = occupations(dev, WALKS, WALK_TIMES, WALK_SHOTS)
        quenches, quench_ids = occupations(dev, QUENCHES, QUENCH_TIMES, QUENCH_SHOTS)
        ramsey, ramsey_ids = quadratures(dev)
        one, four = Data.of(walks, matrices), Data.of(quenches, matrices)

        par = walk_fit(one, float(np.mean(spec["coupling_range_mhz"])))
        par[U] = old_u(dev)  # another flux, so a start and no more
        free = np.arange(N_PAR)
        turned = par.copy()
        turned[MU] *= -1.0
        short = [log_likelihood(p, [four.until(SHORT_NS)]) for p in (par, turned)]
        print("sign of mu: log-likelihoods of the short quenches as found and turned", np.round(short, 1))
        par, _ = continued(par if short[0] > short[1] else turned, [one, four], free, STAGES)
        sigma = deviations(par, [one, four], free)
        print("log-likelihood", log_likelihood(par, [one, four]))

        expected, seen = mean_quadratures(par).ravel(), np.array([v.mean(axis=1) for v in ramsey]).ravel()
        line = np.polyfit(expected, seen, 1)
        print(f"homodyne: gain {line[0]:.2f} mV, rms residual {np.std(seen - np.polyval(line, expected)):.3f} mV")
        answer = answer_of(par, sigma, [calibration.job_id, *walk_ids, *quench_ids, *ramsey_ids])
        print({k: np.round(v, 2) for k, v in answer.items() if k != "job_ids"})
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
