"""drag_gate: the solver's model, reference and trap on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graders import drag_gate
from graders.drag_gate import GRADER
from qtypes.transmon_multilevel_pulse.device import RAD_PER_NS
from tests.graders.in_process import Bench, solution, solved

TASK = "drag_gate"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(TASK, "model", "readout", "reference", "trap") as modules:
        yield {n: solved(TASK, modules[n], b"drag") for n in ("reference", "trap")} | {"model": modules["model"]}


@pytest.fixture(autouse=True)
def few_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drag_gate, "REPLAYS", 4)


def test_the_solvers_model_is_the_device_without_decoherence(done: dict[str, Any]) -> None:
    h = Bench(TASK, b"drag").device.hidden
    model = done["model"].Device(h.alpha_mhz * 1e-3, h.offset_mhz * 1e-3, h.gain, h.tau_ns, h.skew, h.imbalance)
    rng = np.random.default_rng(0)
    samples = rng.uniform(-0.4, 0.4, (3, 10)) + 1j * rng.uniform(-0.4, 0.4, (3, 10))
    theirs = h.transmon(0.0).unitary(h.line(0.0), RAD_PER_NS * samples)
    assert np.abs(model.unitaries(samples) - theirs).max() < 1e-3


def test_the_error_of_a_gate_is_that_of_its_definition(done: dict[str, Any]) -> None:
    model = done["model"]
    x = np.zeros((1, 4, 4), complex)
    x[0, :2, :2] = [[0, 1], [1, 0]]
    zero = np.zeros(1)
    assert model.gate_error(x, zero, zero)[0] == pytest.approx(0)
    angle = 0.1  # a turn too far by 0.1 rad: 1 - F = (2/3) sin^2(angle / 2)
    half = (np.pi + angle) / 2
    x[0, :2, :2] = [[np.cos(half), -1j * np.sin(half)], [-1j * np.sin(half), np.cos(half)]]
    assert model.gate_error(x, zero, zero)[0] == pytest.approx(2 / 3 * np.sin(angle / 2) ** 2)
    turned = x * np.exp(0.3j * np.arange(4))[:, None] * np.exp(0.7j * np.arange(4))
    assert model.gate_error(turned, np.array([-0.7]), np.array([-0.3]))[0] == pytest.approx(2 / 3 * np.sin(angle / 2) ** 2)


def test_the_reference_passes_and_the_trap_leaks(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()
    assert done["trap"].failed(GRADER) >= {"leakage per gate, back to back", "leakage per gate, with random paddings"}


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j0"]}, "reference shots of level 2"),
        ({"job_ids": ["j0", "j1", "j2"]}, "shots of random trains of the submitted samples"),
        ({"job_ids": ["j0", "j1", "j2"]}, "a train of no pulse among them"),
        ({"job_ids": ["j0", "j1", "j2"]}, "pulses of the longest train"),
        ({"i": [0.5] * 10}, "shots of random trains of the submitted samples"),
        ({"i": [0.5] * 10}, "error per gate, back to back"),
        ({"i": [0.5] * 9}, "as many samples of i as of q"),
        ({"z_after_rad": 1.0}, "error of one gate alone"),
        ({"predicted_error": 0.01}, "predicted error against the trains"),
        ({"predicted_leakage": 0.002}, "predicted leakage against the trains"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_predictions_moved_past_tolerance_are_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    assert "predicted error against the trains" in done["reference"].failed(GRADER, predicted_error=moved["predicted_error"])
