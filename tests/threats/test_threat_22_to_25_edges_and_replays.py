"""Lines 22 to 25: fits on the reveal, values on the edge, guesses, and a passing race that is handed in twice."""

from __future__ import annotations

import json
import math
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graders
import qtypes
from evidence import Bundle
from graders import transmon_t1
from graders.kit import GradedSession, Stage, above, below
from graders.kit.checks import GUARD, Category, Outcome
from graders.kit.grade import grade_bundle, outcome_of
from lab.conventions import pack_bits, read_graph, tcount
from tests.sidecar.laboratory import laboratory
from tests.threats.conftest import NONCE, Measured

# -- 22 ----------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_threat_22_the_reveal_holds_inputs_only_and_stays_shut_after_a_restart(tmp_path: Path) -> None:
    """Nothing of the device stands in it, and no restart opens the laboratory again to measure at the revealed inputs."""
    async with laboratory(tmp_path, "surrogate_60q") as lab:
        revealed = (await lab.client.post("/v1/lock", json={})).json()
        assert set(revealed["challenge"]) == {"x_test"}
        x = np.array(revealed["challenge"]["x_test"])
        assert x.shape == (40, 6)
        assert np.abs(x).max() <= math.pi
    async with laboratory(tmp_path, "surrogate_60q") as lab:
        body = {"settings": [{"x": row} for row in revealed["challenge"]["x_test"]], "shots": 10}
        refused = await lab.client.post("/v1/experiments/run_measure", json=body)
        assert (refused.status_code, refused.json()["title"]) == (409, "session locked")
        assert not lab.events("job_submitted")


# -- 23 ----------------------------------------------------------------------------------------------------------------

EDGES = [1e-3, 0.185, 1.0, 42.0, 1e9]


@pytest.mark.parametrize("limit", EDGES)
def test_threat_23_the_last_bit_of_a_processor_never_flips_a_check_and_a_larger_step_does(limit: float) -> None:
    up, down = (float(np.nextafter(limit, limit + s * limit)) for s in (1, -1))
    for value in (down, limit, up, limit * (1 + GUARD / 2), limit * (1 - GUARD / 2)):
        assert below("x", Stage.SCORE, value, limit).passed
        assert above("x", Stage.SCORE, value, limit).passed
    for step in (10 * GUARD, 1e-6, 0.1):
        assert not below("x", Stage.SCORE, limit * (1 + step), limit).passed
        assert not above("x", Stage.SCORE, limit * (1 - step), limit).passed


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_threat_23_a_value_that_is_not_finite_passes_no_check(value: float) -> None:
    for check in (below("x", Stage.SCORE, value, 1.0), above("x", Stage.SCORE, value, 1.0)):
        assert not check.passed
        assert check.to_json()["value"] is None


def test_threat_23_zero_and_negative_limits_have_an_edge_too() -> None:
    assert below("x", Stage.SCORE, 0.0, 0.0).passed
    assert not below("x", Stage.SCORE, 1e-15, 0.0).passed
    assert below("x", Stage.SCORE, -2.0, -2.0).passed
    assert not below("x", Stage.SCORE, -1.999, -2.0).passed


def test_threat_23_an_order_of_bits_labels_or_wires_that_differs_from_the_stated_one_is_another_answer() -> None:
    """The mirrored conventions are told apart by what the laboratory shares with the agent, not by the grader's mood."""
    bits = np.array([[1, 1, 0, 0, 0, 0, 0, 0]], dtype=bool)
    assert pack_bits(bits).tolist() == [[0b00000011]]
    assert pack_bits(bits[:, ::-1]).tolist() == [[0b11000000]]
    one, two = (read_graph(f"error(0.1) D0 L{k}\nerror(0.1) D0 D1\nerror(0.1) D1\nlogical_observable L1") for k in (0, 1))
    assert one.labels != two.labels
    cx, xc = (tcount.parse(f"OPENQASM 2.0;\nqreg q[2];\ncx q[{a}],q[{b}];\n") for a, b in ((0, 1), (1, 0)))
    from qtypes.logical_circuit_optimizer import physics

    assert not physics.compare(cx, xc, np.random.default_rng(0)).equivalent


# -- 24 ----------------------------------------------------------------------------------------------------------------


