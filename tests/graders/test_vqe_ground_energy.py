"""vqe_ground_energy: physics of the grader, the reference on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tasks
from graders import vqe_ground_energy as vqe
from graders.vqe_ground_energy import GRADER
from qtypes.digital_gate_model import qasm
from qtypes.digital_gate_model.device import TARGET
from tests.graders.in_process import Bench, solution, solved

CARD = tasks.load("vqe_ground_energy")
ROOT = b"vqe"
HEAD = 'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[4] q;\nbit[4] c;\n'


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    """What reference and trap did on one device, and the solver's model."""
    with solution(CARD.name, "model", "circuits", "reference", "trap") as modules:
        yield {n: solved(CARD.name, modules[n], ROOT) for n in ("reference", "trap")} | {"model": modules["model"]}


def device() -> Any:
    return Bench(CARD.name, ROOT).device


def test_the_instruction_holds_the_ansatz_that_is_graded() -> None:
    page = CARD.instruction()
    start = page.index("```python") + len("```python\n")
    space: dict[str, Any] = {}
    exec(page[start : page.index("```", start)], space)  # the project's own text
    theta = np.random.default_rng(0).uniform(-3, 3, 16).tolist()
    program = qasm.read(space["ansatz"](theta) + "c = measure q;\n", TARGET)
    assert vqe.begins_with_ansatz(program, tuple(theta))
    assert not vqe.begins_with_ansatz(program, (theta[0] + 1e-3, *theta[1:]))
    more = qasm.read(space["ansatz"](theta) + "cz q[0], q[1];\nc = measure q;\n", TARGET)
    assert not vqe.begins_with_ansatz(more, tuple(theta))


def test_energies_are_those_of_the_hamiltonian() -> None:
    ideal = device().hidden.noiseless()
    zero = np.zeros((1, 16))  # all spins up: 3 bonds and 4 fields of 0.3
    assert vqe.energy(ideal, zero)[0] == pytest.approx(-3 - 4 * 0.3)
    plus = np.zeros((1, 16))
    plus[0, 12:] = np.pi / 2  # the CZ gates do nothing to |0000>
    assert vqe.energy(ideal, plus)[0] == pytest.approx(-4)
    _, least = vqe.descend(ideal, np.random.default_rng(3).normal(0, 0.5, 16))
    # sum over the exact spectrum by an independent construction
    x, z = np.array([[0, 1], [1, 0]]), np.diag([1, -1])

    def on(**at: Any) -> np.ndarray:
        m = np.ones((1, 1))
        for k in range(4):
            m = np.kron(m, at.get(f"q{k}", np.eye(2)))
        return m

    h = -sum(on(**{f"q{k}": z, f"q{k + 1}": z}) for k in range(3)) - sum(on(**{f"q{k}": x}) + 0.3 * on(**{f"q{k}": z}) for k in range(4))
    exact = np.linalg.eigvalsh(h)[0]
    assert exact - 1e-9 <= least <= exact + 0.02


def test_the_solvers_model_is_the_device_without_its_incoherent_part(done: dict[str, Any]) -> None:
    h = device().hidden
    coherent = done["model"].Coherent(h.sx_error[:4], h.cz_error_rad[:3], h.parallel_zz_rad[1])
    noise = h.noise(0.0)
    none = {"cz_depolarising": dict.fromkeys(noise.cz_depolarising, 0.0), "residual": (0.0,) * 6}
    none |= {"t1_ns": (np.inf,) * 6, "t2_ns": (np.inf,) * 6}
    clean = type(noise)(**{f: getattr(noise, f) for f in noise.__dataclass_fields__ if f not in (*none, "_cache")} | none)
    theta = np.random.default_rng(1).uniform(-3, 3, (5, 16))
    assert coherent.energy(theta) == pytest.approx(vqe.energy(clean, theta), abs=1e-9)
    assert done["model"].exact_ground_energy() == pytest.approx(-5.40669, abs=1e-5)


def test_the_reference_passes_and_the_trap_fails_on_the_energy_of_its_state(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()
    assert done["trap"].failed(GRADER) >= {"energy of the state - lowest on this device"}


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j0"]}, "shots of the final circuit in the Z basis"),
        ({"job_ids": ["j0"]}, "shots of the least calibrated string"),
        ({"job_ids": ["j3", "j4", "j5", "j6", "j7"]}, "other circuits with CZ gates"),
        ({"theta": [0.1] * 16}, "shots of the final circuit in the X basis"),
        ({"energy_readout_mitigated": -5.4067}, "|reported energy - recomputed|"),
        ({"energy_readout_mitigated": -5.4067}, "|reported energy - energy of the state|"),
        ({"term_expectations": [0.9] * 11}, "largest |reported term - recomputed|"),
        ({"energy_sigma": 0.001}, "reported sigma"),
        ({"energy_sigma": 0.2}, "reported sigma, upper limit"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(
    changes: dict[str, Any], check: str, done: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vqe, "STARTS", 0)  # the lowest energy is none of these checks' business
    assert check in done["reference"].failed(GRADER, **changes)


def test_an_energy_lowered_past_tolerance_is_not_borne_out(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vqe, "STARTS", 0)
    bench = done["reference"]
    moved = GRADER.overclaim(bench.answer, {})
    assert "|reported energy - recomputed|" in bench.failed(GRADER, energy_readout_mitigated=moved["energy_readout_mitigated"])


def test_programs_are_sorted_by_what_they_do_without_errors() -> None:
    def read(body: str) -> qasm.Circuit:
        return qasm.read(HEAD + body + "c = measure q;\n", TARGET)

    flip = "sx q[{0}];\nsx q[{0}];\n"
    assert vqe.prepares(read(flip.format(2) + flip.format(0))) == 0b0101
    assert vqe.prepares(read("sx q[1];\n")) is None
    assert vqe.prepares(read("cz q[0], q[1];\n")) is None
    turn = "rz(pi/2) q;\nsx q;\nrz(pi/2) q;\n"
    assert vqe.basis(read(turn), 0) == "X"
    assert vqe.basis(read(""), 0) == "Z"
    assert vqe.basis(read("sx q;\n"), 0) is None
