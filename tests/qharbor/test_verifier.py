"""What the verifier leaves for Harbor: a reward for a verdict that counts, none for a fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graders.kit import Check, Outcome, Stage, Verdict
from qharbor import verifier

CHECKS = (
    Check("cited jobs exist", Stage.BIND, True),
    Check("logical error rate", Stage.SCORE, True, 0.011, 0.02, 0.45, jobs=("j1",)),
    Check("calls to the preview", Stage.SCORE, False, 12.0, None, gate=False, note="only told"),
)


def verdict(outcome: Outcome, reward: int = 0, **more: object) -> Verdict:
    return Verdict("some_task", "1.0.0", outcome, reward, checks=CHECKS, **more)


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [(Outcome.PASS, 1), (Outcome.SCIENCE_FAILURE, 0), (Outcome.CONTRACT_FAILURE, 0), (Outcome.NO_SUBMISSION, 0)],
)
def test_a_verdict_that_counts_leaves_exactly_one_key(tmp_path: Path, outcome: Outcome, reward: int) -> None:
    verifier.write(verdict(outcome, reward), tmp_path)
    assert json.loads((tmp_path / "reward.json").read_text()) == {"reward": reward}


def test_a_fault_of_the_laboratory_leaves_no_reward_even_where_one_was_planted(tmp_path: Path) -> None:
    (tmp_path / "reward.json").write_text('{"reward": 1}')
    verifier.write(verdict(Outcome.INFRASTRUCTURE_FAULT, reason="the evidence does not hold"), tmp_path)
    assert not (tmp_path / "reward.json").exists()
    assert json.loads((tmp_path / "score.json").read_text())["outcome"] == "infrastructure_fault"


def test_details_have_the_shape_that_harbors_viewer_shows(tmp_path: Path) -> None:
    verifier.write(verdict(Outcome.PASS, 1), tmp_path)
    details = json.loads((tmp_path / "reward-details.json").read_text())
    assert list(details) == ["outcome", "bind", "score"]
    for block in details.values():
        assert isinstance(block["kind"], str)
        assert isinstance(block["score"], float)
        assert all(isinstance(w, str) for w in block["warnings"])
        for line in block["criteria"]:
            assert isinstance(line["name"], str)
            assert isinstance(line["value"], float)
            assert isinstance(line["weight"], float)
    assert details["score"]["score"] == 1.0, "an informative check does not decide"
    assert [c["weight"] for c in details["score"]["criteria"]] == [1.0, 0.0]


def test_an_empty_evidence_folder_is_a_fault_and_not_a_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QHARBOR_TASK", "lattice_surgery_cnot")
    (tmp_path / "evidence").mkdir()
    status = verifier.main([str(tmp_path / "evidence"), str(tmp_path / "out")])
    assert status == verifier.EXIT_FAULT
    assert not (tmp_path / "out" / "reward.json").exists()
    assert (tmp_path / "out" / "score.json").exists()


def test_missing_evidence_is_a_fault(tmp_path: Path) -> None:
    assert verifier.main([str(tmp_path / "nothing"), str(tmp_path / "out")]) == verifier.EXIT_FAULT
    assert not (tmp_path / "out" / "reward.json").exists()


def test_a_bundle_of_another_task_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "grade_bundle", lambda _: verdict(Outcome.PASS, 1))
    assert verifier.grade(tmp_path, "some_task").reward == 1
    other = verifier.grade(tmp_path, "other_task")
    assert (other.outcome, other.reward) == (Outcome.INFRASTRUCTURE_FAULT, 0)
