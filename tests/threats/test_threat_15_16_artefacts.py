"""Lines 15 and 16: artefacts that are slow, and artefacts that were fitted to the own shots."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import stim

from graders import lattice_surgery_cnot as surgery
from graders.kit import Category, Check
from graders.kit.grade import outcome_of
from graders.t_count_race import GRADER as RACE
from graders.t_count_race import Answer as Circuit
from lab.conventions import decode, read_graph, tcount
from qtypes import Clock, Device, load
from qtypes.surface_code_lattice_surgery.physics import noisy

CNOT_MEAN = "CNOT error, mean of eight circuits"
OWN = "cnot.bell_xx on the last own record, failures per shot"


# -- 15 ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def race() -> Any:
    qtype = load("logical_circuit_optimizer")
    profile = qtype.read_profile({"instance": "race"})
    hidden = qtype.practice(profile)
    return SimpleNamespace(device=Device(qtype.spec(hidden, profile), hidden, profile), queries=())


def padded(race: Any, gates: int) -> str:
    """The baseline of the race with pairs of H gates behind it: equivalent, and as long as wanted."""
    base = tcount.parse(race.device.hidden.baseline)
    return tcount.to_qasm(tcount.Circuit(base.n_qubits, (*base.gates, *([("h", 0, -1)] * (gates - len(base.gates))))))


def gates_of(race: Any, text: str) -> dict[str, Check]:
    return {c.name: c for c in RACE.score(Circuit(circuit=text), race, {"_evaluated": set()}, np.random.default_rng(1)).checks}


@pytest.mark.parametrize("text", ["one gate too many", "1e5 qubits", "nested comments", "one endless line"])
def test_threat_15_a_circuit_beyond_the_bounds_is_refused_before_it_is_simulated(race: Any, text: str) -> None:
    bombs = {
        "one gate too many": padded(race, tcount.MAX_GATES + 2),
        "1e5 qubits": "OPENQASM 2.0;\nqreg q[100000];\nh q[99999];\n",
        "nested comments": "OPENQASM 2.0;\nqreg q[10];\n" + "/*" * 400_000,
        "one endless line": "OPENQASM 2.0;qreg q[10];" + "h q[0]," * 120_000,
    }
    begun = time.process_time()
    checks = gates_of(race, bombs[text])
    assert time.process_time() - begun < 5
    assert set(checks) == {"the circuit is in the grammar"}
    bad = checks["the circuit is in the grammar"]
    assert (bad.passed, bad.category) == (False, Category.SCHEMA)
    assert len(bad.note) < 500
    assert outcome_of(list(checks.values())) == "contract_failure"


@pytest.mark.slow
def test_threat_15_the_longest_circuit_that_the_grammar_takes_is_graded_in_a_minute(race: Any) -> None:
    begun = time.process_time()
    checks = gates_of(race, padded(race, tcount.MAX_GATES))
    assert time.process_time() - begun < 60
    assert {name for name, c in checks.items() if not c.passed} == {"T-count"}


# -- 16 ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def device() -> Device[Any, Any]:
    qtype = load("surface_code_lattice_surgery")
    profile = qtype.Profile()
    hidden = qtype.draw(np.random.default_rng(100), profile)
    return Device(qtype.spec(hidden, profile), hidden, profile)


def models(hidden: Any) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {"memory": {}, "cnot": {}}
    for t in surgery.targets():
        out[t.group][t.key] = str(noisy(t.program, hidden, 0.0).detector_error_model(decompose_errors=True))
    return out


def scored(device: Device[Any, Any], body: dict[str, Any], meas: np.ndarray, request: Any) -> dict[str, Check]:
    """Gates and notes on `body` in a session whose one record of `request` is `meas`."""
    job = SimpleNamespace(job_id="own", tool="run_cnot", request=request, arrays=lambda: {"meas": meas})
    session: Any = SimpleNamespace(device=device, of=lambda *tools: (job,) if "run_cnot" in tools else ())
    answer = surgery.Answer.model_validate_json(json.dumps(body))
    return {c.name: c for c in surgery.GRADER.score(answer, session, {"_lab_s": 0.0}, np.random.default_rng(3)).checks}


def misweighted(text: str, rng: np.random.Generator) -> str:
    """Every probability of a model moved by up to a half: other weights, and here and there another correction."""
    out = stim.DetectorErrorModel()
    for line in stim.DetectorErrorModel(text).flattened():
        if line.type == "error":
            out.append("error", line.args_copy()[0] * float(rng.uniform(0.5, 1.5)), line.targets_copy())
        else:
            out.append(line)
    return str(out)


@pytest.fixture
def few_shots(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CNOT_SHOTS": 1000, "CNOT_CAP": 8000, "MEMORY_SHOTS": 10_000, "MEMORY_CAP": 40_000}.items():
        monkeypatch.setattr(surgery, name, value)


@pytest.fixture(scope="module")
def record() -> Any:
    """The request of the own record."""
    return load("surface_code_lattice_surgery").tools()["run_cnot"].model_validate_json(
        '{"config": "bell_xx", "inputs": [1, 1], "shots": 4000}'
    )  # fmt: skip


@pytest.mark.usefixtures("few_shots")
def test_threat_16_a_decoder_without_a_fault_on_its_own_shots_has_to_decode_fresh_ones(device: Device[Any, Any], record: Any) -> None:
    """The agent keeps the shots that its wrong model happens to decode: no overfit can do better on them."""
    wrong = models(device.hidden.without_seam_terms())
    meas = record.run(device, Clock(0.0), np.random.default_rng(0)).arrays["meas"].values
    detections, flips = record.program().detections(meas)
    right = (decode(read_graph(wrong["cnot"]["bell_xx"]).matching(), detections) == flips).all(axis=1)
    assert 0.7 < right.mean() < 0.85
    checks = scored(device, wrong, meas[right], record)
    assert checks[OWN].value == 0.0
    assert not checks[OWN].gate
    assert not checks[CNOT_MEAN].passed
    assert float(checks[CNOT_MEAN].value or 0) > 0.2


@pytest.mark.usefixtures("few_shots")
def test_threat_16_a_model_is_judged_by_its_errors_and_not_by_predicting_as_the_true_one(device: Device[Any, Any], record: Any) -> None:
    true, rng = models(device.hidden), np.random.default_rng(8)
    other = {group: {key: misweighted(text, rng) for key, text in of.items()} for group, of in true.items()}
    meas = record.run(device, Clock(0.0), np.random.default_rng(0)).arrays["meas"].values
    detections, _ = record.program().detections(meas)
    first, second = (decode(read_graph(m["cnot"]["bell_xx"]).matching(), detections) for m in (true, other))
    assert (first != second).any(axis=1).sum() > 5
    assert {n for n, c in scored(device, other, meas, record).items() if c.gate and not c.passed} == set()


class Unreadable:
    """Stands for the hidden state: whoever looks at it fails."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the hidden state was read ({name})")


def test_threat_16_held_out_inputs_are_drawn_without_the_device_and_are_new_in_every_session() -> None:
    """So neither the device nor the own settings tell where a surrogate will be asked."""
    qtype = load("blackbox_boundedgate_circuit")
    challenges = [qtype.challenge(Unreadable(), np.random.default_rng(seed), qtype.Profile()) for seed in (3, 3, 4)]
    assert challenges[0] == challenges[1]
    assert challenges[0] != challenges[2]
