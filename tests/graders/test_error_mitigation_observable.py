"""error_mitigation_observable: an honest answer passes, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
import tasks
from graders.error_mitigation_observable import (
    GRADER,
    Answer,
    N,
    Scale,
    extrapolated,
    ideal_values,
    is_trotter,
    mitigated,
    response_of,
    sort_runs,
)  # fmt: skip
from graders.kit import Category, gate_circuits
from qtypes import Clock, Device
from qtypes.digital_gate_model import qasm
from qtypes.digital_gate_model.device import TARGET
from qtypes.digital_gate_model.materials import trotter_circuit

CARD = tasks.load("error_mitigation_observable")
QTYPE = qtypes.load(CARD.qtype)
ALL = ("calibration", *(f"scale {s}, {k}" for s in (1, 3, 5) for k in range(2)))
EXPONENTIAL = ("exponential",) * 4
RECOMPUTED = "largest |reported - recomputed| value"


def basis_state(state: int) -> str:
    flips = "".join(f"sx q[{q}]; sx q[{q}];\n" for q in range(5) if state >> q & 1)
    return f"OPENQASM 3.0;\nqubit[5] q;\nbit[5] c;\n{flips}c = measure q;\n"


@cache
def session() -> Any:
    profile = QTYPE.read_profile(CARD.profile)
    hidden = QTYPE.draw(np.random.default_rng(5), profile)
    device = Device(QTYPE.spec(hidden, profile), hidden, profile)
    jobs = []

    def add(job_id: str, circuits: list[str], shots: int, twirl: int = 0) -> None:
        fields = {"circuits": circuits, "shots": shots, "pauli_twirl": twirl}
        request = QTYPE.tools()["run_circuits"].model_validate_json(json.dumps(fields))
        arrays = {k: a.values for k, a in request.run(device, Clock(0.0), np.random.default_rng([3, len(jobs)])).arrays.items()}
        jobs.append(SimpleNamespace(job_id=job_id, tool="run_circuits", request=request, lab_start_s=0.0, arrays=lambda: arrays))

    add("calibration", [basis_state(s) for s in range(N)], 600)
    for scale in (1, 3, 5):
        for k in range(2):
            add(f"scale {scale}, {k}", [trotter_circuit(scale)], 200, 100)
        add(f"untwirled {scale}", [trotter_circuit(scale)], 20_000)
    add("few", [trotter_circuit(3)], 200, 50)
    add("no box", [trotter_circuit().replace("box_1", "box_2")], 200, 100)
    add("other angle", [trotter_circuit(1).replace("rz(3.641592653589793) q[1]", "rz(3.65) q[1]")], 200, 100)
    add("two states", [basis_state(0), basis_state(N - 1)], 10_000)
    return SimpleNamespace(device=device, jobs=tuple(jobs))


def cited(*ids: str) -> tuple[Any, list[Scale], int]:
    return sort_runs(gate_circuits.runs([j for j in session().jobs if j.job_id in ids]))


@cache
def honest() -> dict[str, Any]:
    calibration, scales, _ = cited(*ALL)
    values = mitigated(scales, response_of(calibration, "full"), EXPONENTIAL)
    recipe = {"twirl": True, "scale_factors": [1.0, 3.0, 5.0], "fit": EXPONENTIAL, "readout": "full"}
    return {"values": values.tolist(), "sigmas": [0.008] * 4, "mitigation": recipe, "job_ids": ALL}


def failed(**changes: Any) -> dict[str, Category]:
    answer, q = Answer.model_validate_json(json.dumps(honest() | changes)), GRADER.recompute(session())
    checks = [*GRADER.bind(answer, session(), q), *GRADER.score(answer, session(), q, np.random.default_rng(0)).checks]
    return {c.name: c.category for c in checks if not c.passed}


def recipe(**changes: Any) -> dict[str, Any]:
    return {"mitigation": honest()["mitigation"] | changes}


def test_an_honest_answer_passes() -> None:
    assert failed() == {}


def test_ideal_values_are_those_of_qiskit() -> None:
    qi = pytest.importorskip("qiskit.quantum_info")
    qiskit = pytest.importorskip("qiskit")
    *turns, link = session().device.hidden.box_1
    circuit = qiskit.QuantumCircuit(5)
    for q, turn in enumerate(turns):
        circuit.ry(turn, q)
    for q in range(4):
        circuit.rzz(link, q, q + 1)
    for _ in range(4):
        for a, b in ((0, 1), (2, 3), (1, 2), (3, 4)):
            circuit.rzz(0.5, a, b)
        for q in range(5):
            circuit.rx(0.35, q)
    state = qi.Statevector(circuit)
    expected = [state.expectation_value(qi.Pauli(p)).real for p in ("IIIIZ", "IIZII", "ZIIII", "IZIZI")]  # qubit 0 is the last letter
    assert ideal_values(session().device.hidden.boxes) == pytest.approx(expected, abs=1e-9)


def test_values_that_the_records_do_not_support_fail() -> None:
    assert failed(values=ideal_values(session().device.hidden.boxes).round(3).tolist()).keys() <= {RECOMPUTED}
    moved = [v + 0.016 for v in honest()["values"]]
    assert failed(values=moved)[RECOMPUTED] is Category.UNSUPPORTED
    assert len(failed(**GRADER.overclaim(honest(), {}))) == 5


def test_another_recipe_does_not_support_the_values() -> None:
    assert RECOMPUTED in failed(**recipe(fit=("linear",) * 4)) or RECOMPUTED in failed(**recipe(readout="tensored"))
    assert failed(**recipe(scale_factors=[1.0, 2.0, 5.0]))["|declared - cited scale factors|"] is Category.UNSUPPORTED
    assert "|declared - cited scale factors|" in failed(**recipe(scale_factors=[1.0, 3.0]))


def test_untwirled_folding_is_far_from_the_truth_and_lacks_its_evidence() -> None:
    ids = ("calibration", "untwirled 1", "untwirled 3", "untwirled 5")
    calibration, scales, _ = cited(*ids)
    assert [(s.factor, len(s.rows)) for s in scales] == [(1.0, 1), (3.0, 1), (5.0, 1)]
    weights = response_of(calibration, "full")
    rows = [Scale(s.factor, np.repeat(s.rows, 2, axis=0)) for s in scales]
    values = mitigated(rows, weights, ("quadratic",) * 4)
    assert np.abs(values - ideal_values(session().device.hidden.boxes)).max() > 0.05
    found = failed(job_ids=ids, values=np.clip(values, -1, 1).tolist(), **recipe(twirl=False, fit=("quadratic",) * 4))
    assert found["independent twirls of the scale with the fewest"] is Category.MISSING_EVIDENCE


MISSING = {
    "two scales": (tuple(i for i in ALL if "5" not in i), "noise scales"),
    "few twirls": (("few", *(i for i in ALL if "scale 3" not in i)), "independent twirls of the scale with the fewest"),
    "no calibration": (ALL[1:], "calibration shots of the state with the fewest"),
    "part of the calibration": (("two states", *ALL[1:]), "calibration shots of the state with the fewest"),
    "another input": (("no box", *ALL), "every cited circuit is a readout calibration or the Trotter circuit on box_1"),
    "another angle": (("other angle", *ALL), "every cited circuit is a readout calibration or the Trotter circuit on box_1"),
    "another's job": (("other", *ALL), "cited jobs are completed jobs of this session"),
}


@pytest.mark.parametrize(("ids", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named(ids: tuple[str, ...], check: str) -> None:
    assert failed(job_ids=ids)[check] in (Category.MISSING_EVIDENCE, Category.FOREIGN_JOB)


def test_a_tensored_calibration_needs_both_states_of_each_qubit_only() -> None:
    ids = ("two states", *ALL[1:])
    calibration, scales, _ = cited(*ids)
    values = mitigated(scales, response_of(calibration, "tensored"), EXPONENTIAL)
    found = failed(job_ids=ids, values=values.tolist(), **recipe(readout="tensored"))
    assert not {RECOMPUTED, "calibration shots of the state with the fewest"} & set(found)


def test_a_dishonest_error_bar_fails() -> None:
    assert list(failed(sigmas=[0.001, 0.008, 0.008, 0.008])) == ["smallest reported sigma"]
    assert list(failed(sigmas=[0.008, 0.008, 0.03, 0.008])) == ["largest reported sigma"]


def test_circuits_are_judged_by_what_they_do() -> None:
    def judged(text: str) -> bool:
        return is_trotter(qasm.read(text, TARGET))

    text = trotter_circuit()
    assert judged(text)
    assert judged(trotter_circuit(3))
    assert not judged(text.replace("cz q[0], q[1];\n", "cz q[0], q[1];\n" * 2, 1))
    box, undo = "box_1 q[0], q[1], q[2], q[3], q[4];\n", "inv @ box_1 q[0], q[1], q[2], q[3], q[4];\n"
    assert judged(text.replace(box, box + undo + box))
    assert not judged(text.replace(box, ""))
    assert not judged(text.replace(box, box + box))
    assert judged(text.replace("c = measure", "rz(0.3) q[2];\nc = measure"))  # a phase before the readout changes nothing


def test_fits_return_what_made_the_points() -> None:
    x, errors = np.array([1.0, 3.0, 5.0]), np.array([0.01, 0.01, 0.02])
    assert extrapolated(x, -0.4 * 0.9**x, errors, "exponential") == pytest.approx(-0.4, abs=1e-6)
    assert extrapolated(x, 0.2 - 0.03 * x, errors, "linear") == pytest.approx(0.2)
    assert extrapolated(x, 0.2 - 0.03 * x + 0.004 * x**2, errors, "quadratic") == pytest.approx(0.2)
    # a change of sign is beyond an exponential: its factor stops at 0.6
    assert math.isfinite(extrapolated(x, np.array([0.03, 0.0, -0.02]), errors, "exponential"))
    assert abs(extrapolated(x, np.array([0.03, 0.0, -0.02]), errors, "exponential")) < 0.06


@pytest.mark.parametrize(
    "change", [{"values": [0.1] * 3}, {"values": [2.0] * 4}, {"sigmas": [0.0] * 4}, {"job_ids": []}, {"x": 1}]
)
def test_the_schema_refuses_what_is_no_answer(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps(honest() | change))
