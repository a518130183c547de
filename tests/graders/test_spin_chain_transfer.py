"""spin_chain_transfer: the solver's model, reference and trap on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graders import spin_chain_transfer as task
from graders.spin_chain_transfer import GRADER, replay
from qtypes.spin_chain_control import physics
from tests.graders.in_process import Bench, solution, solved

TASK = "spin_chain_transfer"
REACHED = "replayed mean fidelity"
FEW = "verification shots of the input with the fewest"
REPORTED = "|reported - recomputed| fidelity"
CHI2 = "chi^2 per calibration datum"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(TASK, "model", "chainlab", "reference", "trap") as modules:
        modules["chainlab"].lab = SimpleNamespace(Lab=object)  # type: ignore[attr-defined]
        yield {n: solved(TASK, modules[n], b"chain") for n in ("reference", "trap")} | {"model": modules["model"]}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the draws of the noise: enough here."""
    monkeypatch.setattr(task, "NOISE_DRAWS", 20)


def truth(bench: Bench) -> np.ndarray:
    """The device as the solver's vector, T2 being that of spin 0."""
    h = bench.device.hidden
    return np.array([*h.j_mhz, *h.detuning_mhz, *h.response.ravel(), h.tau_ns, h.t2_us[0]])


def reached(bench: Bench, **changes: Any) -> float:
    answer = GRADER.Answer.model_validate_json(json.dumps(bench.answer | changes, default=float))
    return float(replay(bench.device.hidden, answer, np.random.default_rng(0)).mean())


def test_the_solvers_model_is_the_device(done: dict[str, Any]) -> None:
    model, device = done["model"], truth(done["reference"])
    h = done["reference"].device.hidden.model_copy(update={"noise_khz": 0.0, "t2_us": (device[-1],) * 3})
    chain = h.chain(np.random.default_rng(0), 1)
    u = np.random.default_rng(1).uniform(-10, 10, (3, 40))
    prepare, bases, reads = ("000", "010", "+00", "0r0", "00l"), ("ZZZ", "XYX", "YXY"), (0, 11, 40)
    asked = model.Data(u, prepare, bases, reads, 1, np.zeros(0))
    states = physics.evolve(chain, u, physics.prepared(prepare), reads)[:, 0]
    expected = np.stack([physics.ones(physics.outcomes(states, b, 0.0)).swapaxes(0, 1) for b in bases], axis=1)
    assert model.predicted(device[None], asked)[0] == pytest.approx(expected, abs=2e-3)
    ideal = h.model_copy(update={"t2_us": (1e9,) * 3}).chain(np.random.default_rng(0), 1)
    end = physics.evolve(ideal, u, physics.prepared(("+00",)), (40,))[0, 0, 0]
    assert model.transfer(device, u) == pytest.approx(complex(2 * end[1, 0]), abs=2e-3)


def test_the_solvers_gradient_leads_to_a_nearly_perfect_transfer(done: dict[str, Any]) -> None:
    model, device = done["model"], truth(done["reference"])
    knots, _ = model.optimum(device, [np.random.default_rng(3).normal(0, 4.0, (3, 8))], 9, 120)
    assert abs(model.transfer(device, model.shaped(knots, 9))) ** 2 > 0.995
    assert np.abs(knots).max() <= model.U_MAX


def test_the_reference_passes(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()


def test_the_trap_reports_honestly_and_transfers_worse(done: dict[str, Any]) -> None:
    failed = done["trap"].failed(GRADER)
    assert set(GRADER.trap_fails) <= failed
    assert not set(GRADER.trap_meets) & failed


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"readout_job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"readout_job_ids": ["j1"]}, "each list of jobs has one of its kind"),
        ({"verification_job_ids": ["j1"]}, FEW),
        ({"phase_rad": 0.123}, FEW),
        ({"calibration_job_ids": ["j1"]}, "calibration shots"),
        ({"calibration_job_ids": ["j1", "j2"]}, "calibration points"),
        ({"calibration_job_ids": ["j1", "j2", "j3"]}, "calibration waveforms"),
        ({"sigma": 0.0005}, "smallest reported sigma"),
        ({"sigma": 0.03}, "largest reported sigma"),
        ({"fidelity": 0.93}, REPORTED),
        ({"fidelity": 0.93}, "|reported - replayed| fidelity"),
        ({"tau_ns": 20.0}, CHI2),
        ({"response": [[1.0, 0.3, 0.3], [0.3, 1.0, 0.3], [0.3, 0.3, 1.0]]}, CHI2),
        ({"j_mhz": [1.0, 1.0]}, "largest |J - true J|"),
        ({"detuning_mhz": [0.0, 0.0, 0.0]}, "largest |d - true d|"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_controls_that_were_not_played_are_not_verified(done: dict[str, Any]) -> None:
    u = np.array(done["reference"].answer["controls_rad_per_us"])
    assert FEW in done["reference"].failed(GRADER, controls_rad_per_us=(0.99 * u).tolist())
    assert FEW in done["reference"].failed(GRADER, controls_rad_per_us=u[:, :-1].tolist())
    uneven = [u[0].tolist(), u[1].tolist(), u[2, :-1].tolist()]
    assert {FEW, REACHED} <= done["reference"].failed(GRADER, controls_rad_per_us=uneven)


def test_every_input_has_to_be_verified(done: dict[str, Any]) -> None:
    ids = done["reference"].answer["verification_job_ids"]
    for k in range(4):
        assert FEW in done["reference"].failed(GRADER, verification_job_ids=ids[:k] + ids[k + 1 :])


def test_few_readout_references_are_refused(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "REFERENCE_SHOTS", 1001)
    assert "readout shots of either state" in done["reference"].failed(GRADER)


def test_waiting_a_wrong_phase_and_weak_controls_fall_short(done: dict[str, Any]) -> None:
    bench = done["reference"]
    u = np.array(bench.answer["controls_rad_per_us"])
    assert reached(bench) > task.FIDELITY
    assert reached(bench, phase_rad=bench.answer["phase_rad"] + 0.4) < task.FIDELITY
    assert reached(bench, controls_rad_per_us=(0.5 * u).tolist()) < task.FIDELITY
    h = bench.device.hidden.model_copy(update={"noise_khz": 0.0})
    idle = physics.evolve(h.chain(np.random.default_rng(0), 1), np.zeros((3, 80)), physics.prepared(("+00",)), range(1, 81))[:, 0, 0, 1, 0]
    f = 2 * np.abs(idle)
    assert (0.5 + f / 3 + f**2 / 6).max() < task.FIDELITY - 0.02


def test_the_recomputed_fidelity_is_corrected_for_the_readout() -> None:
    seen = 1000 * np.array([[0.98, 0.02], [0.05, 0.95], [0.98, 0.02], [0.98, 0.02]])
    assert task.fidelity(seen, np.array([0.02, 0.05])) == pytest.approx(1.0)
    worse = 1000 * np.array([[0.98, 0.02], [0.05, 0.95], [0.515, 0.485], [0.515, 0.485]])
    assert task.fidelity(worse, np.array([0.02, 0.05])) == pytest.approx(2 / 3)


def test_a_moved_fidelity_is_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    assert REPORTED in done["reference"].failed(GRADER, fidelity=moved["fidelity"])
