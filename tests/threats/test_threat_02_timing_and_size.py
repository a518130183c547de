"""Line 2: the size of a record, the work of a job and the way to a refusal follow from the request, not from the device."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qtypes
import tasks
from evidence import pack
from qtypes import Clock, Device
from tests.sidecar.laboratory import ANSWER, TOOL, laboratory, reference
from tests.threats.conftest import SWEEP

REQUESTS = [
    ("transmon_t1", "run_iq_reference", reference(200)),
    ("transmon_t1", "run_pulse_sequence", SWEEP),
    ("drifting_t1", "run_iq_reference", reference(200)),
    ("drifting_t1", "run_pulse_sequence", SWEEP),
    ("surrogate_60q", "run_readout_cal", {"states": ["01" * 30], "shots": 200}),
    ("surrogate_60q", "run_measure", {"settings": [{"x": [0.1] * 6}, {"x": [1.0] * 6, "basis": "X" * 60}], "shots": 100}),
    ("lattice_surgery_cnot", "run_memory", {"patch": "M", "basis": "Z", "rounds": 2, "shots": 50}),
    ("lattice_surgery_cnot", "run_merge", {"seam": "ZZ", "merge_rounds": 3, "boundary_basis": "Z", "shots": 50}),
]
CIRCUIT_SHAPE = {"run_measure"}
"""The hidden circuit has more or fewer entangled groups, and each is drawn by its own call."""
IDS = [f"{task}-{tool}" for task, tool, _ in REQUESTS]


@cache
def devices(task: str) -> tuple[Device[Any, Any], ...]:
    """Drawn devices of a task; the circuits of the surrogate take seconds each."""
    card = tasks.load(task)
    qtype = qtypes.load(card.qtype)
    profile = qtype.read_profile(card.profile)
    drawn = [qtype.draw(np.random.default_rng(seed), profile) for seed in range(2 if task == "surrogate_60q" else 4)]
    return tuple(Device(spec=qtype.spec(hidden, profile), hidden=hidden, profile=profile) for hidden in drawn)


@contextmanager
def counted() -> Iterator[list[int]]:
    """Calls of functions while it is open: the work done, which a busy machine does not change."""
    calls = [0]

    def count(_frame: Any, event: str, _argument: Any) -> None:
        calls[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("task, tool, body", REQUESTS, ids=IDS)
def test_threat_02_size_and_work_of_a_job_follow_from_its_request(task: str, tool: str, body: dict[str, Any]) -> None:
    request = qtypes.load(tasks.load(task).qtype).tools()[tool].model_validate_json(json.dumps(body))
    sizes, work = set(), []
    for device in devices(task):
        request.run(device, Clock(0.0), np.random.default_rng(0))  # caches are filled once, by the first job of a worker
        for seed in (1, 2):
            with counted() as calls:
                record = request.run(device, Clock(0.0), np.random.default_rng(seed))
            sizes.add(len(pack({name: a.values for name, a in record.arrays.items()})))
            work.append(calls[0])
    assert len(sizes) == 1, "the bytes of a record differ between devices"
    spread = max(work) / min(work) - 1
    assert spread < (0.25 if tool in CIRCUIT_SHAPE else 1e-9), work


class Unreadable:
    """Stands for the hidden state: whoever looks at it fails."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the hidden state was read ({name})")


@pytest.mark.anyio
async def test_threat_02_a_refusal_is_decided_without_the_hidden_state(tmp_path: Path) -> None:
    """Its latency can then tell nothing of the device."""
    async with laboratory(tmp_path) as lab:
        session = lab.lab.session
        session.device = replace(session.device, hidden=Unreadable())
        session.truth = replace(session.truth, hidden_json="unreadable", seed={})
        wrong = [{}, {"shots": 0}, reference(250_001), reference() | {"x": 1}, reference() | {"rep_period_us": -1.0}]
        for body in wrong:
            assert (await lab.client.post(f"/v1/experiments/{TOOL}", json=body)).status_code == 422
        too_much = {**SWEEP, "shots": 40_000, "rep_period_us": 300.0}
        assert (await lab.client.post("/v1/experiments/run_pulse_sequence", json=too_much)).status_code in (409, 422)
        too_long = {**SWEEP, "sweep": [{"name": "tau_ns", "values": [1e9]}]}
        assert (await lab.client.post("/v1/experiments/run_pulse_sequence", json=too_long)).status_code == 422
        for t1 in (-1.0, 10.0, 40.0, 1e6):
            assert (await lab.client.post("/v1/answer/check", json={**ANSWER, "t1_us": t1})).status_code in (200, 422)
        assert (await lab.client.get("/v1/spec")).status_code == 200
        assert (await lab.client.post("/v1/answer", json=ANSWER)).status_code == 200
