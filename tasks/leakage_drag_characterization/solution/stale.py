"""The reference's experiments with what is written: design anharmonicity, the notebook's bound on leakage, textbook coefficients."""

from __future__ import annotations

import numpy as np
from reference import BETAS, LENGTHS, measure

import lab


def main() -> None:
    with lab.connect() as dev:
        bound = dev.notebook()[-1]["data"]["leakage_below"]
        table = np.full((len(LENGTHS), len(BETAS)), bound)
        answer = measure(dev) | {
            "alpha_mhz": dev.spec()["spec"]["anharmonicity_nominal_mhz"], "leakage": table.tolist(), "leakage_sigma": table.tolist(),
            "beta_leak_8ns": 1.0, "beta_phase_16ns": 0.5,
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
