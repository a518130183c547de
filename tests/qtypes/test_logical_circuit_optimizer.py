"""logical_circuit_optimizer: grammar, costs, equivalence, instances, the evaluate query."""

from __future__ import annotations

import datetime as dt
import hashlib
import time

import numpy as np
import pytest

import qtypes
from lab.conventions import tcount as tc
from qtypes import AgentError, Device, TaskError
from qtypes.logical_circuit_optimizer import QTYPE, Evaluate, Hidden, Profile, instances, physics, rotations
from qtypes.logical_circuit_optimizer.device import MERGING_MISSES_BY

RACE, BUDGET = Profile(instance="race"), Profile(instance="budget")
HEAD = 'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[3];\n'


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_circuit(n: int, gates: int, g: np.random.Generator) -> tc.Circuit:
    out = []
    for _ in range(gates):
        name = str(g.choice(tc.ONE_QUBIT + (tc.TWO_QUBIT if n > 1 else ())))
        a = int(g.integers(n))
        b = int((a + 1 + g.integers(n - 1)) % n) if name in tc.TWO_QUBIT else -1
        out.append((name, a, b))
    return tc.Circuit(n, tuple(out))


def circuit(n: int, *gates: str) -> tc.Circuit:
    return tc.parse(f"OPENQASM 2.0;\nqreg q[{n}];\n" + "\n".join(g + ";" for g in gates))


def equal(a: tc.Circuit, b: tc.Circuit) -> bool:
    return physics.compare(a, b, rng()).equivalent


@pytest.fixture(scope="module")
def practice() -> Device:
    hidden = QTYPE.practice(RACE)
    return Device(QTYPE.spec(hidden, RACE), hidden, RACE)


# costs


def test_the_empty_circuit_costs_nothing() -> None:
    assert tc.counts(tc.Circuit(3, ())) == tc.Counts(0, 0, 0, 0, 0)


def test_t_depth_layers_parallel_t_gates_together_and_cx_synchronises_its_qubits() -> None:
    assert tc.counts(circuit(2, "t q[0]", "tdg q[1]")).t_depth == 1
    assert tc.counts(circuit(2, "t q[0]", "cx q[0],q[1]", "t q[1]")).t_depth == 2
    assert tc.counts(circuit(3, "t q[0]", "t q[0]", "cz q[0],q[1]", "h q[1]", "t q[1]", "t q[2]")).t_depth == 3


def test_a_toffoli_has_its_textbook_costs() -> None:
    cost = tc.counts(tc.Circuit(3, tuple(instances.toffoli(0, 1, 2))))
    assert (cost.t_count, cost.cx_count) == (7, 6)


def test_the_metric_is_lexicographic_and_each_count_is_capped() -> None:
    assert tc.metric(tc.Counts(10, 9999, 9999, 0, 0)) < tc.metric(tc.Counts(11, 0, 0, 0, 0))
    assert tc.metric(tc.Counts(10, 5, 20_000, 0, 0)) == tc.metric(tc.Counts(10, 5, 9_999, 0, 0)) < tc.metric(tc.Counts(10, 6, 0, 0, 0))


# equivalence


def test_two_t_gates_equal_one_s_gate_and_costs_tell_them_apart() -> None:
    tt, s = circuit(1, "t q[0]", "t q[0]"), circuit(1, "s q[0]")
    assert equal(tt, s)
    assert tc.counts(tt).t_count == 2
    assert tc.counts(s).t_count == 0


def test_a_toffoli_and_an_adder_act_on_basis_states_as_arithmetic_says() -> None:
    u = physics.unitary(tc.Circuit(3, tuple(instances.toffoli(0, 1, 2))))
    expected = np.eye(8)[[0, 1, 2, 3, 4, 5, 7, 6]]
    np.testing.assert_allclose(u, expected, atol=1e-12)
    wires = list(range(6))
    adder = tc.Circuit(6, tuple(instances.ripple_adder(wires[0], wires[1:3], wires[3:5], wires[5])))
    for a in range(4):
        for b in range(4):
            for c in (0, 1):
                bits = [c, a & 1, a >> 1, b & 1, b >> 1, 0]
                state = np.zeros((1, 64))
                state[0, int("".join(map(str, bits)), 2)] = 1
                out = int(np.argmax(np.abs(physics.apply(adder, state))))
                total = a + b + c
                assert [int(x) for x in f"{out:06b}"] == [c, a & 1, a >> 1, total & 1, total >> 1 & 1, total >> 2]


