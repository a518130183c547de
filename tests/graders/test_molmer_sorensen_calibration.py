"""molmer_sorensen_calibration: reference and trap on a device, the regrade, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graders import molmer_sorensen_calibration as grading
from graders.molmer_sorensen_calibration import GRADER, Tally, bell_fidelity, correction
from qtypes.trapped_ion_chain import physics
from qtypes.trapped_ion_chain.device import lamb_dicke
from tests.graders.in_process import Bench, solution, solved

TASK = "molmer_sorensen_calibration"
SCANS = [f"j{k}" for k in range(10)]
REFERENCES = ["j10", "j11"]
FINAL = ["j17", "j18", "j19", "j20"]


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(TASK, "pulses", "readings", "reference", "trap") as modules:
        yield {"pulses": modules["pulses"]} | {n: solved(TASK, modules[n], b"ions") for n in ("reference", "trap")}


@pytest.fixture(autouse=True)
def few_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "REPLAYS", 20)


def test_the_solvers_pulses_are_closed_in_the_devices_physics(done: dict[str, Any]) -> None:
    h = Bench(TASK, b"ions").device.hidden
    public = Bench(TASK, b"ions").spec()["spec"]
    modes = np.array(h.modes_khz)
    pulse = done["pulses"].best(public, modes, [2, 4], np.full(5, 2.0), 0.2)
    ones = np.ones(len(pulse.omega))
    played = physics.Pulse(8.0 * ones, np.abs(pulse.omega), pulse.mu * ones, np.where(pulse.omega < 0, np.pi, 0.0))
    f = physics.force(played, h.modes(0.0))
    eta = lamb_dicke(modes * 1e-3)[[1, 3]]
    assert np.abs(f.end).max() < 1e-4 * np.abs(pulse.omega).max() * 120
    assert 2 * np.sum(eta[0] * eta[1] * f.area) == pytest.approx(-np.pi / 4, rel=1e-4)


def test_the_reference_passes_and_the_trap_fails_by_its_signature(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()
    missed = done["trap"].failed(GRADER)
    assert missed >= set(GRADER.trap_fails)
    assert not missed & set(GRADER.trap_meets)


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": [*SCANS[2:], *REFERENCES, *FINAL]}, "modes of which a cited scan shows a line"),
        ({"job_ids": [*SCANS, "j11", *FINAL]}, "reference shots of state 0"),
        ({"job_ids": [*SCANS, "j10", *FINAL]}, "reference shots of state 1"),
        ({"job_ids": [*SCANS, *REFERENCES, "j18", "j19", "j20"]}, "population shots of this pulse"),
        ({"job_ids": [*SCANS, *REFERENCES, "j17", "j19", "j20"]}, "parity shots of this pulse"),
        ({"job_ids": [*SCANS, *REFERENCES, "j17", "j19", "j20"]}, "phases of its parity scan"),
        ({"job_ids": [*SCANS, *REFERENCES, "j17", "j18", "j20"]}, "population shots of the repeated pulse"),
        ({"job_ids": [*SCANS, *REFERENCES, "j17", "j18", "j19"]}, "parity shots of the repeated pulse"),
        ({"virtual_z_rad": 0.9}, "population shots of this pulse"),
        ({"virtual_z_rad": 0.9}, "mean fidelity of the replays"),
        ({"virtual_z_rad": 0.9}, "10 % quantile of the replays"),
        ({"fidelity": 0.9}, "|claimed - recomputed| fidelity"),
        ({"fidelity_sigma": 0.03}, "claimed over recomputed sigma, or the inverse"),
        ({"fidelity_sigma": 0.001}, "claimed over recomputed sigma, or the inverse"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_a_longer_pulse_fails_by_its_length(done: dict[str, Any]) -> None:
    segments = done["reference"].answer["segments"]
    assert "length of the pulse" in done["reference"].failed(GRADER, segments=[*segments, {**segments[0], "duration_us": 1}])


def test_a_pulse_of_another_amplitude_is_another_pulse(done: dict[str, Any]) -> None:
    segments = [{**s, "omega_khz": 0.9 * s["omega_khz"]} for s in done["reference"].answer["segments"]]
    assert done["reference"].failed(GRADER, segments=segments) >= {"population shots of this pulse", "mean fidelity of the replays"}


def test_a_fidelity_moved_past_tolerance_is_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    assert done["reference"].failed(GRADER, fidelity=moved["fidelity"]) == {"|claimed - recomputed| fidelity"}


def test_a_scan_without_light_shows_no_line(done: dict[str, Any]) -> None:
    bench = Bench(TASK, b"ions")
    for m, mode in enumerate(bench.device.hidden.modes_khz):
        for omega in (0.0, 30.0 if m == 0 else 0.0):
            near = [mode + d for d in range(-8, 9)]
            bench.submit("run_sideband_scan", ion=3, detunings_khz=near, pulse_us=150, omega_khz=omega, shots=30)
    assert grading.lines(bench.jobs) == 1


def _tallies(rho: np.ndarray, shots: int, rng: np.random.Generator, errors: np.ndarray) -> list[Tally]:
    out = []
    for phase in (None, *np.arange(12) * np.pi / 12):
        u = np.eye(4) if phase is None else np.kron(*[physics.rotation(np.pi / 2, phase)] * 2)
        p = errors @ np.clip(np.diag(u @ rho @ u.conj().T).real, 0, None)
        out.append(Tally(phase, rng.multinomial(shots, p / p.sum()).astype(float)))
    return out


def test_the_regrade_finds_fidelity_and_error_of_known_states() -> None:
    """100 sets of shots of a dephased, leaky Bell state read with 1 and 2 % errors: unbiased, and scattered as it says."""
    rng = np.random.default_rng(1)
    rho = 0.94 * np.outer(physics.BELL, physics.BELL.conj()) + 0.03 * np.diag([0, 1, 0, 0]) + 0.03 * np.diag([0.5, 0, 0, 0.5])
    single = np.array([[0.99, 0.02], [0.01, 0.98]])
    errors = np.kron(single, single)
    found = np.array([bell_fidelity(_tallies(rho, 400, rng, errors), np.linalg.inv(errors)) for _ in range(100)])
    expected = physics.bell_fidelity(rho)
    assert found[:, 0].mean() == pytest.approx(expected, abs=3 * found[:, 0].std() / np.sqrt(100) + 1e-3)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.25)


def test_references_that_do_not_tell_the_states_apart_are_refused() -> None:
    flat = np.zeros((600, 5), dtype=np.uint8)
    assert correction([flat, flat]) is None
    inverse = correction([flat, np.ones_like(flat)])
    assert inverse == pytest.approx(np.eye(4))


def test_the_replay_begins_where_the_walk_ended(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = done["reference"]
    hidden = bench.device.hidden
    monkeypatch.setattr(type(hidden), "walk", lambda self, t_s: 6.0 if t_s >= 900.0 else 0.0)
    answer = GRADER.Answer.model_validate_json(json.dumps(bench.answer))
    for end_s, passes in ((899.0, True), (900.0, False)):
        session: Any = SimpleNamespace(device=bench.device, jobs=(SimpleNamespace(lab_end_s=end_s),))
        assert GRADER.score(answer, session, {}, np.random.default_rng(0)).checks[0].passed is passes