def test_threat_24_guesses_on_cheap_data_never_pass(tmp_path: Path, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three hundred answers drawn from the ranges that the task's card makes public, resting on all jobs of a session too short to tell."""
    # every answer cites the same jobs: they are evaluated once
    estimate_once, bound_once = transmon_t1.estimate, transmon_t1.true_bound
    estimated, bound = cache(lambda: estimate_once(*jobs)), cache(lambda: bound_once(*sweeps))
    jobs: list[Any] = []
    sweeps: list[Any] = []

    def estimate(*given: Any) -> Any:
        jobs[:] = given
        return estimated()

    def true_bound(*given: Any) -> Any:
        sweeps[:] = given
        return bound()

    monkeypatch.setattr(transmon_t1, "estimate", estimate)
    monkeypatch.setattr(transmon_t1, "true_bound", true_bound)
    bundle = measured.finish(tmp_path / "b", None)
    session, grader, rng = GradedSession(Bundle(bundle)), graders.load("transmon_t1"), np.random.default_rng(0)
    ids = [measured.jobs[k] for k in ("reference 0", "reference 1", "sweep")]
    low, high = session.card.profile["t1_us"]
    outcomes = []
    for _ in range(300):
        guess = {
            "t1_us": rng.uniform(low, high), "t1_sigma_us": math.exp(rng.uniform(0, 3)),
            "excited_floor": rng.uniform(*session.card.profile["thermal_population"]),
        }  # fmt: skip
        answer = grader.Answer.model_validate_json(json.dumps({**guess, "job_ids": ids}))
        q: dict[str, Any] = {}
        outcomes.append(outcome_of([*grader.bind(answer, session, q), *grader.score(answer, session, q, rng).checks]))
    assert Outcome.PASS not in outcomes


def test_threat_24_committed_calibrations_hold_no_task_that_a_guesser_passes() -> None:
    """Every line of a table of `qharbor check` that rests on 20 devices: the reference on 95 %, every other solver on at most 5 %."""
    folder = Path(graders.__file__).parents[1] / "docs" / "calibration"
    lines = [
        (table["task"], line)
        for table in (json.loads(p.read_text()) for p in sorted(folder.glob("*.json")))
        if isinstance(table.get("summary"), list)
        for line in table["summary"]
        if line["n"] >= 20
    ]
    assert lines
    for task, line in lines:
        share = line["passed"] / line["n"]
        assert share >= 0.95 if line["solver"] == "reference" else share <= 0.05, (task, line["solver"], share)


# -- 25 ----------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_threat_25_a_passing_race_bundle_counts_for_its_own_session_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replayed as another session's it is a fault; the same design in two sessions is known by its one digest."""
    qtype = qtypes.load("logical_circuit_optimizer")
    practice = qtype.practice

    def lenient(self: Any, profile: Any) -> Any:
        """An instance whose limit the baseline itself meets, so that a passing bundle takes no optimisation."""
        hidden = practice(profile)
        return hidden.model_copy(update={"t_count_limit": tcount.counts(tcount.parse(hidden.baseline)).t_count})

    monkeypatch.setattr(type(qtype), "practice", lenient)
    circuit = lenient(qtype, qtype.read_profile({"instance": "race"})).baseline
    verdicts = {}
    for nonce in (NONCE, "6" * 64):
        async with laboratory(tmp_path / nonce, "t_count_race", nonce=nonce) as lab:
            assert (await lab.client.post("/v1/queries/evaluate", json={"circuit": circuit})).status_code == 200
            await lab.client.post("/v1/answer", json={"circuit": circuit})
        verdicts[nonce] = grade_bundle(tmp_path / nonce, nonce=nonce)
    first, second = verdicts.values()
    assert (first.outcome, second.outcome) == (Outcome.PASS, Outcome.PASS)
    assert first.race_metric == second.race_metric is not None
    assert first.session != second.session
    notes = [next(c.note for c in v.checks if c.name == "the final circuit was evaluated in this session") for v in (first, second)]
    assert notes[0] == notes[1]
    assert len(notes[0]) == len("sha256 ") + 64

    shutil.copytree(tmp_path / NONCE, tmp_path / "replayed")
    replayed = grade_bundle(tmp_path / "replayed", nonce="6" * 64)
    assert (replayed.outcome, replayed.reward, replayed.race_metric) == (Outcome.INFRASTRUCTURE_FAULT, 0, None)


@pytest.mark.anyio
async def test_threat_25_a_design_that_was_evaluated_in_another_session_is_not_bound(tmp_path: Path) -> None:
    async with laboratory(tmp_path, "t_count_race") as lab:
        circuit = next(iter((await lab.client.get("/v1/materials")).json()["materials"]))["name"]
        text = (await lab.client.get(f"/v1/materials/{circuit}")).text
        await lab.client.post("/v1/answer", json={"circuit": text})
    verdict = grade_bundle(tmp_path)
    assert verdict.race_metric is None
    assert Category.MISSING_EVIDENCE in {c.category for c in verdict.checks if c.gate and not c.passed}