def test_the_global_phase_is_ignored_and_a_relative_phase_is_not() -> None:
    minus_one = circuit(1, "z q[0]", "x q[0]", "z q[0]", "x q[0]")
    np.testing.assert_allclose(physics.unitary(minus_one), -np.eye(2), atol=1e-12)
    assert equal(minus_one, circuit(1))
    assert not equal(circuit(1, "t q[0]"), circuit(1))


def test_a_wire_permutation_is_not_equivalent(practice: Device) -> None:
    base = tc.parse(practice.hidden.baseline)
    swapped = {0: 1, 1: 0}
    renamed = tc.Circuit(base.n_qubits, tuple((g, swapped.get(a, a), swapped.get(b, b)) for g, a, b in base.gates))
    assert equal(base, base)
    assert not equal(renamed, base)


@pytest.mark.parametrize("change", ["insert", "remove", "move", "dagger", "reverse"])
def test_a_changed_race_circuit_is_not_equivalent(practice: Device, change: str) -> None:
    base = tc.parse(practice.hidden.baseline)
    gates = list(base.gates)
    at = next(i for i, g in enumerate(gates) if g[0] == "t")
    if change == "insert":
        gates.insert(0, ("t", 0, -1))
    elif change == "remove":
        gates.pop(at)
    elif change == "move":
        gates.append(gates.pop(at))
    elif change == "dagger":
        gates[at] = ("tdg", *gates[at][1:])
    else:
        gates.reverse()
    assert not equal(tc.Circuit(base.n_qubits, tuple(gates)), base)


def test_equivalence_agrees_with_qiskit_on_random_circuits_of_up_to_five_qubits() -> None:
    from qiskit import QuantumCircuit
    from qiskit.quantum_info import Operator

    g, verdicts = rng(11), []
    for k in range(100):
        n = int(g.integers(1, 6))
        a = random_circuit(n, int(g.integers(0, 12)), g)
        gates = list(a.gates)
        if k % 3 == 0:  # rewrite without change: s = t t, and cz = h cx h
            gates = [x for gate in gates for x in ([("t", *gate[1:])] * 2 if gate[0] == "s" else
                     [("h", gate[2], -1), ("cx", *gate[1:]), ("h", gate[2], -1)] if gate[0] == "cz" else [gate])]  # fmt: skip
        elif gates and k % 3 == 1:
            gates[int(g.integers(len(gates)))] = random_circuit(n, 1, g).gates[0]
        else:
            gates = gates[::-1]
        b = tc.Circuit(n, tuple(gates))
        theirs = Operator(QuantumCircuit.from_qasm_str(tc.to_qasm(a))).equiv(QuantumCircuit.from_qasm_str(tc.to_qasm(b)))
        assert equal(a, b) == theirs
        verdicts.append(theirs)
    assert 20 < sum(verdicts) < 90


def test_the_states_alone_decide_above_the_size_of_full_unitaries() -> None:
    n = physics.FULL_UNITARY_QUBITS + 1
    base = random_circuit(n, 200, rng(3))
    assert equal(base, base)
    assert not equal(tc.Circuit(n, (*base.gates, ("t", 4, -1))), base)


# grammar


