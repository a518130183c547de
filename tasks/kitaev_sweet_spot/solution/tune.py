"""Maps of the solvers, and the answer that they support."""

from __future__ import annotations

from typing import Any

import numpy as np
from model import Fit, Map, amplitudes, fit, guess, scan

import lab

COARSE_ABS = 1.5
COARSE_REACH = 1.3
SURVEY_ABS = (0.7, 1.2, 1.7, 2.2)
REACH = 0.5
PIXELS = 21
GLANCE_SHOTS = 40
MOVED_MV = 0.04
POOR = 1.6
"""A map whose chi^2 is this much above the others' was hit by a jump."""


class Bench:
    """The laboratory, the maps taken so far and their fit."""

    def __init__(self, dev: lab.Lab) -> None:
        self.dev = dev
        self.spec = dev.spec()["spec"]
        self.prior, self.width = guess(self.spec)
        self.maps: list[Map] = []
        self.fit: Fit = self._locate()

    def measure(self, centre: np.ndarray, reach: float, pixels: int, v_abs: float, shots: int) -> Map:
        most = self.spec["dot_max_mv"]
        line = np.linspace(-reach, reach, pixels)
        v_l, v_r = (np.round(np.clip(c, reach - most, most - reach) + line, 4) for c in centre)
        record = self.dev.run("run_charge_map", v_l_mv=v_l.tolist(), v_r_mv=v_r.tolist(), v_abs_mv=round(v_abs, 4), shots=shots)
        return Map(record.job_id, v_l, v_r, round(v_abs, 4), shots, record["bits"].mean(axis=2))

    def _locate(self) -> Fit:
        """One wide map: the centre on a grid, then a fit."""
        first = self.measure(np.zeros(2), COARSE_REACH, 23, COARSE_ABS, 40)
        self.maps.append(first)
        start = scan(self.prior, first, COARSE_REACH)
        return fit(self.maps, self.prior, start[None], self.prior, self.width)

    def add(self, v_abs: float, shots: int) -> None:
        """One more map around the centre of the last one, and the fit of all."""
        centre = self.fit.centres[-1] - 0.03 * (v_abs - self.maps[-1].v_abs)
        self.maps.append(self.measure(centre, REACH, PIXELS, v_abs, shots))
        centres = np.vstack([self.fit.centres, centre])
        self.fit = fit(self.maps, self.fit.device, centres, self.prior, self.width)

    def jumped(self) -> bool:
        """Whether the last map does not fit."""
        return bool(self.fit.chi2[-1] > POOR * np.median(self.fit.chi2))

    def drop(self) -> None:
        """Leave the last map out."""
        self.maps.pop()
        self.fit = fit(self.maps, self.fit.device, self.fit.centres[:-1], self.prior, self.width)

    def survey(self) -> None:
        for v_abs in SURVEY_ABS:
            self.add(v_abs, 120)
            if self.jumped():
                self.drop()

    def confirm(self, v_abs: float, shots: int) -> None:
        """A map at the setting; taken again where an offset jumped meanwhile."""
        self.add(v_abs, shots)
        if self.jumped():
            self.drop()
            self.add(v_abs, shots)

    def answer(self, v_abs: float, splitting: float, sigma: float) -> dict[str, Any]:
        """Plungers to the centre of the last map, or to that of a quick one after it if an offset jumped in between."""
        t, delta = amplitudes(self.fit.device, v_abs)
        self.add(v_abs, GLANCE_SHOTS)
        before, after = self.fit.centres[-2:]
        v_l, v_r = after if np.abs(after - before).max() > MOVED_MV else before
        return {
            "v_l_mv": float(v_l), "v_r_mv": float(v_r), "v_abs_mv": v_abs, "t_over_delta": float(t / delta),
            "u_uev": float(self.fit.device[3]), "splitting_uev": splitting, "sigma_uev": sigma, "job_ids": [m.job_id for m in self.maps],
        }  # fmt: skip
