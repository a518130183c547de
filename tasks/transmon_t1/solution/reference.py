"""Reference experimentalist of transmon_t1. Works through the MCP tools alone, with the official Python client."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from typing import Any

import numpy as np
from mcp import Client
from scipy.optimize import curve_fit

URL = os.environ.get("LAB_MCP_URL", "http://sidecar:8000/mcp")
PAGE = 20_000  # elements per page of fetch_record
PULSE = {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}


class Laboratory:
    """The tools as coroutines that return the decoded JSON."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text
        if result.is_error:
            raise RuntimeError(f"{tool}: {text}")
        return json.loads(text)

    async def run(self, tool: str, **request: Any) -> tuple[str, np.ndarray]:
        """Submit, wait and fetch the raw IQ points page by page; returns the job id and `iq` (points, shots)."""
        job = await self.call(tool, **request)
        while job["status"] in ("queued", "running"):
            job = await self.call("wait_for_job", job_id=job["job_id"], timeout_s=20.0)
        if job["status"] != "completed":
            raise RuntimeError(f"{tool} ended as {job['status']}")
        pages, offset = [], 0
        while offset is not None:
            page = await self.call("fetch_record", job_id=job["job_id"], array="iq", offset=offset, count=PAGE, encoding="base64")
            pages.append(np.frombuffer(base64.b64decode(page["data"]), dtype=page["dtype"]))
            offset = page["next_offset"]
        return job["job_id"], np.concatenate(pages).reshape(page["shape"])

    async def relaxation(self, delays_us: np.ndarray, shots: int, rep_us: float) -> tuple[str, np.ndarray]:
        """A relaxation sweep with interleaved delays."""
        return await self.run(
            "run_pulse_sequence",
            steps=[PULSE, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"}],
            sweep=[{"name": "tau_ns", "values": [float(t) for t in np.round(delays_us * 1e3)]}],
            shots=shots, rep_period_us=rep_us, order="interleaved",
        )  # fmt: skip


def decay(t: np.ndarray, amplitude: float, floor: float, t1: float) -> np.ndarray:
    return amplitude * np.exp(-t / t1) + floor


def fit(delays_us: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(amplitude, floor, T1) of the mean projected signal, which is linear in the excited population; `u` (points, shots)."""
    error = u.std(axis=1) / np.sqrt(u.shape[1])
    start = (float(u[0].mean() - u[-1].mean()), float(u[-1].mean()), float(delays_us.max()) / 5)
    bounds = ([-np.inf, -np.inf, 1.0], [np.inf, np.inf, 5000.0])
    return curve_fit(decay, delays_us, u.mean(axis=1), p0=start, sigma=error, bounds=bounds)[0]


def two_clouds(u: np.ndarray, weight: float) -> tuple[float, float, float]:
    """Centres and width of a two-Gaussian mixture on the projected axis by expectation maximisation."""
    low, high, sigma = np.percentile(u, 15), np.percentile(u, 90), u.std() / 2
    for _ in range(300):
        odds = np.log(weight / (1 - weight)) + ((u - low) ** 2 - (u - high) ** 2) / (2 * sigma**2)
        excited = 1 / (1 + np.exp(-np.clip(odds, -60, 60)))
        weight = float(excited.mean())
        low, high = (u * (1 - excited)).sum() / (1 - excited).sum(), (u * excited).sum() / excited.sum()
        sigma = np.sqrt(np.mean(excited * (u - high) ** 2 + (1 - excited) * (u - low) ** 2))
    return float(low), float(high), float(sigma)


async def measure(lab: Laboratory) -> dict[str, Any]:
    spec = (await lab.call("get_spec"))["spec"]
    for entry in (await lab.call("read_notebook"))["entries"]:
        print(entry["date"], entry["title"], "-", entry["text"][:80])
    print(f"drive at {spec['drive_ghz']} GHz")
    jobs = []
    job, ground = await lab.run("run_iq_reference", prepare=0, shots=2000, rep_period_us=1000.0)
    jobs.append(job)
    job, excited = await lab.run("run_iq_reference", prepare=1, shots=2000, rep_period_us=1000.0)
    jobs.append(job)
    centre, direction = ground.mean(), np.exp(1j * np.angle(excited.mean() - ground.mean()))

    def project(iq: np.ndarray) -> np.ndarray:
        return ((iq - centre) * np.conj(direction)).real.astype(float)

    # The notebook's value is old: a wide scout decides how far to sweep.
    scout = np.array([0.0, 50.0, 100.0, 200.0, 500.0])
    _, iq = await lab.relaxation(scout, 400, 1500.0)
    guess = float(np.clip(fit(scout, project(iq))[2], 15.0, 200.0))
    print(f"scout: T1 about {guess:.0f} us")

    # Most of the information on T1 lies at the two ends and around one T1.
    delays = guess * np.concatenate((np.linspace(0.0, 0.1, 5), np.linspace(0.6, 1.6, 12), np.linspace(4.6, 5.4, 8)))
    job, iq = await lab.relaxation(delays, 1300, float(np.clip(15.0 * guess, 1000.0, 2200.0)))
    jobs.append(job)
    u = project(iq)
    _, floor, t1 = fit(delays, u)

    rng = np.random.default_rng(1)
    draws = [fit(delays, np.take_along_axis(u, rng.integers(0, u.shape[1], u.shape), axis=1))[2] for _ in range(100)]
    low, high, _ = two_clouds(np.concatenate((u.ravel(), project(ground).ravel(), project(excited).ravel())), 0.35)
    answer = {
        "t1_us": float(t1), "t1_sigma_us": float(np.std(draws)), "excited_floor": float(np.clip((floor - low) / (high - low), 0.0, 1.0)),
        "job_ids": jobs,
    }  # fmt: skip
    print({k: round(v, 3) for k, v in answer.items() if k != "job_ids"})
    return answer


async def main() -> None:
    async with Client(URL) as client:
        lab = Laboratory(client)
        answer = await measure(lab)
        await lab.call("check_answer", answer=answer)
        print(await lab.call("submit_answer", answer=answer))


if __name__ == "__main__":
    asyncio.run(main())