@pytest.mark.parametrize(
    "text, line, token",
    [
        ("", 1, "end of statement"),
        ("qreg q[3];", 1, "qreg"),
        ("OPENQASM 3.0;\nqreg q[3];", 1, "OPENQASM"),
        ("OPENQASM 2.0;\ninclude \"/etc/passwd\";\nqreg q[3];", 2, "include"),
        ("OPENQASM 2.0;\nqreg q[999999999];", 2, "qreg"),
        ("OPENQASM 2.0;\nqreg q[4];", 2, "4"),
        (HEAD + "qreg r[3];", 4, "qreg"),
        (HEAD + "creg c[3];", 4, "creg"),
        (HEAD + "measure q[0] -> c[0];", 4, "measure"),
        (HEAD + "reset q[0];", 4, "reset"),
        (HEAD + "barrier q[0];", 4, "barrier"),
        (HEAD + "if (c==1) x q[0];", 4, "if"),
        (HEAD + "gate t a { }", 4, "gate"),
        (HEAD + "opaque t a;", 4, "opaque"),
        (HEAD + "rz(pi/4) q[0];", 4, "rz"),
        (HEAD + "u3(0,0,0) q[0];", 4, "u3"),
        (HEAD + "y q[0];", 4, "y"),
        (HEAD + "H q[0];", 4, "H"),
        (HEAD + "h q;", 4, "q"),
        (HEAD + "h q[0]; t q[3];", 4, "3"),
        (HEAD + "h q[00];", 4, "00"),
        (HEAD + "h q[-1];", 4, "q[-1]"),
        (HEAD + "h r[0];", 4, "r"),
        (HEAD + "cx q[1],q[1];", 4, "q[1]"),
        (HEAD + "cx q[1];", 4, "cx q[1]"),
        (HEAD + "h q[0],q[1];", 4, "h q[0],q[1]"),
        (HEAD + ";", 4, "end of statement"),
        (HEAD + "h q[0];\nt q[1]", 5, "t"),
        (HEAD + "h q[\u0660];", 4, "?"),
        (HEAD + "h q[0];\n\x00 q[0];", 5, "?"),
    ],
)  # fmt: skip
def test_text_outside_the_grammar_is_refused_with_line_and_token(text: str, line: int, token: str) -> None:
    with pytest.raises(tc.QasmError) as refused:
        tc.parse(text, 3)
    assert (refused.value.line, refused.value.token) == (line, token)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "h q[0];" * 20_001,
        HEAD + "h" + " " * 900_000 + "!",
        HEAD + "cx q[0]," * 100_000,
        HEAD + "\n" * 900_000 + "h q[9];",
        HEAD + ";" * 900_000,
        HEAD + "(" * 900_000,
        HEAD + "h q[0]" + " , " * 300_000 + ";",
        "x" * 1_000_001,
    ],
    ids=["gates", "blanks", "unended", "lines", "semicolons", "nesting", "operands", "bytes"],
)
def test_hostile_texts_are_refused_fast_and_echoed_short(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(tc.QasmError) as refused:
        tc.parse(text, 3)
    assert time.process_time() - begun < 3
    assert len(str(refused.value)) < 300


def test_comments_blank_lines_and_several_gates_per_line_are_read() -> None:
    read = tc.parse("// head\nOPENQASM 2.0;\nqreg reg_1 [ 2 ];\n\nh reg_1[0]; cx reg_1[0] , reg_1[1]; // bell\nt\n reg_1[1];")
    assert read == tc.Circuit(2, (("h", 0, -1), ("cx", 0, 1), ("t", 1, -1)))


def test_writing_and_reading_give_the_same_circuit() -> None:
    written = random_circuit(5, 300, rng(5))
    assert tc.parse(tc.to_qasm(written), 5) == written


# instances


@pytest.mark.parametrize("single", [True, False])
def test_identities_change_the_text_and_not_the_unitary(single: bool) -> None:
    recipe = instances.Recipe(6, 2, 5, 3, identities=1, single_qubit_identities=single)
    circuit_, planted = instances.generate(rng(1), recipe)
    assert planted == 10
    assert tc.counts(circuit_).t_count == 10 + 2 * 15
    identity = [g for m in instances._identity(rng(2), recipe) for g in instances._phase_of_parity(m)]
    assert equal(tc.Circuit(6, tuple(identity)), tc.Circuit(6, ()))


def test_merging_rotations_keeps_to_known_counts() -> None:
    ccx = instances.toffoli(0, 1, 2)
    assert rotations.merged_t_count(tc.Circuit(3, tuple(ccx))) == 7
    assert rotations.merged_t_count(tc.Circuit(3, tuple(ccx + ccx))) == 0
    assert rotations.merged_t_count(circuit(2, "t q[0]", "cx q[0],q[1]", "t q[0]")) == 0
    assert rotations.merged_t_count(circuit(1, "t q[0]", "h q[0]", "t q[0]")) == 2


def test_the_practice_instance_is_the_frozen_one(practice: Device) -> None:
    spec = practice.spec
    assert spec.baseline_sha256 == hashlib.sha256(practice.hidden.baseline.encode()).hexdigest()
    assert spec.baseline_sha256 == "bc4c7f0cbb5714bc42a9a732e07ff3f2e103daa4cb41febce05d17e889785caf"
    assert (spec.n_qubits, spec.baseline_t_count, spec.baseline_t_depth) == (10, 436, 281)
    assert (spec.baseline_cx_count, spec.baseline_gates) == (1350, 1830)
    assert spec.t_count_limit == 312
    assert practice.hidden.planted_t_count is None
    assert QTYPE.practice(RACE) == practice.hidden
    with pytest.raises(TaskError):
        QTYPE.practice(BUDGET)


def test_the_draw_of_the_race_is_what_it_was_when_its_calibration_was_made() -> None:
    text = QTYPE.draw(rng(0), RACE).baseline
    assert hashlib.sha256(text.encode()).hexdigest() == "1ddfc095eb1a7e1e76381d9d2123806889521952ba8e10c4c9a594c37c1855b0"


def test_the_budget_is_the_planted_count_times_1_40_rounded_up() -> None:
    assert [instances.t_budget(t) for t in (32, 33, 35, 36, 40)] == [45, 47, 49, 51, 56]


@pytest.mark.parametrize("profile", [RACE, BUDGET], ids=["race", "budget"])
def test_drawn_instances_round_trip_differ_and_hide_the_planted_count(profile: Profile) -> None:
    a, b, again = (QTYPE.draw(rng(s), profile) for s in (1, 2, 1))
    assert a == again
    assert a.baseline != b.baseline
    assert Hidden.model_validate_json(a.model_dump_json()) == a
    spec = QTYPE.spec(a, profile)
    cost = tc.counts(tc.parse(a.baseline, spec.n_qubits))
    assert a.planted_t_count < spec.t_count_limit < spec.baseline_t_count == cost.t_count
    assert "planted" not in spec.model_dump_json()
    if profile is BUDGET:
        assert spec.n_qubits == 8
        assert 32 <= a.planted_t_count <= 40
        assert spec.t_count_limit == instances.t_budget(a.planted_t_count)
        assert spec.baseline_t_count - a.planted_t_count - 60 in range(0, 25, 2)
        assert rotations.merged_t_count(tc.parse(a.baseline)) >= spec.t_count_limit + MERGING_MISSES_BY


@pytest.mark.parametrize("profile", [RACE, BUDGET], ids=["race", "budget"])
def test_materials_and_notebook_hold_only_what_is_public(profile: Profile) -> None:
    hidden = QTYPE.draw(rng(4), profile)
    spec = QTYPE.spec(hidden, profile)
    files = {m.name: m.text for m in QTYPE.materials(spec, profile)}
    assert set(files) == {"baseline.qasm", "counting.txt", "tcount.py"}
    assert tc.to_qasm(tc.parse(files["baseline.qasm"])) == hidden.baseline
    today = dt.date(2026, 1, 15)
    notes = QTYPE.notebook(hidden, rng(), profile, today).entries
    assert all(n.date < today for n in notes)
    assert list(notes) == sorted(notes, key=lambda n: n.date)
    assert str(rotations.merged_t_count(tc.parse(hidden.baseline))) in notes[-1].text


# the query


def test_evaluate_reports_equivalence_and_costs_and_charges_one_call(practice: Device) -> None:
    ask = Evaluate(circuit=practice.hidden.baseline)
    ask.admit(practice.spec)
    out = ask.answer(practice, None, None, rng())
    assert out["valid"]
    assert out["equivalent"]
    assert out["sha256"] == practice.spec.baseline_sha256
    assert (out["t_count"], out["t_depth"], out["cx_count"], out["metric"]) == (436, 281, 1350, 43_602_811_350)
    assert {k: float(v) for k, v in ask.cost().amounts.items()} == {"evaluate_calls": 1.0}


def test_evaluate_says_not_equivalent_of_a_shorter_circuit(practice: Device) -> None:
    out = Evaluate(circuit=tc.to_qasm(tc.Circuit(10, ()))).answer(practice, None, None, rng())
    assert out["valid"]
    assert not out["equivalent"]
    assert out["t_count"] == 0


def test_evaluate_refuses_text_outside_the_grammar_as_the_agents_fault(practice: Device) -> None:
    ask = Evaluate(circuit="OPENQASM 2.0;\nqreg q[10];\nrz(0.1) q[0];\n")
    for call in (lambda: ask.admit(practice.spec), lambda: ask.answer(practice, None, None, rng())):
        with pytest.raises(AgentError) as refused:
            call()
        problem = refused.value.problem()
        assert problem["field"] == "circuit"
        assert problem["got"] == "rz"
        assert "line 3" in problem["detail"]


def test_the_qtype_is_found_by_its_folder() -> None:
    assert qtypes.load("logical_circuit_optimizer") is QTYPE
