"""lindblad_learning: an honest answer passes, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import Category, Outcome
from graders.kit.grade import outcome_of
from graders.lindblad_learning import Answer, estimate, pooled, readout
from qtypes import Device, seeds
from qtypes.blackbox_lindblad_dynamics import QTYPE, Profile
from qtypes.blackbox_lindblad_dynamics.physics import family
from tests.graders.in_process import completed, failed, graded, solution, solved

CARD = tasks.load("lindblad_learning")
GRADER = graders.load("lindblad_learning")
PROFILE: Profile = QTYPE.read_profile(CARD.profile)
ROOT = seeds.root_from(b"test lindblad")
HIDDEN = QTYPE.draw(seeds.generator(ROOT, "device"), PROFILE)
DEVICE = Device(QTYPE.spec(HIDDEN, PROFILE), HIDDEN, PROFILE)
TIMES = (0.6, 1.2, 1.8, 2.4, 3.0, 3.6, 4.2, 4.8)
ALL_BASES = [a + b + c for a in "XYZ" for b in "XYZ" for c in "XYZ"]

TIMES_SEEN = "different evolution times above 0"
SEES = tuple(f"shots that can see the correlation of qubits {b} and {b + 1}" for b in (0, 1))
READOUT = "readout calibration shots of each qubit in each state"
PULL = "largest |reported - recomputed| / recomputed sigma"
SIGMA_H, SIGMA_RATE = "largest recomputed sigma of H", "largest recomputed sigma of rates and dephasing"
CHI2 = "chi^2 per degree of freedom"
CLAIMED = "median reported sigma against the recomputed one, larger over smaller"
ERROR_H, NAMED = "largest error of H", "the terms of H are named"
ERROR_RATE, ERROR_BOND = "largest error of the rates and of K_qq", "largest error of the correlated dephasing"
SIGN = "the correlated bond has its sign"


def job(name: str, tool: str, **fields: Any) -> Any:
    return completed(QTYPE, DEVICE, name, tool, json.dumps(fields), seeds.generator(ROOT, f"job/{name}"))


def evolution(name: str, t_us: float, shots: int, states: list[str], bases: list[str] = ALL_BASES) -> Any:
    settings = [{"state": s, "t_us": t_us, "basis": b} for s in states for b in bases]
    return job(name, "run_evolution", settings=settings, shots=shots)


def states(name: str, letters: str = "01+-rl", count: int = 12) -> list[str]:
    draws = seeds.generator(ROOT, f"states/{name}").integers(0, len(letters), (count, 3))
    return ["".join(letters[k] for k in row) for row in draws]


@cache
def session() -> Any:
    good = [evolution(f"g{k}", t, 90, states(f"g{k}")) for k, t in enumerate(TIMES)]
    still = [evolution("still", 0.0, 60, states("still"))]
    poles = [evolution(f"p{k}", t, 60, states(f"p{k}", "01")) for k, t in enumerate(TIMES)]
    one = [evolution(f"o{k}", t, 100, ["+r+"], ["XYX", "YXX", "XXY", "YYY"]) for k, t in enumerate(TIMES * 8)]
    calibrations = [
        job("cal", "run_readout_calibration", states=["000", "111"], shots=10_000),
        job("few", "run_readout_calibration", states=["000", "111"], shots=500),
        job("half", "run_readout_calibration", states=["000", "110"], shots=5000),
    ]
    return SimpleNamespace(device=DEVICE, jobs=(*good, *still, *poles, *one, *calibrations), card=CARD)


FIELDS = ("hamiltonian", "gamma_minus", "gamma_plus", "dephasing", "correlated_dephasing")
GOOD = ("cal", *(f"g{k}" for k in range(len(TIMES))))


@cache
def sigmas() -> np.ndarray:
    cited = [j for j in session().jobs if j.job_id in GOOD]
    return estimate(family(3), HIDDEN.coefficients(), pooled(cited), readout(cited)[0]).sigma


def honest() -> dict[str, Any]:
    parts = dict(zip(FIELDS, family(3).blocks, strict=True))
    true, errors = HIDDEN.coefficients(), sigmas()
    values = {k: true[p].tolist() for k, p in parts.items()} | {f"{k}_sigma": errors[p].tolist() for k, p in parts.items()}
    return values | {"job_ids": list(GOOD)}


def scaled(factor: float, *fields: str) -> dict[str, Any]:
    """The fields times a factor."""
    return {f: [v * factor for v in honest()[f]] for f in fields}


def moved(field: str, by: float, there: bool = True) -> dict[str, Any]:
    """The field with `by` added to its first entry that is (or is not) there."""
    values = honest()[field]
    at = next(k for k, v in enumerate(values) if (v != 0) == there)
    return {field: [v + by * (k == at) for k, v in enumerate(values)]}


def checks_of(**changes: Any) -> dict[str, Any]:
    return graded(GRADER, session(), Answer.model_validate_json(json.dumps(honest() | changes)))[0]


def names(**changes: Any) -> set[str]:
    return failed(checks_of(**changes))


def test_the_truth_passes() -> None:
    checks = checks_of()
    assert failed(checks) == set()
    assert 0.95 < checks[CHI2].value < 1.05


def test_recomputed_values_scatter_about_the_truth_by_their_errors() -> None:
    cited = [j for j in session().jobs if j.job_id in GOOD]
    found = estimate(family(3), HIDDEN.coefficients(), pooled(cited), readout(cited)[0])
    pull = (found.values - HIDDEN.coefficients()) / found.sigma
    assert 0.7 < np.sqrt(np.mean(pull**2)) < 1.35
    assert np.abs(pull).max() < 4


def test_one_step_from_a_slightly_wrong_answer_comes_back() -> None:
    """The recomputed values do not follow the claim."""
    cited = [j for j in session().jobs if j.job_id in GOOD]
    counts, wrong = pooled(cited), readout(cited)[0]
    x = HIDDEN.coefficients()
    near, off = estimate(family(3), x, counts, wrong), estimate(family(3), x + 3 * sigmas() * np.where(x > 0, 1, 0), counts, wrong)
    assert np.abs(off.values - near.values).max() < 0.5 * sigmas().max()


def test_equal_settings_are_added_up() -> None:
    twice = [evolution("a", 1.2, 30, ["+00"], ["XXX"]), evolution("b", 1.2, 20, ["+00"], ["XXX"])]
    assert pooled(twice)[24]["XXX"]["+00"].sum() == 50


@pytest.mark.parametrize(
    ("ids", "check"),
    [
        (GOOD[:-1], TIMES_SEEN),
        ((*GOOD[:-1], "still"), TIMES_SEEN),
        (("cal", *(f"p{k}" for k in range(8))), SEES[0]),
        (("few", *GOOD[1:]), READOUT),
        (("half", *GOOD[1:]), READOUT),
        (GOOD[1:], READOUT),
    ],
)
def test_evidence_of_the_wrong_kind_does_not_count(ids: tuple[str, ...], check: str) -> None:
    checks = checks_of(job_ids=list(ids))
    assert {check, "the generator can be recomputed", "the generator rests on enough data to be scored"} <= failed(checks)
    assert outcome_of(list(checks.values())) is Outcome.CONTRACT_FAILURE
    assert checks[check].category is Category.MISSING_EVIDENCE


def test_few_settings_leave_values_open() -> None:
    ids = ("cal", *(f"o{k}" for k in range(64)))
    checks = checks_of(job_ids=list(ids))
    assert {SIGMA_H, SIGMA_RATE} <= failed(checks)
    assert not {TIMES_SEEN, *SEES, READOUT} & failed(checks)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (lambda: {"job_ids": ["j99", *GOOD]}, {"cited jobs are completed jobs of this session"}),
        (lambda: moved("hamiltonian", 0.06), {ERROR_H, PULL}),
        (lambda: moved("hamiltonian", 0.09, there=False), {NAMED, PULL}),
        (lambda: scaled(1.5, "hamiltonian"), {CHI2, ERROR_H, PULL}),
        (lambda: {"gamma_plus": [0.0, 0.0, 0.0]}, {ERROR_RATE, PULL}),
        (lambda: moved("dephasing", 0.045), {ERROR_RATE}),
        (lambda: scaled(-1.0, "correlated_dephasing"), {SIGN, ERROR_BOND, PULL}),
        (lambda: scaled(1.8, "correlated_dephasing"), {"smallest eigenvalue of K"}),
        (lambda: scaled(1 / 3, "hamiltonian_sigma", "gamma_minus_sigma"), {CLAIMED}),
    ],
    ids=["foreign", "term", "support", "all terms", "cold", "dephasing", "sign", "not positive", "sigma"],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: Callable[[], dict[str, Any]], expected: set[str]) -> None:
    assert expected <= names(**changes())


def test_an_answer_of_other_shape_is_no_answer() -> None:
    for wrong in ({"hamiltonian": [0.0] * 26}, {"gamma_minus": [0.1, 0.1, -0.1]}, {"dephasing": [0.1, 0.1, float("nan")]}):
        with pytest.raises(ValidationError):
            Answer.model_validate_json(json.dumps(honest() | wrong))


def test_the_reference_passes_and_the_trap_misses_what_its_model_lacks() -> None:
    with solution(CARD.name, "reference", "trap") as modules:
        assert solved(CARD.name, modules["reference"], b"reference lindblad").failed(GRADER) == set()
        bench = solved(CARD.name, modules["trap"], b"trap lindblad")
    found = bench.failed(GRADER)
    assert {ERROR_BOND, ERROR_RATE, SIGN, PULL} <= found
    assert set(GRADER.trap_fails) <= found
    assert not set(GRADER.trap_meets) & found
