"""The shortcut of bose_hubbard_parameters: the notebook's way. Walks of one boson, two levels, no delay, and U from the spectroscopy."""

from __future__ import annotations

import numpy as np
from chain_fit import DELAY, MU, N_PAR, PATTERNS, Data, J, U, confusion, continued, deviations
from reference import (
    CALIBRATION_SHOTS,
    QUENCH_SHOTS,
    QUENCH_TIMES,
    QUENCHES,
    WALK_TIMES,
    WALKS,
    answer_of,
    occupations,
    old_u,
    quadratures,
)  # fmt: skip

import lab

SHOTS = 200
STARTS = 4
STAGES = (5.0, 8.0, 16.0)
SPECTROSCOPY_MHZ = 0.3
CLOCK_NS = 0.05
"""What the pulse length is taken to be good to."""


def main() -> None:
    with lab.connect() as dev:
        calibration = dev.run("run_level_reference", patterns=list(PATTERNS), shots=CALIBRATION_SHOTS)
        matrices = confusion(PATTERNS, np.minimum(calibration["n"], 1))
        walks, ids = occupations(dev, WALKS, WALK_TIMES, SHOTS)
        data = [Data.of([(i, t, np.minimum(n, 1)) for i, t, n in walks], matrices)]
        rng, free = np.random.default_rng(0), np.r_[0:5, 11:16]
        found = []
        for _ in range(STARTS):
            start = np.zeros(N_PAR)
            start[J], start[MU] = np.mean(dev.spec()["spec"]["coupling_range_mhz"]), 30.0 * rng.standard_normal(5)
            found.append(continued(start, data, free, STAGES))
        par = max(found, key=lambda f: f[1])[0]
        par[U] = old_u(dev)
        sigma = np.zeros(N_PAR)
        sigma[free], sigma[U], sigma[DELAY] = deviations(par, data, free), SPECTROSCOPY_MHZ, CLOCK_NS
        _, quench_ids = occupations(dev, QUENCHES, QUENCH_TIMES, QUENCH_SHOTS)  # what the report has to rest on, not analysed
        _, ramsey_ids = quadratures(dev)
        print(dev.submit_answer(answer_of(par, sigma, [calibration.job_id, *ids, *quench_ids, *ramsey_ids])))


if __name__ == "__main__":
    main()
