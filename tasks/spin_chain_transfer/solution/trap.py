"""The shortcut of spin_chain_transfer: optimal controls for the chain that the notebook describes, verified, and the notebook's model."""

from __future__ import annotations

import numpy as np
from chainlab import Bench
from model import GUESS, TAU, optimum, shaped, transfer

import lab

KNOTS, PER_KNOT = 8, 9


def main() -> None:
    with lab.connect() as dev:
        known = dev.notebook()[0]["data"]
        bench = Bench(dev)
        device = GUESS.copy()
        device[:5], device[TAU] = [*known["j_mhz"], *known["detuning_mhz"]], known["tau_ns"]
        rng = np.random.default_rng(0)
        knots, _ = optimum(device, [rng.normal(0, 4.0, (3, KNOTS)) for _ in range(3)], PER_KNOT, 150)
        controls = shaped(knots, PER_KNOT)
        print("expected transfer", abs(transfer(device, controls)) ** 2)
        end = controls.shape[1]
        bench.measure(controls, ("+00", "0+0", "00+"), ("XXX", "YYY"), (18, 36, 54, end), 100)
        for line in range(3):
            one = np.where(np.arange(3)[:, None] == line, controls, 0.0)
            bench.measure(one, ("+00", "0+0", "00+"), ("XXX", "YYY"), (18, 36, 54, end), 90)
        print(dev.submit_answer(bench.answer(controls, device)))


if __name__ == "__main__":
    main()
