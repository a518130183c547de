"""magic_factory_race: gate, metric and evidence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import Category
from graders.magic_factory_race import ERROR_LIMIT, EVIDENCE_SHOTS, Answer
from qtypes import load
from qtypes.contract import Device
from qtypes.logical_magic_factory import RunInjectTomography, RunTeleportChain, physics

QTYPE = load("logical_magic_factory")
CARD = tasks.load("magic_factory_race")
GRADER = graders.load("magic_factory_race")
PROFILE = QTYPE.read_profile(CARD.profile)
HIDDEN = QTYPE.practice(PROFILE)
BEST = tuple(int(s) for s in np.argsort(HIDDEN.p_z)[:15])


def session(*jobs: Any) -> Any:
    device = Device(QTYPE.spec(HIDDEN, PROFILE), HIDDEN, PROFILE)

    def made(request: Any) -> Any:
        arrays = {"attempts": np.full(request.shots, 2, dtype=np.uint16)}
        return SimpleNamespace(tool=request.tool, request=request, arrays=lambda: arrays)

    logged = [made(r) for r in jobs]
    return SimpleNamespace(device=device, of=lambda *tools: tuple(j for j in logged if j.tool in tools))


def singles(levels: tuple[int, ...], shots: int = EVIDENCE_SHOTS) -> list[RunInjectTomography]:
    return [RunInjectTomography(slot=s, level=v, axis="T", shots=shots) for s, v in zip(BEST, levels, strict=True)]


def grade(answer: Answer, s: Any) -> tuple[dict[str, Category], float | None]:
    q = GRADER.recompute(s)
    score = GRADER.score(answer, s, q, np.random.default_rng(0))
    return {c.name: c.category for c in [*GRADER.bind(answer, s, q), *score.checks] if not c.passed}, score.metric


def uniform(level: int, reads: int = 3) -> tuple[Answer, tuple[int, ...]]:
    levels = (level,) * 15
    return Answer(slots=BEST, levels=levels, syndrome_repeats=reads), levels


def test_a_safe_setting_passes_with_its_cost() -> None:
    answer, levels = uniform(2)
    failed, metric = grade(answer, session(*singles(levels)))
    assert failed == {}
    errors = np.array([(HIDDEN.p_z[s] * (1 + 0.5 / HIDDEN.eta)) * HIDDEN.g**2 for s in BEST])
    acceptance, _ = physics.distilled(errors, HIDDEN.q_m, 3)
    prepared = sum(3 / HIDDEN.accept[s] ** 2 for s in BEST)
    assert metric == pytest.approx((prepared + 90) / acceptance)


def test_the_best_slots_at_level_1_fail_the_gate_with_any_number_of_reads() -> None:
    for reads in (1, 2, 3):
        answer, levels = uniform(1, reads)
        assert set(grade(answer, session(*singles(levels)))[0]) == {"error of an accepted output"}


def test_one_read_never_meets_the_limit() -> None:
    """A single error on a column of weight one passes with probability q."""
    answer, levels = uniform(3, 1)
    assert "error of an accepted output" in grade(answer, session(*singles(levels)))[0]
    assert ERROR_LIMIT == 7e-7


def test_a_cheaper_preparation_is_a_lower_metric() -> None:
    assert grade(uniform(2)[0], session())[1] > grade(uniform(1)[0], session())[1]  # type: ignore[operator]
    assert grade(uniform(2, 3)[0], session())[1] > grade(uniform(2, 2)[0], session())[1]  # type: ignore[operator]


def test_each_used_slot_needs_shots_at_its_level() -> None:
    answer, levels = uniform(2)
    name = "fewest shots of a used slot at its level"
    for jobs in ([], singles(levels)[1:], singles(levels, EVIDENCE_SHOTS - 1), singles((1,) * 15)):
        assert grade(answer, session(*jobs))[0] == {name: Category.MISSING_EVIDENCE}
    half = singles(levels, EVIDENCE_SHOTS // 2)
    chains = [RunTeleportChain(slot=s, level=2, kind="T", prep="+", length=2, shots=EVIDENCE_SHOTS // 2) for s in BEST]
    assert grade(answer, session(*half, *chains))[0] == {}
    clifford = [c.model_copy(update={"kind": "Clifford"}) for c in chains]
    assert name in grade(answer, session(*half, *clifford))[0]


def test_a_slot_used_twice_fails_without_a_metric() -> None:
    answer = Answer(slots=(BEST[0], *BEST[:14]), levels=(2,) * 15, syndrome_repeats=2)
    failed, metric = grade(answer, session(*singles((2,) * 15)))
    assert failed["the slots differ"] is Category.SCHEMA
    assert metric is None


def test_the_schema_refuses_what_is_no_setting() -> None:
    good = {"slots": BEST, "levels": (2,) * 15, "syndrome_repeats": 2}
    Answer.model_validate(good)
    for change in ({"slots": BEST[:14]}, {"levels": (4,) * 15}, {"syndrome_repeats": 0}, {"slots": (24, *BEST[1:])}, {"cost": 1.0}):
        with pytest.raises(ValidationError):
            Answer.model_validate(good | change)


def test_the_answer_claims_nothing() -> None:
    assert GRADER.overclaim({}, {}) is None
