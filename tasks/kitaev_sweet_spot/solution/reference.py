"""Reference solver of kitaev_sweet_spot.

1. A wide map finds the middle of the charge diagram; four maps at other voltages of the bound state.
2. One thermal fit of all maps, each with its own centre: t and Delta over v_abs, U, temperature, lever arms, cross capacitances, sensors.
3. v_abs where t + U/2 = Delta; a map there, fit, once more. Plungers to the centre of the last map.
"""

from __future__ import annotations

from model import degenerate_at, splitting
from tune import Bench

import lab

CLOSE = 0.04


def main() -> None:
    with lab.connect() as dev:
        bench = Bench(dev)
        bench.survey()
        bench.confirm(degenerate_at(bench.fit.device), 200)
        bench.confirm(degenerate_at(bench.fit.device), 250)
        best = degenerate_at(bench.fit.device)
        if abs(best - bench.maps[-1].v_abs) > CLOSE:
            bench.confirm(best, 250)
            best = degenerate_at(bench.fit.device)
        sigma = bench.fit.sigma(lambda device: splitting(device, best))
        print(dev.submit_answer(bench.answer(best, splitting(bench.fit.device, best), sigma)))


if __name__ == "__main__":
    main()
