"""A sidecar killed at any instant: no acknowledged job is lost, none is charged twice, the log holds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from bench.processes import free_port
from evidence import Bundle, Event, verify
from qharbor.embedded import sidecar_env

TASK = "surrogate_60q"
TOOL = "run_readout_cal"
STATES = ["0" * 60, "1" * 60]
JOBS = 50
"""Most jobs of one session (its budget is 60)."""
WAITING = 5
SEEDS = {
    "during admission": "submitted",
    "as a job starts": "started",
    "as a record is written": "record",
    "as a job ends": "completed",
    "at any time": "time",
}


@dataclass
class Client:
    """Submits with idempotency keys and retries what was not acknowledged."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)

    def work(self, url: str, ended: threading.Event) -> None:
        """Until the sidecar is gone."""
        with httpx.Client(timeout=30, base_url=url) as http:
            while not ended.is_set():
                try:
                    self.step(http)
                except httpx.HTTPError:
                    time.sleep(0.01)

    def step(self, http: httpx.Client) -> None:
        waiting = sum(j["status"] in ("queued", "running") for j in http.get("/v1/jobs").json()["jobs"])
        number = len(self.acknowledged)
        if number < JOBS and waiting < WAITING:
            self.submit(http, number)
        elif number:
            self.submit(http, random.randrange(number))  # a retry of what was acknowledged before
            time.sleep(0.01)

    def submit(self, http: httpx.Client, number: int) -> None:
        key = f"key-{number:06d}"
        self.unclear.add(key)
        answer = http.post(f"/v1/experiments/{TOOL}", json={"states": STATES, "shots": shots(number)}, headers={"Idempotency-Key": key})
        if answer.status_code == 202:
            job_id = answer.json()["job_id"]
            assert self.acknowledged.setdefault(key, job_id) == job_id, "a retry gave another job"
            self.unclear.discard(key)
        else:
            assert answer.status_code == 429, answer.text


def shots(number: int) -> int:
    return 100 + number


class Life:
    """A sidecar process in a process group of its own."""

    def __init__(self, bundle: Path) -> None:
        self.bundle = bundle
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        env = sidecar_env(TASK, bundle, port) | {"QHARBOR_WORKERS": "1"}
        with (bundle.parent / "sidecar.log").open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "sidecar"], env=env, stdout=log, stderr=log, start_new_session=True)

    def wait_healthy(self) -> None:
        deadline = time.monotonic() + 90
        while True:
            try:
                if httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            assert self.process.poll() is None, (self.bundle.parent / "sidecar.log").read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def kill(self, *, group: bool) -> None:
        if group:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()


def wait_for(bundle: Path, trigger: str, rng: random.Random) -> None:
    """Return at the instant at which to kill: a little after the log or the records folder changed in the wanted way."""
    log, records = bundle / "log.jsonl", bundle / "records"
    position, deadline = log.stat().st_size, time.monotonic() + 20
    if trigger == "time":
        time.sleep(rng.uniform(0.0, 2.0))
        return
    while time.monotonic() < deadline:
        if trigger == "record":
            if any(records.glob(".*")):
                return
        else:
            with log.open("rb") as f:
                f.seek(position)
                if f'"kind":"job_{trigger}"'.encode() in f.read():
                    break
        time.sleep(0.001)
    time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.005), rng.uniform(0.0, 0.1)]))


def events(bundle: Path) -> list[Event]:
    return list(Bundle(bundle).events())


def nothing_is_lost(bundle: Path, client: Client) -> None:
    """After a kill: the chain holds, and every acknowledged job stands in the log, once."""
    report = verify(bundle)
    assert report.ok, report.problem
    submitted = {e.data["key"]: e.data["job_id"] for e in events(bundle) if e.kind == "job_submitted"}
    assert client.acknowledged.items() <= submitted.items()
    assert set(submitted) <= set(client.acknowledged) | client.unclear
    assert Counter(e.data["key"] for e in events(bundle) if e.kind == "job_submitted").most_common(1)[0][1] == 1 if submitted else True


def killed(folder: Path, kills: int, seed: int) -> Counter[str]:
    """A session with `kills` kills, finished and accounted for; counts what the kills interrupted."""
    rng = random.Random(seed)
    bundle = folder / "bundle"
    bundle.mkdir(parents=True)
    client, interrupted = Client(), Counter[str]()
    for number in range(kills):
        life = Life(bundle)
        ended = threading.Event()
        try:
            life.wait_healthy()
            working = threading.Thread(target=client.work, args=(life.url, ended))
            working.start()
            wait_for(bundle, list(SEEDS.values())[number % len(SEEDS)], rng)
        finally:
            life.kill(group=number % 2 == 1)
            ended.set()
        working.join()
        nothing_is_lost(bundle, client)
        last = events(bundle)
        running = {e.data["job_id"] for e in last if e.kind == "job_started"} - {
            e.data["job_id"] for e in last if e.kind == "job_completed"
        }
        interrupted += Counter({"kills": 1, "running job": bool(running), "torn record": any((bundle / "records").glob(".*")),
                                "torn log": bool(verify(bundle).torn_bytes), "unanswered submission": bool(client.unclear)})  # fmt: skip
    last_life(bundle, client)
    return interrupted + Counter(jobs=len(client.acknowledged))


def last_life(bundle: Path, client: Client) -> None:
    life = Life(bundle)
    try:
        life.wait_healthy()
        with httpx.Client(timeout=60, base_url=life.url) as http:
            for number in range(len(client.acknowledged) + 1):
                client.submit(http, number)
            jobs = http.get("/v1/jobs").json()["jobs"]
            for job in jobs:
                while http.get(f"/v1/jobs/{job['job_id']}/wait?timeout_s=30").json()["status"] in ("queued", "running"):
                    pass
            jobs = http.get("/v1/jobs").json()["jobs"]
            budget = http.get("/v1/budget").json()
    finally:
        life.kill(group=True)
    report = verify(bundle)
    assert report.ok, report.problem
    assert not client.unclear
    assert {j["job_id"] for j in jobs} == set(client.acknowledged.values())
    assert {j["status"] for j in jobs} == {"completed"}
    total = sum(len(STATES) * shots(n) for n in range(len(client.acknowledged)))
    assert (budget["shots"]["used"], budget["jobs"]["used"]) == (total, len(client.acknowledged))
    assert {unit: entry["used"] for unit, entry in report.budget.items()} == {unit: entry["used"] for unit, entry in budget.items()}
    starts = sorted((j["lab_start_s"], j["lab_end_s"]) for j in jobs)
    assert all(end == pytest.approx(start) for (_, end), (start, _) in pairwise(starts))
    assert not any((bundle / "records").glob(".*"))


def test_eight_kills_at_random_instants_lose_nothing_and_charge_nothing_twice(tmp_path: Path) -> None:
    counts = killed(tmp_path, 8, seed=1)
    assert counts["kills"] == 8
    assert counts["running job"] > 0


@pytest.mark.slow
def test_two_hundred_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter[str]()
    for session in range(10):
        counts += killed(tmp_path / str(session), 20, seed=100 + session)
        with capsys.disabled():
            print(f"\nafter session {session + 1}: {dict(counts)}")
    assert counts["kills"] == 200
