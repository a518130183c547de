"""readout_confusion: an honest answer passes, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
import tasks
from graders.kit import Category
from graders.readout_confusion import ALONE, GRADER, JOINT, SINGLES, Answer, N, columns_of, distance, true_matrix
from qtypes import Clock, Device

CARD = tasks.load("readout_confusion")
QTYPE = qtypes.load(CARD.qtype)
ALL = tuple(f"j{k}" for k in range(6))


def circuit(state: int, first: str = "", order: tuple[int, ...] = (0, 1, 2, 3)) -> str:
    flips = "".join(f"sx q[{q}]; sx q[{q}];\n" for q in range(6) if state >> q & 1)
    measured = "".join(f"c[{bit}] = measure q[{q}];\n" for bit, q in enumerate(order))
    return f"OPENQASM 3.0;\nqubit[6] q;\nbit[4] c;\n{first}{flips}{measured}"


def job(device: Device, job_id: str, circuits: list[str], shots: int, **more: Any) -> Any:
    request = QTYPE.tools()["run_circuits"].model_validate_json(json.dumps({"circuits": circuits, "shots": shots, **more}))
    rng = np.random.default_rng([7, *job_id.encode()])
    arrays = {k: a.values for k, a in request.run(device, Clock(0.0), rng).arrays.items()}
    return SimpleNamespace(job_id=job_id, tool="run_circuits", request=request, lab_start_s=0.0, lab_end_s=10.0, arrays=lambda: arrays)


@cache
def session() -> Any:
    profile = QTYPE.read_profile(CARD.profile)
    hidden = QTYPE.draw(np.random.default_rng(4), profile)
    device = Device(QTYPE.spec(hidden, profile), hidden, profile)
    jobs = [job(device, name, [circuit(s) for s in range(N) if s % 2 == k % 2], 2000) for k, name in enumerate(ALL)]
    jobs += [
        job(device, "turned", [circuit(s, order=(3, 1, 0, 2)) for s in range(N)], 1250),
        job(device, "superposition", [circuit(s, first="sx q[1];\n") for s in range(N)], 1250),
        job(device, "others up", [circuit(s | 16) for s in range(N)], 1250),
        job(device, "entangled", [circuit(s, first="cz q[0], q[1];\n") for s in range(N)], 1250),
        job(device, "alone a", [circuit(s) for s in SINGLES], 2000),
        job(device, "alone b", [circuit(s) for s in SINGLES], 2000),
        job(device, "once", [circuit(s) for s in range(N)], 1250),
    ]
    return SimpleNamespace(device=device, jobs=tuple(jobs))


@cache
def honest() -> dict[str, Any]:
    matrix, _, _ = columns_of([j for j in session().jobs if j.job_id in ALL])
    return {"matrix": matrix.tolist(), "correlated_pairs": session().device.hidden.correlated_pairs, "job_ids": ALL}


def failed(**changes: Any) -> dict[str, Category]:
    answer, q = Answer.model_validate_json(json.dumps(honest() | changes)), GRADER.recompute(session())
    checks = [*GRADER.bind(answer, session(), q), *GRADER.score(answer, session(), q, np.random.default_rng(0)).checks]
    return {c.name: c.category for c in checks if not c.passed}


def test_an_honest_answer_passes() -> None:
    assert failed() == {}
    assert failed(correlated_pairs=[list(reversed(p)) for p in reversed(honest()["correlated_pairs"])]) == {}


def test_the_true_matrix_is_what_the_device_does() -> None:
    device = session().device
    truth = true_matrix(device.hidden, 0.0)
    assert truth.sum(axis=0) == pytest.approx(np.ones(N))
    big = [job(device, f"big {s}", [circuit(s)], 20_000) for s in (0, 5, 14)]
    columns, shots, _ = columns_of(big)
    assert shots[[0, 5, 14]].tolist() == [20_000] * 3
    assert distance(columns, truth)[[0, 5, 14]].max() < 0.012  # 16 strings, 20 000 shots: 0.005 is expected


def test_bits_are_found_wherever_the_program_puts_them() -> None:
    columns, _, _ = columns_of([j for j in session().jobs if j.job_id == "turned"])
    assert distance(columns, true_matrix(session().device.hidden, 0.0)).mean() < 0.03


@pytest.mark.parametrize("name", ["superposition", "others up", "entangled"])
def test_programs_that_prepare_something_else_do_not_count(name: str) -> None:
    _, shots, _ = columns_of([j for j in session().jobs if j.job_id == name])
    assert not shots.any()


def test_the_product_of_single_qubit_matrices_fails() -> None:
    matrix = np.array(honest()["matrix"])
    product = np.ones((1, 1))
    for q in range(4):
        bit = (np.arange(N) >> q) & 1
        up, down = matrix[bit == 1, 0].sum(), matrix[bit == 0, 1 << q].sum()
        product = np.kron(np.array([[1 - up, down], [up, 1 - down]]), product)
    found = failed(matrix=product.tolist())
    assert "mean total variation distance of the columns from the truth" in found
    assert "largest total variation distance of a column from the truth" in found


def test_a_matrix_that_the_records_do_not_support_fails() -> None:
    truth = true_matrix(session().device.hidden, 0.0)
    moved = 0.96 * truth + 0.04 / N
    assert failed(matrix=moved.tolist())["largest total variation distance of a column from the recomputed one"] is Category.UNSUPPORTED
    overclaimed = GRADER.overclaim(honest(), {})
    assert "mean total variation distance of the columns from the truth" in failed(**overclaimed)


def test_other_bit_orders_and_transposed_matrices_fail() -> None:
    matrix = np.array(honest()["matrix"])
    turned = [int(f"{s:04b}"[::-1], 2) for s in range(N)]
    assert failed(matrix=matrix[np.ix_(turned, turned)].tolist())
    assert "largest |column sum - 1|" in failed(matrix=matrix.T.tolist())


MISSING = {
    "half of the states": (ALL[::2], ALONE),
    "few shots": (ALL[:2], JOINT),
    "one job": (("once",), "jobs that hold the basis state with the fewest"),
    "another's job": ((*ALL, "other"), "cited jobs are completed jobs of this session"),
}


@pytest.mark.parametrize(("cited", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named(cited: tuple[str, ...], check: str) -> None:
    assert failed(job_ids=cited)[check] in (Category.MISSING_EVIDENCE, Category.FOREIGN_JOB)


def test_single_excitations_alone_are_the_signature_of_the_trap() -> None:
    missing = failed(job_ids=("alone a", "alone b"))
    assert missing[JOINT] is Category.MISSING_EVIDENCE
    assert ALONE not in missing
    assert (GRADER.trap_fails, GRADER.trap_meets) == ((JOINT,), (ALONE,))


def test_wrong_pairs_fail() -> None:
    true = {frozenset(p) for p in honest()["correlated_pairs"]}
    wrong = next([a, b] for a in range(4) for b in range(a) if {a, b} not in true)
    assert list(failed(correlated_pairs=[wrong, honest()["correlated_pairs"][0]])) == ["the correlated pairs are named"]
    assert list(failed(correlated_pairs=[honest()["correlated_pairs"][0]] * 2)) == ["the correlated pairs are named"]


BAD = ({"matrix": [[1.0]]}, {"correlated_pairs": [[0, 1]]}, {"correlated_pairs": [[0, 4], [1, 2]]}, {"more": 1})


@pytest.mark.parametrize("change", BAD)
def test_the_schema_refuses_what_is_no_answer(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps(honest() | change))
