"""t_count_race: gates, metric, binding, and the two equivalence checks."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import finite_field as ff
from graders.t_count_race import GRADER, Answer
from lab.conventions import tcount as tc
from qtypes import Device
from qtypes.logical_circuit_optimizer import QTYPE, Evaluate, Profile, instances, physics, rotations

RACE = Profile(instance="race")


def session(device: Device, *evaluated: str) -> Any:
    return SimpleNamespace(device=device, queries=tuple(SimpleNamespace(tool="evaluate", request=Evaluate(circuit=t)) for t in evaluated))


def verdict(device: Device, text: str, *evaluated: str) -> tuple[dict[str, bool], float | None]:
    s = session(device, *(evaluated or (text,)))
    answer = Answer(circuit=text)
    q = GRADER.recompute(s)
    score = GRADER.score(answer, s, q, np.random.default_rng(5))
    return {c.name: c.passed for c in [*GRADER.bind(answer, s, q), *score.checks] if c.gate}, score.metric


@pytest.fixture(scope="module")
def easy() -> tuple[Device, tc.Circuit]:
    """A device whose baseline is a circuit with an identity appended; the limit is the T-count without it."""
    rng = np.random.default_rng(1)
    recipe = instances.Recipe(10, 2, 12, 3, identities=0)
    short, planted = instances.generate(rng, recipe)
    identity = tuple(g for m in instances._identity(rng, recipe) for g in instances._phase_of_parity(m))
    longer = tc.to_qasm(tc.Circuit(10, identity + short.gates))
    hidden = QTYPE.practice(RACE).model_copy(update={"baseline": longer, "t_count_limit": planted})
    return Device(QTYPE.spec(hidden, RACE), hidden, RACE), short


def with_gates(c: tc.Circuit, *gates: tc.Gate) -> str:
    return tc.to_qasm(tc.Circuit(c.n_qubits, (*c.gates, *gates)))


def test_an_equivalent_circuit_at_the_limit_passes_with_its_metric(easy: tuple[Device, tc.Circuit]) -> None:
    device, short = easy
    checks, metric = verdict(device, tc.to_qasm(short))
    assert all(checks.values())
    assert metric == tc.metric(tc.counts(short))


def test_the_baseline_itself_fails_the_t_count_gate(easy: tuple[Device, tc.Circuit]) -> None:
    checks, _ = verdict(easy[0], easy[0].hidden.baseline)
    assert [k for k, ok in checks.items() if not ok] == ["T-count"]


def test_one_t_gate_above_the_limit_fails(easy: tuple[Device, tc.Circuit]) -> None:
    device, short = easy
    checks, _ = verdict(device, with_gates(short, ("t", 0, -1), ("tdg", 0, -1)))
    assert [k for k, ok in checks.items() if not ok] == ["T-count"]


def test_a_circuit_with_fewer_t_gates_that_is_not_equivalent_fails_both_checks(easy: tuple[Device, tc.Circuit]) -> None:
    checks, _ = verdict(easy[0], tc.to_qasm(tc.Circuit(10, ())))
    assert [k for k, ok in checks.items() if not ok] == ["equivalent by state vectors", "equivalent in a finite field"]


def test_a_circuit_never_evaluated_or_differing_in_one_byte_fails_to_bind(easy: tuple[Device, tc.Circuit]) -> None:
    device, short = easy
    text = tc.to_qasm(short)
    checks, _ = verdict(device, text, text + "\n")
    assert [k for k, ok in checks.items() if not ok] == ["the final circuit was evaluated in this session"]


def test_text_outside_the_grammar_fails_without_an_exception(easy: tuple[Device, tc.Circuit]) -> None:
    checks, metric = verdict(easy[0], "OPENQASM 2.0;\nqreg q[10];\nmeasure q[0] -> c[0];\n", tc.to_qasm(easy[1]))
    assert not checks["the circuit is in the grammar"]
    assert metric is None


def test_the_answer_schema_refuses_unknown_fields_and_wrong_types() -> None:
    for body in ({"circuit": 3}, {"circuit": ""}, {}, {"circuit": "x", "t_count": 1}, {"circuit": "x" * 1_000_001}):
        with pytest.raises(ValidationError):
            Answer.model_validate(body)


def test_grading_twice_gives_the_same_verdict(easy: tuple[Device, tc.Circuit]) -> None:
    text = tc.to_qasm(easy[1])
    assert verdict(easy[0], text) == verdict(easy[0], text)


# the second check on its own


def test_the_finite_field_agrees_with_state_vectors_on_random_changes() -> None:
    rng = np.random.default_rng(9)
    base, _ = instances.generate(rng, instances.Recipe(6, 2, 6, 3, identities=1))
    outcomes = []
    for _ in range(20):
        gates = list(base.gates)
        at = int(rng.integers(len(gates)))
        gates.insert(at, gates[at])  # doubling a t or h changes the unitary, doubling the fan-in cx of a later parity does too
        if rng.random() < 0.5:
            gates.insert(at, (gates[at][0].replace("tdg", "t"), *gates[at][1:]) if gates[at][0] != "t" else ("tdg", *gates[at][1:]))
        changed = tc.Circuit(6, tuple(gates))
        exact = ff.equal(ff.read(tc.to_qasm(changed)), ff.read(tc.to_qasm(base)), rng)  # type: ignore[arg-type]
        assert exact == physics.compare(changed, base, rng).equivalent
        outcomes.append(exact)
    assert 0 < sum(outcomes) < len(outcomes)


@pytest.mark.parametrize(
    "left, right, same",
    [
        ("t q[0];t q[0];", "s q[0];", True),
        ("h q[0];h q[0];", "", True),
        ("h q[0];t q[0];h q[0];", "t q[0];", False),
        ("cz q[0],q[1];", "cz q[1],q[0];", True),
        ("cx q[0],q[1];", "cx q[1],q[0];", False),
        ("h q[1];cx q[0],q[1];h q[1];", "cz q[0],q[1];", True),
        ("x q[0];t q[0];x q[0];t q[0];", "", True),
        ("s q[0];", "sdg q[0];", False),
        ("h q[0];s q[0];h q[0];s q[0];h q[0];s q[0];", "", True),
    ],
)  # fmt: skip
def test_the_finite_field_knows_the_identities_of_the_gates_up_to_a_phase(left: str, right: str, same: bool) -> None:
    a, b = (ff.read(f"OPENQASM 2.0;qreg q[2];{t}") for t in (left, right))
    assert a is not None
    assert b is not None
    assert ff.equal(a, b, np.random.default_rng(0)) is same


def test_both_readers_give_the_same_counts_on_random_circuits() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        n = int(rng.integers(2, 8))
        gates = []
        for _ in range(int(rng.integers(1, 120))):
            name = str(rng.choice(tc.ONE_QUBIT + tc.TWO_QUBIT))
            a, b = (int(q) for q in rng.permutation(n)[:2])
            gates.append((name, a, b if name in tc.TWO_QUBIT else -1))
        c = tc.Circuit(n, tuple(gates))
        cost, program = tc.counts(c), ff.read(tc.to_qasm(c))
        assert program is not None
        assert (program.t_count, program.t_depth, program.cx_count) == (cost.t_count, cost.t_depth, cost.cx_count)


@pytest.mark.parametrize("body", ["rz q[0];", "h q[2];", "cx q[0],q[0];", "h q[0]", "cx q[0];", ";", "h r[0];", "h q[0] q[1];"])
def test_the_second_reader_refuses_what_the_first_refuses(body: str) -> None:
    text = f"OPENQASM 2.0;qreg q[2];{body}"
    assert ff.read(text) is None
    with pytest.raises(tc.QasmError):
        tc.parse(text)


# the page


def test_the_task_page_states_the_numbers_of_grader_and_instance() -> None:
    card = tasks.load("t_count_race")
    page = card.instruction()
    spec = QTYPE.spec(QTYPE.practice(RACE), RACE)
    assert graders.load("t_count_race") is GRADER
    assert f"T-count <= {spec.t_count_limit}" in page
    assert f"T-count {spec.baseline_t_count}, T-depth {spec.baseline_t_depth}, {spec.baseline_cx_count} CX" in page
    assert f"{card.budget['evaluate_calls']:.0f} `evaluate` calls" in page
    assert "T-count * 1e8 + T-depth * 1e4 + CX count" in page
    assert f"capped at {tc.CAP}" in page
    assert f"{tc.MAX_GATES} gates" in page
    QTYPE.Profile.model_validate(card.profile)


# the reference


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The reference solver as a module, with seconds instead of minutes."""
    monkeypatch.syspath_prepend(str(tasks.load("t_count_race").folder / "solution"))
    names = ("reference", "pauli", "reed_muller", "synthesis")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("reference")
    for name, value in {"RESTARTS": 1, "SEARCH_S": 1.0, "LAYOUT_S": 0.2, "SYNTHESES": 2}.items():
        monkeypatch.setattr(module, name, value)
    yield module
    for name in names:
        sys.modules.pop(name, None)


