"""ion_circuit_compilation: reference and trap on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tasks
from graders import ion_circuit_compilation as ion
from graders.ion_circuit_compilation import GRADER, Answer
from qtypes.ion_trap_gate_model.circuit import Gate, rz, xx
from qtypes.ion_trap_gate_model.experiments import Circuit, RunCircuits
from tests.graders.in_process import Bench, solution, solved

CARD = tasks.load("ion_circuit_compilation")
ROOT = b"ion"
EXCESS = "infidelity over the best compilation"


@pytest.fixture(scope="module", autouse=True)
def one_input() -> Iterator[None]:
    """One product state instead of eight: a fraction of the time, and the same decisions here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ion, "INPUTS", 1)
        yield


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Bench]]:
    with solution(CARD.name, "circuits", "reference", "trap") as modules:
        modules["reference"].DEPTHS = (2, 16)  # type: ignore[attr-defined]  # the same with less to simulate
        yield {n: solved(CARD.name, modules[n], ROOT) for n in ("reference", "trap")}


def test_the_reference_passes(done: dict[str, Bench]) -> None:
    assert done["reference"].failed(GRADER) == set()


def test_the_trap_fails_as_its_signature_says(done: dict[str, Bench]) -> None:
    assert done["trap"].failed(GRADER) >= {*GRADER.trap_fails, "bad pairs missed or wrongly named"}


