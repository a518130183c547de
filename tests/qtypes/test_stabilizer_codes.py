"""stabilizer_codes as a hardware type: draws, the public spec, the counted queries. Physics: tests/stabilizer/."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from qtypes import AgentError, Device, TaskError
from qtypes.stabilizer_codes import QTYPE, CheckFaultTolerance, CheckStabilizers, EvaluateOptimization, Hidden, Profile, codes
from qtypes.stabilizer_codes.circuits import parse

ORACLES = (CheckStabilizers, EvaluateOptimization, CheckFaultTolerance)


def device(seed: int = 1, **profile: object) -> Device:
    p = QTYPE.read_profile({"task": "optimization", **profile})
    hidden = QTYPE.draw(np.random.default_rng(seed), p)
    assert Hidden.model_validate_json(hidden.model_dump_json()) == hidden
    return Device(QTYPE.spec(hidden, p), hidden, p)


def ask(oracle: type, d: Device, circuit: str) -> dict:
    request = oracle.model_validate_json(json.dumps({"circuit": circuit}))
    request.admit(d.spec)
    return json.loads(json.dumps(request.answer(d, None, None, np.random.default_rng(0))))


@pytest.mark.parametrize("oracle", ORACLES)
def test_a_call_is_one_attempt_and_moves_no_clock(oracle: type) -> None:
    cost = oracle(circuit="H 0").cost()
    assert {k: float(v) for k, v in cost.metered().items()} == {"attempts": 1, "lab_s": 0}


@pytest.mark.parametrize("kind", ["listed", "extended", "random"])
def test_a_drawn_instance_is_another_one_each_time_and_answers_for_its_own_baseline(kind: str) -> None:
    a, b = device(1, code=kind, max_n=30), device(2, code=kind, max_n=30)
    assert a.hidden != b.hidden
    assert a.spec.n <= 30
    for oracle in ORACLES:
        found = ask(oracle, a, a.spec.baseline)
        assert found["valid"]
        assert found["satisfied"] == found["listed"] == len(a.spec.generators)
        assert found["sha256"] == a.spec.baseline_sha256 == hashlib.sha256(a.spec.baseline.encode()).hexdigest()
    assert not ask(EvaluateOptimization, a, a.spec.baseline)["published"]["success"]


def test_a_named_code_is_the_listed_one() -> None:
    d = device(code="steane_over_perfect_5", task="fault_tolerance")
    code = codes.load("steane_over_perfect_5")
    assert (d.spec.generators, d.spec.d, d.spec.published_t, d.spec.corrected_t) == (code.generators, 9, 4, 4)
    found = ask(CheckFaultTolerance, d, d.spec.baseline)
    assert found["details"]["corrected"]["exact"]
    assert (found["published"]["weight"], found["corrected"]["weight"]) == (34, 34 / 3)
    with pytest.raises(TaskError, match="nonsense"):
        device(code="nonsense")
    with pytest.raises(TaskError, match="at most 5"):
        device(code="extended", max_n=5)


def test_a_drawn_instance_is_read_back_from_its_sealed_text_with_its_blocks() -> None:
    p = Profile(task="optimization", code="listed", max_n=40)
    hidden = next(h for s in range(50) if (h := QTYPE.draw(np.random.default_rng(s), p)).inner)
    d = Device(QTYPE.spec(hidden, p), hidden, p)
    found = CheckFaultTolerance(circuit=d.spec.baseline).verdict(d)
    assert found.details["corrected"]["exact"]


def test_flags_are_admitted_by_the_oracle_that_knows_them_only() -> None:
    d = device(code="steane")
    circuit = d.spec.baseline + "M 7\n"
    assert ask(CheckFaultTolerance, d, circuit)["valid"]
    for oracle in (CheckStabilizers, EvaluateOptimization):
        with pytest.raises(AgentError) as refusal:
            oracle(circuit=circuit).admit(d.spec)
        assert (refusal.value.code, refusal.value.field) == ("invalid-circuit", "circuit")


def test_both_languages_give_the_same_answer() -> None:
    d = device(code="perfect_5")
    names = {"H": "h", "S": "s", "CX": "cx", "S_DAG": "sdg", "X": "x", "Y": "y", "Z": "z"}
    gates = parse(d.spec.baseline, 5).gates
    lines = [f"{names[g.name]} q[{g.a}]" + ("" if g.b < 0 else f", q[{g.b}]") + ";" for g in gates]
    text = "OPENQASM 3.0;\nqubit[5] q;\n" + "\n".join(lines)
    for oracle in ORACLES:
        first, second = ask(oracle, d, d.spec.baseline), ask(oracle, d, text)
        assert {k: v for k, v in first.items() if k != "sha256"} == {k: v for k, v in second.items() if k != "sha256"}


def test_the_rules_are_a_material_in_words() -> None:
    d = device(code="steane")
    found = {m.name: m.text for m in QTYPE.materials(d.spec, d.profile)}
    assert set(found) == {"generators.txt", "baseline.stim", "rules.txt"}
    assert found["generators.txt"].split() == list(d.spec.generators)
    assert "padding" in found["rules.txt"]


def test_preparation_is_not_told_the_baseline_which_is_one() -> None:
    d = device(code="steane", task="preparation")
    assert (d.spec.baseline, d.spec.baseline_sha256) == ("", "")
    assert {m.name for m in QTYPE.materials(d.spec, d.profile)} == {"generators.txt", "rules.txt"}
    for oracle in ORACLES:
        assert ask(oracle, d, oracle.examples(d.spec)[0].circuit)["satisfied"] < 6


def test_a_draw_keeps_to_both_bounds() -> None:
    sizes = {device(seed, code="listed", min_n=20, max_n=30).spec.n for seed in range(12)}
    assert sizes <= set(range(20, 31))
    assert len(sizes) > 1
    with pytest.raises(TaskError, match="at least 190"):
        device(code="extended", min_n=190)
