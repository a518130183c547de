"""magic_state_certification: the regrade finds the truth, the honest answer passes, each wrong one fails at its own check."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import Category
from graders.magic_state_certification import Answer, fit_batches, fit_chains
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.logical_magic_factory import physics

QTYPE = load("logical_magic_factory")
CARD = tasks.load("magic_state_certification")
GRADER = graders.load("magic_state_certification")
PLAN = (
    *(("T", "+", length, shots) for length, shots in ((2, 4000), (16, 1000), (32, 1000), (64, 5000))),
    *(("T", "0", length, shots) for length, shots in ((2, 2000), (32, 1000), (64, 4000))),
    *(("Clifford", "+", length, shots) for length, shots in ((2, 4000), (32, 2000), (64, 10_000))),
)


class Session:
    """What the grader reads of a finished session."""

    def __init__(self) -> None:
        profile = QTYPE.read_profile(CARD.profile)
        hidden = QTYPE.draw(np.random.default_rng(5), profile)
        self.device = Device(QTYPE.spec(hidden, profile), hidden, profile)
        self.jobs: list[Any] = []
        for kind, prep, length, shots in PLAN:
            self.run(f"{kind}{prep}{length}", "run_teleport_chain", level=1, kind=kind, prep=prep, length=length, shots=shots)
        self.run("single", "run_inject_tomography", slot=0, level=1, axis="T", per_batch=4, shots=160_000)
        self.run("pairs", "run_inject_tomography", slot=0, level=1, axis="T", per_batch=2, shots=60_000)
        self.run("along X", "run_inject_tomography", slot=0, level=1, axis="X", shots=400_000)

    def run(self, job_id: str, tool: str, **request: Any) -> None:
        experiment = QTYPE.tools()[tool].model_validate_json(json.dumps(request))
        arrays = {k: a.values for k, a in experiment.run(self.device, Clock(0.0), np.random.default_rng(len(self.jobs))).arrays.items()}
        self.jobs.append(SimpleNamespace(job_id=job_id, tool=tool, request=experiment, arrays=lambda: arrays))

    def of(self, *tools: str) -> tuple[Any, ...]:
        return tuple(j for j in self.jobs if j.tool in tools)


@pytest.fixture(scope="module")
def session() -> Session:
    return Session()


CITED = [f"{kind}{prep}{length}" for kind, prep, length, _ in PLAN] + ["single"]


def grade(session: Session, answer: dict[str, Any]) -> tuple[dict[str, Category], dict[str, Any]]:
    parsed = Answer.model_validate_json(json.dumps(answer))
    q = GRADER.recompute(session)
    checks = [*GRADER.bind(parsed, session, q), *GRADER.score(parsed, session, q, np.random.default_rng(0)).checks]
    return {c.name: c.category for c in checks if not c.passed and c.gate}, q


@pytest.fixture(scope="module")
def honest(session: Session) -> dict[str, Any]:
    rough = {"p_z": 4e-3, "p_xy": 1e-4, "acceptance": 0.8, "p_batch_upper95": 5e-3, "r_common": 1e-3, "meets_spec": True, "jobs": CITED}
    q = grade(session, rough)[1]
    bound = q["mean_error"] + 3 * q["mean_error_sigma"]
    found = {k: q[k] for k in ("p_z", "p_xy", "acceptance", "r_common")}
    return rough | found | {"p_batch_upper95": bound, "meets_spec": q["mean_error"] <= 5e-3}


def test_the_regrade_itself_passes(session: Session, honest: dict[str, Any]) -> None:
    assert grade(session, honest)[0] == {}


def test_the_regrade_is_within_its_errors_of_the_truth(session: Session, honest: dict[str, Any]) -> None:
    q, h = grade(session, honest)[1], session.device.hidden
    p_z, p_xy = h.delivered(0, 1)
    assert abs(q["p_z"] - p_z) < 4 * q["p_z_sigma"]
    assert abs(q["p_xy"] - p_xy) < 4 * q["p_xy_sigma"]
    assert abs(q["r_common"] - h.r_common) < 4 * q["r_sigma"]
    assert abs(q["mean_error"] - physics.any_error(p_z, p_xy, h.r_common)) < 4 * q["mean_error_sigma"]


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"p_z": 2e-3}, "|p_z / truth - 1|"), ({"p_xy": 8e-4}, "|p_xy - truth|"), ({"acceptance": -0.02}, "|acceptance - truth|"),
        ({"r_common": 6e-4}, "|r_common - truth|"), ({"p_batch_upper95": -2e-3}, "bound on the mean error of a batch"),
        ({"p_batch_upper95": 6e-3}, "bound / mean error of a batch"),
    ],
)  # fmt: skip
def test_each_claim_is_compared_with_the_truth(session: Session, honest: dict[str, Any], change: dict[str, float], check: str) -> None:
    assert check in grade(session, honest | {k: honest[k] + v for k, v in change.items()})[0]


def test_the_other_verdict_fails(session: Session, honest: dict[str, Any]) -> None:
    failed, _ = grade(session, honest | {"meets_spec": not honest["meets_spec"]})
    assert list(failed) == ["the verdict is right"]


def test_a_claim_that_the_records_do_not_support_fails(session: Session, honest: dict[str, Any]) -> None:
    q = grade(session, honest)[1]
    failed, _ = grade(session, honest | {"p_z": q["p_z"] + 3.1 * q["p_z_sigma"]})
    assert failed["|p_z - recomputed| / its sigma"] is Category.UNSUPPORTED
    failed, _ = grade(session, honest | {"p_batch_upper95": q["mean_error"] + 1.5 * q["mean_error_sigma"]})
    assert failed["(bound - recomputed mean error) / its sigma"] is Category.UNSUPPORTED


@pytest.mark.parametrize(
    ("dropped", "check"),
    [
        ({"T+16"}, "lengths of T chains read in X"), ({"T032"}, "lengths of T chains read in Z"),
        ({"Clifford+2"}, "lengths of Clifford chains"), ({"single"}, "batches of single states along T"),
    ],
)  # fmt: skip
def test_evidence_that_is_not_cited_is_missing(session: Session, honest: dict[str, Any], dropped: set[str], check: str) -> None:
    jobs = [j for j in CITED if j not in dropped] + ["pairs", "along X"]  # two of a batch are too few, and X is not T
    assert grade(session, honest | {"jobs": jobs})[0] == {check: Category.MISSING_EVIDENCE}


def test_a_foreign_job_fails(session: Session, honest: dict[str, Any]) -> None:
    assert Category.FOREIGN_JOB in grade(session, honest | {"jobs": [*CITED, "j9999-deadbeef"]})[0].values()


def test_the_overclaim_fails(session: Session, honest: dict[str, Any]) -> None:
    claimed = GRADER.overclaim(honest, {})
    Answer.model_validate_json(json.dumps(claimed))
    assert "|p_z / truth - 1|" in grade(session, claimed)[0]


def test_the_schema_refuses_what_is_not_an_answer(honest: dict[str, Any]) -> None:
    for change in ({"p_z": -1e-3}, {"meets_spec": 1}, {"jobs": []}, {"extra": 1}, {"acceptance": 0}):
        with pytest.raises(ValidationError):
            Answer.model_validate_json(json.dumps(honest | change))


def test_exact_contrasts_give_the_exact_rates() -> None:
    shots, a, c, e, xy = 10**9, 0.976, 1.5e-3, 4.2e-3, 4e-4
    rows = []
    for group, step in ((0, 1.0), (1, 1 - 2 * e), (2, 1 - 2 * xy)):
        rows += [(group, m, round(shots * (1 - a * (step * (1 - 2 * c)) ** m) / 2), shots) for m in (2, 16, 32, 64)]
    fit = fit_chains(rows)
    assert fit is not None
    assert (fit.e, fit.p_xy) == (pytest.approx(e, rel=1e-4), pytest.approx(xy, rel=1e-3))
    assert fit.p_z == pytest.approx(e - xy / 2, rel=1e-4)


def test_chains_of_one_length_determine_nothing() -> None:
    assert fit_chains([(g, 16, 100, 1000) for g in (0, 1, 2)]) is None
    assert fit_chains([(0, 2, 10, 1000), (1, 16, 100, 1000)]) is None


def test_the_standard_error_of_the_chain_fit_is_the_scatter() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(30):
        rows = []
        for group, step in ((0, 0.997), (1, 0.997 * 0.99), (2, 0.997 * 0.999)):
            rows += [(group, m, int(rng.binomial(4000, (1 - 0.976 * step**m) / 2)), 4000) for m in (2, 32, 64)]
        fit = fit_chains(rows)
        assert fit is not None
        found.append((fit.p_z, fit.sigma(1.0, -0.5)))
    values, sigmas = np.array(found).T
    assert np.std(values) == pytest.approx(np.mean(sigmas), rel=0.45)
    assert abs(values.mean() - (0.005 - 0.00025)) < 4 * np.std(values) / np.sqrt(30)


@pytest.mark.parametrize("r", [0.0, 2e-3])
def test_slipped_batches_are_told_from_chance(r: float) -> None:
    rng = np.random.default_rng(4)
    n, size, q = 60_000, 4, 0.025
    flip = np.where(rng.random(n) < r, 1 - q, q)
    fit = fit_batches(rng.binomial(size, flip), np.full(n, size))
    assert abs(fit.r - r) < 4 * fit.sigma
    assert fit.sigma < 2.2e-4