def changed(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Fields of the answer with one thing wrong."""
    bad = answer["bad_pairs"]
    first = next(g for g in answer["circuit"] if g["gate"] == "xx")
    pair = sorted(first["ions"])
    match name:
        case "another angle":
            return {"circuit": [{**g, "angle": g["angle"] + 0.02} if g is first else g for g in answer["circuit"]]}
        case "compensated in the circuit":
            return {"circuit": [{**g, "angle": 0.96 * g["angle"]} if g["gate"] == "xx" else g for g in answer["circuit"]]}
        case "another map":
            return {"map_out": answer["map_out"][::-1]}
        case "a pair too few":
            return {"bad_pairs": bad[1:]}
        case "a pair too many":
            known = [b["pair"] for b in bad]
            return {"bad_pairs": [*bad, {**bad[0], "pair": next([i, 7] for i in range(7) if [i, 7] not in known)}]}
        case "error":
            return {"bad_pairs": [{**bad[0], "error": bad[0]["error"] + 4 * bad[0]["sigma"]}, *bad[1:]]}
        case "sigma":
            return {"bad_pairs": [{**b, "sigma": b["sigma"] / 3} for b in bad]}
        case "scale":
            scales = list(answer["angle_scale"])
            k = ion.PAIR_INDEX[pair[0], pair[1]]
            scales[k] += 0.02 if scales[k] < 1 else -0.02
            return {"angle_scale": scales}
        case "prediction":
            return {"predicted_error": answer["predicted_error"] + 0.04}
        case "no screening":
            return {"job_ids": answer["job_ids"][2:]}
        case "no trains":
            return {"job_ids": [*answer["job_ids"][:2], answer["job_ids"][3]]}
        case "no run":
            return {"job_ids": answer["job_ids"][:3]}
        case _:
            return {"job_ids": ["other", *answer["job_ids"]]}


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("another angle", "1 - unitary fidelity of the nominal circuit"),
        ("compensated in the circuit", "1 - unitary fidelity of the nominal circuit"),
        ("another map", "1 - unitary fidelity of the nominal circuit"),
        ("a pair too few", "bad pairs missed or wrongly named"),
        ("a pair too many", "bad pairs missed or wrongly named"),
        ("error", "largest |error - refitted| / sigma of a bad pair"),
        ("sigma", "largest ratio of reported and refitted sigma"),
        ("scale", "largest |angle_scale - refitted|"),
        ("prediction", "|predicted - replayed error|"),
        ("no screening", "pairs screened"),
        ("no screening", "bad pairs that were not screened"),
        ("no trains", "used pairs without a train"),
        ("no run", "shots of the submitted circuit"),
        ("a job of another", "cited jobs are completed jobs of this session"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(
    name: str, check: str, done: dict[str, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name not in ("prediction",):
        monkeypatch.setattr(ion, "replayed", lambda *_: 0.08)  # these checks do not need it
    bench = done["reference"]
    assert check in bench.failed(GRADER, **changed(bench.answer, name))


def test_overclaiming_leads_out_of_tolerance(done: dict[str, Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = done["reference"]
    monkeypatch.setattr(ion, "replayed", lambda *_: bench.answer["predicted_error"])
    moved = GRADER.overclaim(bench.answer, {})
    found = bench.failed(GRADER, **moved)
    assert found >= {"|predicted - replayed error|", "largest |error - refitted| / sigma of a bad pair"}


def test_splitting_gates_to_echo_crosstalk_costs_more_than_it_saves(done: dict[str, Bench]) -> None:
    bench = done["reference"]
    model = bench.device.hidden.noise(0.0)
    answer = Answer.model_validate_json(ion_json(bench.answer))
    target = bench.device.hidden.target.unitary()
    inputs = ion.product_states(np.random.default_rng(1), 1)
    split = tuple(h for g in answer.circuit for h in ((half(g), half(g)) if g.gate == "xx" else (g,)))
    quiet = type(model)(**{**vars(model), "crosstalk": np.zeros((8, 8))})  # the echo works perfectly, and its pulses are free
    where = (ion.by_pair(answer.angle_scale), inputs, inputs @ target.T, answer.map_in, answer.map_out)
    assert ion.replayed(quiet, split, *where) > 1.2 * ion.replayed(model, answer.circuit, *where)


def half(g: Gate) -> Gate:
    return xx(*g.ions, g.angle / 2)


def ion_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, default=float)


def job(gates: tuple[Gate, ...], bits: np.ndarray, reps: int = 1) -> Any:
    request = RunCircuits(circuits=(Circuit(gates=gates, reps=reps),), shots=len(bits))
    return SimpleNamespace(request=request, lab_start_s=0.0, arrays=lambda: {"bits": bits[None]})


def test_circuits_are_sorted_by_what_they_are() -> None:
    bits = np.zeros((400, 8), dtype=np.uint8)
    echo = (xx(0, 1, 0.5), xx(1, 0, -0.5), xx(4, 6, 0.5), xx(4, 6, -0.5))
    assert ion.sort_runs([job(echo, bits, 3)]) == {(0, 1): ion.Runs([(0.5, 6, 400, 400)]), (4, 6): ion.Runs([(0.5, 6, 400, 400)])}
    assert ion.sort_runs([job((xx(0, 1, -0.5),), bits, 4)]) == {(0, 1): ion.Runs([], [(0.5, 4, 1.0, 400)])}
    for gates in ((xx(0, 1, 0.5), xx(1, 2, 0.5)), (xx(0, 1, 0.5), rz(0, 0.1)), ()):  # shared ion, dressed, empty
        assert ion.sort_runs([job(gates, bits)]) == {}
    assert ion.sort_runs([job((xx(0, 1, 0.5), xx(0, 1, -0.4)), bits)]) == {}
    assert ion.sort_runs([job((xx(0, 1, 0.5), xx(0, 1, 0.5), xx(0, 1, -0.5)), bits)]) == {(0, 1): ion.Runs()}


def test_fits_return_what_made_the_data() -> None:
    def survived(m: int, theta: float) -> float:
        return 0.98 * (0.25 + 0.75 * (1 - 16 / 15 * (0.001 + 0.05 * theta / (np.pi / 2))) ** m)

    points = [(t, m, round(100_000 * survived(m, t)), 100_000) for t in (0.3, np.pi / 2) for m in (2, 14)]
    runs = ion.Runs(points)
    error, sigma = ion.pair_error(runs)
    assert runs.screened
    assert error == pytest.approx(0.051, abs=4 * sigma)
    assert not ion.Runs([p for p in points if p[0] > 1]).screened
    assert not ion.Runs([(t, min(m, 13), k, n) for t, m, k, n in points]).screened
    trains = [(np.pi / 2, n, 0.9 * (1 - 16 / 15 * 0.02) ** n * np.cos(n * np.pi / 2 * 1.031), 600) for n in (8, 9)]
    assert ion.over_rotation(ion.Runs([], trains), 0.02) == pytest.approx(0.031, abs=1e-3)


@pytest.mark.parametrize("change", [{"map_in": [0] * 8}, {"angle_scale": [1.2] * 28}, {"job_ids": []}, {"circuit": []}, {"x": 1}])
def test_the_schema_refuses_what_is_no_answer(change: dict[str, Any], done: dict[str, Bench]) -> None:
    with pytest.raises(ValidationError):
        Answer.model_validate_json(ion_json(done["reference"].answer | change))
