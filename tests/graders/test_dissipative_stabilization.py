"""dissipative_stabilization: the solver's model, reference and trap on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graders import dissipative_stabilization as task
from graders.dissipative_stabilization import GRADER, replay
from qtypes.driven_dissipative_transmon_array import physics
from tests.graders.in_process import Bench, solution, solved

TASK = "dissipative_stabilization"
FEW = "fewest tomography shots of a basis and time, second initial state"
LOWEST = "lowest fidelity over initial states and times"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(TASK, "model", "calibrate", "reference", "trap") as modules:
        yield {n: solved(TASK, modules[n], b"pair") for n in ("reference", "trap")} | {"model": modules["model"]}


def truth(bench: Bench) -> np.ndarray:
    """The device as the solver's vector."""
    h = bench.device.hidden
    return np.array([h.gamma_mhz, h.eta[1], h.phi_rad[1] - h.phi_rad[0], *h.offset_mhz, *h.rabi_scale, *h.t1_us, *h.tphi_us])


def answer(bench: Bench, **changes: Any) -> Any:
    return GRADER.Answer.model_validate_json(json.dumps(bench.answer | changes, default=float))


def lowest(bench: Bench, **changes: Any) -> float:
    return float(replay(bench.device.hidden, answer(bench, **changes), 0.0).min())


def test_the_solvers_model_is_the_device(done: dict[str, Any]) -> None:
    model, bench = done["model"], done["reference"]
    h = bench.device.hidden.model_copy(update={"thermal": model.THERMAL, "phi_rad": (0.0, float(truth(bench)[2]))})
    setting = model.Setting((3.0, 2.0), (0.3, -1.1), (0.7, -0.2))
    theirs = physics.generator(h.model(0.0, setting.amp, setting.phase, setting.detuning))
    ours = model.generator(truth(bench), setting)
    assert ours == pytest.approx(theirs, abs=1e-10)
    start, times = physics.product(np.array([0.0, 1.0])), np.array([0, 13, 700, 20_000])
    after = model.evolved(ours[None], model.start("ge"), times)[0]
    assert after == pytest.approx(physics.propagate(theirs, start, times), abs=1e-8)
    assert model.results(after, "XZ") == pytest.approx(physics.outcomes(after, "XZ", np.zeros(2)), abs=1e-9)
    parked = model.Setting((3.0, 2.0), (0.3, -1.1), (0.7, -0.2), (1,))
    theirs = physics.generator(h.model(0.0, parked.amp, parked.phase, parked.detuning, parked.parked))
    assert model.generator(truth(bench), parked) == pytest.approx(theirs, abs=1e-10)
    assert model.fidelity(after[1], 0.9) == pytest.approx(float(physics.singlet_fidelity(after[1], np.array([0.0, 0.9]))))


def test_the_reference_passes_and_comes_near_the_best_settings(done: dict[str, Any]) -> None:
    bench, model = done["reference"], done["model"]
    assert bench.failed(GRADER) == set()
    device = truth(bench)
    best = model.optimum(device, model.dark_settings(device), 8.0)
    reached = model.fidelity(model.steady(model.generator(device, best)), device[2])
    assert reached - 0.02 < lowest(bench) < reached + 0.01


def test_the_trap_reports_honestly_and_holds_another_state(done: dict[str, Any]) -> None:
    failed = done["trap"].failed(GRADER)
    assert set(GRADER.trap_fails) <= failed
    assert not set(GRADER.trap_meets) & failed


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j0", "j1", "j2"]}, "reference shots of the string with the fewest"),
        ({"job_ids": ["j0", "j1", "j2", "j3"]}, FEW),
        ({"amp_mhz": [4.0, 4.0]}, FEW),
        ({"frame_rad": [0.0, 0.0]}, FEW),
        ({"sigma": 0.001}, "smallest reported sigma"),
        ({"sigma": 0.05}, "largest reported sigma"),
        ({"fidelity_20us": 0.99}, "largest |reported - recomputed| fidelity"),
        ({"fidelity_60us": 0.7}, "|reported - replayed| fidelity at 60 us"),
        ({"phase_rad": [0.0, 0.0], "detuning_mhz": [0.0, 0.0]}, LOWEST),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_one_initial_state_is_not_enough(done: dict[str, Any]) -> None:
    ids = done["reference"].answer["job_ids"]
    assert FEW in done["reference"].failed(GRADER, job_ids=ids[:5])
    assert FEW not in done["reference"].failed(GRADER, job_ids=ids[:6])


def test_references_that_tell_nothing_are_refused(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_references", lambda jobs: np.full((4, 4), 1e4))
    assert "the references tell the four strings apart" in done["reference"].failed(GRADER)


def test_a_slow_pump_leaves_a_spread(done: dict[str, Any]) -> None:
    """The strongest drives at nearly no detuning: a dark state of fidelity near one in theory, reached never."""
    bench = done["reference"]
    h = bench.device.hidden
    phase = [0.0, h.phi_rad[1] - h.phi_rad[0]]
    amp, detuning = [6.5 / s for s in h.rabi_scale], [0.05 - h.offset_mhz[0], -0.05 - h.offset_mhz[1]]
    weak = {"amp_mhz": amp, "phase_rad": phase, "detuning_mhz": detuning}
    assert lowest(bench, **weak) < 0.4
    assert {LOWEST} <= bench.failed(GRADER, **weak)
    slow = h.model_copy(update={"t1_us": (1e6, 1e6), "tphi_us": (1e6, 1e6)})
    fidelities = replay(slow, answer(bench, **weak), 0.0)
    assert np.ptp(fidelities) > task.SPREAD


def test_the_drive_phase_and_the_balance_of_the_drives_matter(done: dict[str, Any]) -> None:
    bench = done["reference"]
    (a, b), (_, p) = bench.answer["amp_mhz"], bench.answer["phase_rad"]
    assert lowest(bench, phase_rad=[0.0, p + 0.3]) < 0.6
    assert lowest(bench, amp_mhz=[a, 1.1 * b]) < task.FIDELITY
    assert lowest(bench, phase_rad=[1.0, p + 1.0]) == pytest.approx(lowest(bench), abs=1e-9)


def test_moved_fidelities_are_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    changes = {f: moved[f] for f in ("fidelity_20us", "fidelity_60us")}
    assert "largest |reported - recomputed| fidelity" in done["reference"].failed(GRADER, **changes)