def test_the_reference_meets_a_budget_that_merging_misses_and_stays_equivalent(solver: Any) -> None:
    profile = Profile(instance="budget")
    hidden = QTYPE.draw(np.random.default_rng(3), profile)
    text = solver.optimise(hidden.baseline, 1)
    cost, before = tc.counts(tc.parse(text)), tc.counts(tc.parse(hidden.baseline))
    assert cost.t_count <= hidden.t_count_limit < rotations.merged_t_count(tc.parse(hidden.baseline))
    assert cost.t_depth < before.t_depth / 2
    exact, baseline = ff.read(text), ff.read(hidden.baseline)
    assert exact is not None
    assert baseline is not None
    assert ff.equal(exact, baseline, np.random.default_rng(0))


def test_the_synthesis_of_the_reference_reproduces_small_random_circuits(solver: Any) -> None:
    rng = np.random.default_rng(4)
    for _ in range(12):
        n = int(rng.integers(2, 6))
        gates = []
        for _ in range(60):
            name = str(rng.choice(tc.ONE_QUBIT + tc.TWO_QUBIT))
            a, b = (int(q) for q in rng.permutation(n)[:2])
            gates.append((name, a, b if name in tc.TWO_QUBIT else -1))
        c = tc.Circuit(n, tuple(gates))
        r = solver.from_circuit(c)
        solver.merge(r)
        out = solver.synthesise(r, solver.layers(r.seq, n, rng, 0.0), rng)
        assert physics.compare(out, c, rng).equivalent
        assert tc.counts(out).t_count == len(r.seq) == rotations.merged_t_count(c)
