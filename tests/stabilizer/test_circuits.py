"""stabilizer_codes: reading circuits, refusing them by name, counting, condensing."""

from __future__ import annotations

import numpy as np
import pytest
import stim

from qtypes.errors import AgentError
from qtypes.stabilizer_codes import actions, circuits
from qtypes.stabilizer_codes.circuits import MAX_GATES, Circuit, Gate, counts, parse
from tests.stabilizer.circuits import random_circuit

QASM = 'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[5] d;\nqubit[2] f;\nbit[2] c;\n'

REFUSED = {
    "noise": ("DEPOLARIZE1(0.1) 0", "DEPOLARIZE1"),
    "correlated noise": ("CORRELATED_ERROR(0.1) X0", "is not admissible"),
    "noisy measurement": ("M(0.1) 5", "M with an argument"),
    "measured data": ("M 0", "measures data qubit 0"),
    "measured twice": ("M 5\nM 5", "twice"),
    "measured before coupling": ("M 5\nCX 0 5", "CX after a measurement"),
    "inverted result": ("M !5", "M with the target"),
    "reset": ("R 0", "a reset"),
    "reset of a flag": ("RX 5", "a reset"),
    "measure and reset": ("MR 5", "MR is not admissible"),
    "product measurement": ("MPP X0*X1", "MPP"),
    "pair measurement": ("MXX 0 1", "MXX"),
    "other basis": ("MX 5", "MX"),
    "product rotation": ("SPP X0*X1", "SPP"),
    "padding": ("MPAD 0", "MPAD"),
    "feedback": ("M 5\nCX rec[-1] 0", "CX with the target"),
    "sweep": ("CX sweep[0] 0", "CX with the target"),
    "detector": ("DETECTOR rec[-1]", "DETECTOR"),
    "observable": ("OBSERVABLE_INCLUDE(0) X0", "OBSERVABLE_INCLUDE"),
    "tag": ("H[data] 0", "a tag on H"),
    "endless block": ("REPEAT 1000000000000 {\nH 0\n}", "REPEAT"),
    "endless empty block": ("REPEAT 20000 {\nREPEAT 20000 {\nTICK\n}\n}", "REPEAT"),
    "nested blocks": ("REPEAT 1 {\n" * 5000 + "H 0\n" + "}\n" * 5000, "nested"),
    "open block": ("REPEAT 2 {\nH 0", "not closed"),
    "stray brace": ("H 0\n}", "no instruction"),
    "index": ("H 4000000000", "beyond the last one"),
    "index of forty digits": ("H " + "9" * 40, "beyond the last one"),
    "ancilla not measured": ("CX 0 5\nCX 0 5", "ancilla 5 is not measured"),
    "gap between flags": ("M 6", "ancilla 5 is not measured"),
    "same qubit twice": ("CX 1 1", "twice"),
    "odd number of targets": ("CX 0 1 2", "even number"),
    "negative index": ("H -1", "H with the target"),
    "unicode digit": ("H ٣", "H with the target"),
    "unknown": ("TOFFOLI 0 1 2", "TOFFOLI"),
    "argument of a gate": ("H(0.5) 0", "noise"),
    "many operations": ("H 0\n" * 30_000, "too many operations"),
    "many targets": ("CX " + "0 1 " * 45_000, "too many operations"),
    "long text": ("#" * 200_001, "too long"),
    "qasm rotation": (QASM + "rz(0.1) d[0];", "rz"),
    "qasm t": (QASM + "t d[0];", "'t'"),
    "qasm u": (QASM + "U(0,0,0) d[0];", "U"),
    "qasm reset": (QASM + "reset d[0];", "reset"),
    "qasm if": (QASM + "if (c[0]) x d[0];", "if"),
    "qasm for": (QASM + "for int i in [0:99999999] { h d[0]; };", "for"),
    "qasm gate": (QASM + "gate g a { h a; };", "gate"),
    "qasm data measured": (QASM + "c[0] = measure d[0];", "measures data qubit 0"),
    "qasm measured first": (QASM + "c = measure f; cx d[0], f[0];", "after a measurement"),
    "qasm register": (QASM + "qubit[999999999] more;", "beyond the last qubit"),
    "qasm pow": (QASM + "pow(2) @ x d[0];", "pow"),
    "qasm controls": (QASM + "ctrl @ ctrl @ x d[0], d[1], d[2];", "ctrl @ cx"),
    "qasm index": (QASM + "h d[5];", "no qubit 5"),
    "qasm unknown register": (QASM + "h q[0];", "not a declared qubit"),
    "qasm version": ("OPENQASM 4.0; qubit[5] q;", "not OpenQASM"),
    "qasm open comment": ("OPENQASM 3.0;" + "/*" * 90_000, "semicolon"),
    "qasm undeclared bit": (QASM + "e[0] = measure f[0];", "declared bit"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_admissible_is_refused_by_name(case: str) -> None:
    text, name = REFUSED[case]
    with pytest.raises(AgentError) as refusal:
        parse(text, 5, flags=True)
    assert name in refusal.value.detail
    assert refusal.value.field == "circuit"


def test_without_flags_no_ancilla_is_admitted() -> None:
    for text in ("H 5", "M 5", "CX 0 5\nM 5"):
        with pytest.raises(AgentError, match="beyond the last one"):
            parse(text, 5)


def test_at_most_two_flags_for_each_data_qubit() -> None:
    assert parse("M " + " ".join(map(str, range(5, 15))), 5, flags=True).flags == 10
    with pytest.raises(AgentError, match="beyond the last one"):
        parse("M " + " ".join(map(str, range(5, 16))), 5, flags=True)


def test_every_unitary_gate_of_stim_on_one_or_two_qubits_is_known_under_all_its_names() -> None:
    for name, data in stim.gate_data().items():
        admissible = data.is_unitary and (data.is_single_qubit_gate or data.is_two_qubit_gate) and name not in ("II",)
        if name.startswith("SPP"):
            continue
        assert (name in actions.ONE_QUBIT or name in actions.TWO_QUBIT) is admissible, name
        for alias in data.aliases if admissible else ():
            text = f"{alias.lower()} 0 1"
            assert {g.name for g in parse(text, 2).gates} <= {name}


def test_text_means_what_stim_reads() -> None:
    block = "REPEAT 3 {\n  TICK\n  S 1\n  REPEAT 2 {\n CZ 0 2\n }\n}\n"
    text = f"QUBIT_COORDS(1, 2) 0\n# comment\nH 0 1\n\ncnot 0 1 1 2 # two\n{block}SHIFT_COORDS(1)\nI 2\nISWAP 0 1"
    mine, theirs = parse(text, 3).unitary().to_tableau(), stim.Circuit(text).to_tableau()
    assert mine == theirs


def test_random_text_means_what_stim_reads() -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        circuit = random_circuit(rng, int(rng.integers(2, 7)), 30, 0)
        again = parse(circuit.text(), circuit.n)
        assert again == circuit
        assert again.unitary().to_tableau() == stim.Circuit(circuit.text() + f"I {circuit.n - 1}").to_tableau()


def test_openqasm_is_read_as_the_same_gates() -> None:
    text = QASM + "h d; cx d[0], f[1]; ctrl @ x d[1], f[0]; inv @ s d[0]; /* swap */ swap d[0], d[1]; barrier d, f; cz d[0],d; // end\n"
    with pytest.raises(AgentError, match="twice"):
        parse(text + "c = measure f;", 5, flags=True)
    text = text.replace("cz d[0],d;", "cz d[0], f; sx d[2]; id d[1];") + "c[0] = measure f[0]; measure f[1] -> c[1];"
    expected = "H 0 1 2 3 4\nCX 0 6 1 5\nS_DAG 0\nSWAP 0 1\nCZ 0 5 0 6\nSQRT_X 2\nM 5 6"
    assert parse(text, 5, flags=True) == parse(expected, 5, flags=True)
    assert parse("// first\nOPENQASM 2.0;\nqreg q[3];\ncreg c[3];\ncx q[0],q[2];", 3).gates == (Gate("CX", 0, 2),)


def test_openqasm_agrees_with_qiskit() -> None:
    from qiskit import QuantumCircuit, qasm3
    from qiskit.quantum_info import Clifford

    rng = np.random.default_rng(2)
    for _ in range(5):
        qc = QuantumCircuit(4)
        for _ in range(40):
            name = str(rng.choice(["h", "s", "sdg", "x", "y", "z", "sx", "cx", "cy", "cz", "swap"]))
            qubits = [int(q) for q in rng.choice(4, 2 if name in ("cx", "cy", "cz", "swap") else 1, replace=False)]
            getattr(qc, name)(*qubits)
        mine = parse(qasm3.dumps(qc), 4).unitary().to_tableau()
        theirs = Clifford(qc)
        for q in range(4):
            for out, row in ((mine.x_output(q), theirs.destab[q]), (mine.z_output(q), theirs.stab[q])):
                xs, zs = out.to_numpy()
                assert np.array_equal(np.concatenate([xs, zs]), row[:8])
                assert (out.sign == -1) == bool(row[8])


def test_a_gate_counts_by_what_it_does_under_any_name() -> None:
    for name, alias in (("CX", "CNOT"), ("CX", "ZCX"), ("XCZ", "XCZ"), ("CZ", "ZCZ"), ("SQRT_ZZ", "SQRT_ZZ"), ("XCX", "XCX")):
        found = counts(parse(f"{alias} 0 1 2 3", 4))
        assert (found.g2q, found.entangling, found.depth) == (2, 2, 1), name
    for name, cost in (("SWAP", 3), ("ISWAP", 2), ("CXSWAP", 2), ("SWAPCX", 2), ("CZSWAP", 2), ("SWAPCZ", 2), ("ISWAP_DAG", 2)):
        found = counts(parse(f"{name} 0 1", 2))
        assert (found.g2q, found.entangling) == (1, cost)


def test_entangling_cost_is_the_least_number_of_cx_by_search() -> None:
    """The class of a gate up to one-qubit gates decides: products of one, two, three CX with one-qubit gates between reach it or do not."""

    def matrix(t: stim.Tableau) -> np.ndarray:
        return np.array([np.hstack(out(q).to_numpy()) for out in (t.x_output, t.z_output) for q in (0, 1)], dtype=np.uint8)

    singles = [stim.gate_data(name).tableau for name in ("I", "H", "S", "SQRT_X", "C_XYZ", "C_ZYX")]
    locals_ = np.array([matrix(a + b) for a in singles for b in singles])
    step = np.array([matrix(stim.gate_data("CX").tableau) @ local % 2 for local in locals_])
    layers = [{m.tobytes(): m for m in locals_}]
    for _ in range(3):
        products = np.array(list(layers[-1].values()))[:, None] @ step[None] % 2
        layers.append({m.tobytes(): m for m in products.reshape(-1, 4, 4)})
    for name in actions.TWO_QUBIT:
        key = matrix(stim.gate_data(name).tableau).tobytes()
        assert next(k for k, layer in enumerate(layers) if key in layer) == actions.action(name).cost, name


def test_depth_is_that_of_parallel_moments_and_waits_for_nothing_else() -> None:
    assert counts(parse("H 0\nTICK\nH 1\nTICK\nI 0 0 0\nCX 0 1\nCX 2 3", 4)).depth == 2
    assert counts(parse("H 0\nCX 0 1\nCX 1 2\nH 0", 3)).depth == 3
    assert counts(parse("", 3)) == circuits.Counts(0, 0, 0, 0)


def test_condensing_keeps_the_unitary_and_removes_padding() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        circuit = random_circuit(rng, 4, 25, 0)
        padded: list[Gate] = []
        for g in circuit.gates:
            padded.append(g)
            a, b = (int(q) for q in rng.choice(4, 2, replace=False))
            name = str(rng.choice(actions.TWO_QUBIT))
            padded += [Gate(name, a, b), Gate(actions.inverse_of(name), a, b), Gate("S", a), Gate("S_DAG", a)]
        slim = circuits.condensed(Circuit(4, 0, tuple(padded)))
        assert slim.unitary().to_tableau() == circuit.unitary().to_tableau()
        assert len(slim.gates) <= len(circuit.gates)
    assert circuits.condensed(parse("H 0\nCX 0 1\nS 1\nS_DAG 1\nCX 0 1\nH 0", 2)).gates == ()
    assert len(circuits.condensed(parse("CZ 0 1\nCZ 1 0", 2)).gates) == 0
    assert len(circuits.condensed(parse("CX 0 1\nCX 1 0", 2)).gates) == 2


def test_the_largest_admissible_circuit_is_read_and_one_gate_more_is_not() -> None:
    text = "CX " + "0 1 " * MAX_GATES
    assert len(parse(text, 2).gates) == MAX_GATES
    with pytest.raises(AgentError, match="too many operations"):
        parse(text + "0 1", 2)
