"""The pilot: maximum likelihood of (ln A, ln Lambda), and blocks where they sharpen the distance most."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from sheet import real_distance

DISTANCES = (3, 5, 7, 9)
SCOUT_BLOCKS = 1_000_000
STEP_UNITS = 60
LEAST_FAILURES = 1100
SURE = 4.0  # standard errors between the real distance and the nearest odd number


class Pilot:
    """Failures and blocks by distance, and their fit."""

    def __init__(self, dev: Any, spec: dict[str, Any], units: float) -> None:
        self.dev = dev
        self.per_unit, self.largest = spec["blocks_per_unit"], spec["max_blocks"]
        self.units = units
        self.blocks = np.zeros(4)
        self.failures = np.zeros(4)

    def run(self, blocks: np.ndarray) -> None:
        jobs = [(k, self.dev.submit("run_pilot_memory", distance=DISTANCES[k], blocks=int(n))) for k, n in enumerate(blocks) if n >= 1]
        for k, job in jobs:
            record = job.result()
            self.failures[k] += int(record["failures"].sum())
            self.blocks[k] += int(record["blocks"].sum())
        self.units -= float(blocks.sum()) / self.per_unit

    def fit(self) -> tuple[np.ndarray, np.ndarray]:
        """(ln A, ln Lambda) and their covariance; binomial likelihood, Newton's method."""
        design = np.stack([np.ones(4), -(np.array(DISTANCES) + 1) / 2], axis=1)
        seen = self.blocks > 0
        x, n, k = design[seen], self.blocks[seen], self.failures[seen]
        theta = np.linalg.lstsq(x * np.sqrt(k + 0.5)[:, None], np.log((k + 0.5) / n) * np.sqrt(k + 0.5), rcond=None)[0]
        for _ in range(30):
            p = np.exp(x @ theta)
            theta = theta + np.linalg.solve(x.T @ (x * (n * p / (1 - p))[:, None]), x.T @ ((k - n * p) / (1 - p)))
        p = np.exp(x @ theta)
        return theta, np.linalg.inv(x.T @ (x * (n * p / (1 - p))[:, None]))

    def distance(self, error: float) -> tuple[float, float]:
        """Real distance for this error per block, and its standard error."""
        theta, covariance = self.fit()
        x = real_distance(error, (math.exp(theta[0]), math.exp(theta[1])))
        slope = np.array([2, -(x + 1)]) / theta[1]
        return x, float(np.sqrt(slope @ covariance @ slope))

    def plan(self, error: float, units: float) -> np.ndarray:
        """Blocks by distance of the next `units` that leave the smallest standard error of the distance."""
        theta, covariance = self.fit()
        x = real_distance(error, (math.exp(theta[0]), math.exp(theta[1])))
        slope = np.array([2, -(x + 1)])
        design = np.stack([np.ones(4), -(np.array(DISTANCES) + 1) / 2], axis=1)
        rate = np.exp(design @ theta)
        best, plan = math.inf, np.zeros(4)
        for share in itertools.product(range(7), repeat=4):
            if sum(share) == 6:
                blocks = np.array(share) / 6 * units * self.per_unit
                information = np.linalg.inv(covariance) + design.T @ (design * (blocks * rate)[:, None])
                variance = slope @ np.linalg.solve(information, slope)
                if variance < best:
                    best, plan = variance, blocks
        lacking = np.where(np.arange(4) < 2, np.maximum(LEAST_FAILURES - self.failures, 0) / rate, 0)
        if lacking.sum() > 0:
            plan = np.minimum(lacking * 1.05 + 1, units * self.per_unit * lacking / lacking.sum())
        return np.minimum(np.floor(plan), self.largest)

    def until_sure(self, error: float) -> None:
        """Scout, then more where it helps, until the odd distance above x is beyond doubt and the evidence is complete."""
        self.run(np.array([SCOUT_BLOCKS] * 3 + [0]))
        while True:
            x, sigma = self.distance(error)
            margin = abs(x - 2 * round((x - 1) / 2) - 1)
            complete = (self.failures[:2] >= LEAST_FAILURES - 50).all()
            print(f"x = {x:.3f} +- {sigma:.3f}, {self.units:.0f} units left", flush=True)
            if (complete and margin > SURE * sigma) or self.units < 10:
                return
            self.run(self.plan(error, min(STEP_UNITS if complete else 300, self.units - 5)))
