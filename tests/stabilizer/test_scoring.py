"""stabilizer_codes: both scorings, and each known way to fool such oracles."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from qtypes.errors import AgentError
from qtypes.stabilizer_codes import baseline, codes, oracles, scoring
from qtypes.stabilizer_codes.circuits import Circuit, Counts, Gate, parse
from tests.stabilizer.circuits import measurement, with_all_measured

STEANE, GOLAY = codes.load("steane"), codes.load("golay")
ALIASES = {"CX": ("XCZ", True), "CZ": ("SQRT_ZZ", False)}


def judge(task: scoring.Task, text: str, code: codes.Code) -> scoring.Verdict:
    return scoring.judge(task, parse(text, code.n, flags=scoring.admits_flags(task)), code)


def short(code: codes.Code) -> str:
    """A cheaper circuit: stim's graph state."""
    import stim

    paulis = [stim.PauliString(g) for g in code.generators]
    tableau = stim.Tableau.from_stabilizers(paulis, allow_redundant=True, allow_underconstrained=True)
    return str(tableau.to_circuit("graph_state")).replace("RX ", "H ")


# B1


def test_a_valid_preparation_scores_its_weight_in_both_scorings() -> None:
    found = judge("preparation", baseline.text_of(STEANE), STEANE)
    assert (found.valid, found.satisfied) == (True, 6)
    assert (found.published.capability, found.published.score) == (6, 6)
    assert found.corrected is not None
    assert found.corrected.capability == 2  # three copies of the Steane code share its six generators


def test_a_partial_preparation_scores_nothing_and_is_told_generator_by_generator() -> None:
    found = judge("preparation", "", STEANE)
    assert (found.valid, found.satisfied, found.published.capability) == (False, 3, 0)


# B2


def test_quality_is_three_parts_gates_and_one_part_depth() -> None:
    found = judge("optimization", short(GOLAY), GOLAY)
    new, base = (Counts(**found.details[k]) for k in ("candidate", "baseline"))
    expected = 0.75 * (base.g2q - new.g2q) / base.g2q + 0.25 * (base.depth - new.depth) / base.depth
    assert found.published.success
    assert math.isclose(found.published.quality, expected)
    assert found.corrected is not None
    assert math.isclose(found.corrected.quality, expected)


def test_costs_are_ordered_by_gates_before_depth_and_equality_is_no_improvement() -> None:
    text = baseline.text_of(STEANE)
    assert not judge("optimization", text, STEANE).published.success
    assert not judge("optimization", text + "X 0\nX 0\n", STEANE).published.success
    two = "CX 0 1\nCX 0 1\n"  # more gates
    assert not judge("optimization", two + text, STEANE).published.success
    assert scoring.gain(10, 12) == 0
    assert scoring.gain(0, 0) == 0
    assert scoring.gain(10, 0) == 1


# B3


def test_measuring_every_generator_of_a_good_code_is_shown_and_scored() -> None:
    circuit = with_all_measured(GOLAY, baseline.circuit_of(GOLAY))
    found = scoring.judge("fault_tolerance", circuit, GOLAY)
    d = found.details
    assert found.valid
    assert found.published.success
    counted = [d["published"][k] for k in ("on_data", "on_all")]
    assert math.isclose(found.published.quality, min(1 - c["undetected"] / c["dangerous"] for c in counted))
    c = d["corrected"]
    assert math.isclose(c["ft"], 1 - c["undetected"] / c["dangerous"])
    extra = (d["candidate"]["entangling"] - d["baseline"]["entangling"] + 22) / d["baseline"]["entangling"]
    assert found.corrected is not None
    assert math.isclose(found.corrected.quality, c["ft"] / (1 + 0.25 * extra))
    assert json.loads(json.dumps(found.to_json()))["code"] == "golay"


def test_a_baseline_is_no_success() -> None:
    found = judge("fault_tolerance", baseline.text_of(STEANE), STEANE)
    assert found.valid
    assert not found.published.success
    assert found.corrected is not None
    assert not found.corrected.success


def test_distance_two_needs_what_is_possible() -> None:
    """t = 0 would ask for the impossible: a fault after the last gate on a data qubit. Published as it is; corrected takes one."""
    code = codes.load("detector_4")
    assert (oracles.published_t(code), oracles.corrected_t(code)) == (0, 1)


# Ways to fool


@pytest.mark.parametrize("name", ["steane", "surface_3", "bb_72"])
def test_aliases_are_no_cheaper(name: str) -> None:
    code = codes.load(name)
    lines = []
    for g in baseline.circuit_of(code).gates:
        lines.append(f"XCZ {g.b} {g.a}" if g.name == "CX" else f"{g.name} {' '.join(map(str, g.qubits))}")
    found = judge("optimization", "\n".join(lines), code)
    assert found.valid
    assert found.details["candidate"] == found.details["baseline"]
    assert not found.published.success


def test_gates_that_do_more_at_once_are_no_cheaper_in_the_corrected_scoring() -> None:
    """CXSWAP is a CX and a relabelling for one gate by name, two CX by action."""
    found = judge("optimization", "H 0\nCXSWAP 0 1\nCXSWAP 0 1", codes.load("iceberg_2"))
    assert found.details["candidate"]["g2q"] == 2
    assert found.details["candidate"]["entangling"] == 4


def test_preparing_on_ancillas_and_swapping_in_earns_nothing() -> None:
    n = STEANE.n
    moved = tuple(Gate(g.name, g.a + n, g.b + n if g.b >= 0 else -1) for g in baseline.circuit_of(STEANE).gates)
    for swap in ([Gate("SWAP", q, n + q) for q in range(n)], [g for q in range(n) for g in
                 (Gate("CX", n + q, q), Gate("CX", q, n + q), Gate("CX", n + q, q))]):  # fmt: skip
        found = scoring.judge("fault_tolerance", Circuit(n, n, (*moved, *swap)), STEANE)
        assert found.valid
        assert found.details["published"]["on_data"]["dangerous"] == 0  # counted on data only it would be perfect
        assert not found.published.success
        assert found.corrected is not None
        assert not found.corrected.success


def test_an_ancilla_cannot_be_declared_away() -> None:
    """Data are 0..n-1: there is nothing to declare, and a qubit beyond must be a quiet flag."""
    with pytest.raises(AgentError, match="not measured"):
        judge("fault_tolerance", baseline.text_of(STEANE) + "SWAP 0 7\n", STEANE)
    found = judge("fault_tolerance", baseline.text_of(STEANE) + "SWAP 0 7\nM 7\n", STEANE)
    assert not found.valid


@pytest.mark.parametrize("flag", ["X 7\nM 7", "H 7\nM 7", "CX 0 7\nM 7"])
def test_a_flag_that_fires_without_a_fault_makes_the_circuit_invalid(flag: str) -> None:
    tail = flag if flag[0] != "C" else f"CX {_random_qubit(STEANE)} 7\nM 7"
    found = judge("fault_tolerance", baseline.text_of(STEANE) + tail, STEANE)
    assert not found.valid
    assert not found.published.success


def _random_qubit(code: codes.Code) -> int:
    gates, n = baseline.circuit_of(code).gates, code.n
    return next(q for q in range(n) if oracles.check_stabilizers(Circuit(n, 1, (*gates, Gate("CX", q, n))), code).quiet == (0,))


def test_a_flag_measured_before_it_is_coupled_is_refused() -> None:
    with pytest.raises(AgentError, match="after a measurement"):
        judge("fault_tolerance", "M 7\n" + baseline.text_of(STEANE) + "CX 0 7", STEANE)


def test_a_flag_that_sees_nothing_shows_nothing() -> None:
    found = judge("fault_tolerance", baseline.text_of(STEANE) + "M 7 8 9", STEANE)
    assert found.valid
    assert found.details["published"]["ft"] == 0
    assert not found.published.success


@pytest.mark.parametrize("task", scoring.TASKS)
def test_the_empty_circuit_earns_nothing(task: scoring.Task) -> None:
    found = judge(task, "", STEANE)
    assert (found.valid, found.published.score) == (False, 0)


@pytest.mark.parametrize("task", scoring.TASKS)
def test_random_preparation_is_not_admitted_even_where_luck_would_pass(task: scoring.Task) -> None:
    product = "MPP X0*X2*X4*X6 X1*X2*X5*X6 X3*X4*X5*X6"
    with pytest.raises(AgentError, match="MPP"):
        judge(task, product, STEANE)


def test_padding_with_shown_faults_cannot_make_a_success() -> None:
    """Gates that do nothing inside a flag gadget: FT as a ratio may rise, but no fewer faults stay undetected than in the baseline."""
    gates = baseline.circuit_of(GOLAY).gates
    gadget = measurement(GOLAY.generators[0], 23)
    noise = [g for q in range(0, 22, 2) for g in (Gate("CX", q, q + 1), Gate("S", q + 1), Gate("CX", q, q + 1), Gate("S_DAG", q + 1))]
    half = len(gadget) // 2
    padded = Circuit(23, 1, (*gates, *gadget[:half], *(noise * 40), *gadget[half:]))
    found = scoring.judge("fault_tolerance", padded, GOLAY)
    assert found.corrected is None or not found.corrected.success


# Many instances


def test_totals_count_what_was_not_tried_and_the_best_candidate_counts() -> None:
    names = codes.ids("base")
    done = [judge("preparation", baseline.text_of(codes.load(n)), codes.load(n)) for n in names[:6]]
    found = scoring.totals(done, names, "published")
    assert found.capability == found.quality == sum(codes.load(n).listed for n in names[:6])
    assert (found.solved, found.instances, found.maximum) == (6, 24, sum(codes.load(n).listed for n in names))
    worse, better = judge("optimization", baseline.text_of(GOLAY), GOLAY), judge("optimization", short(GOLAY), GOLAY)
    assert scoring.best([better, worse]) == better == scoring.best([worse, better])
    assert scoring.best([]) is None
    assert scoring.totals([], codes.ids(), "published").maximum == scoring.MAXIMUM
    assert math.isclose(scoring.totals([], codes.ids(), "corrected").maximum, 9940)


def test_the_difficulty_curve_is_cumulative_and_ends_at_the_totals() -> None:
    names = codes.ids("base")
    done = [judge("preparation", baseline.text_of(codes.load(n)), codes.load(n)) for n in names[:9]]
    curve = scoring.difficulty_curve(done, names, "published")
    total = scoring.totals(done, names, "published")
    assert curve[-1][1:] == (total.maximum, total.capability, total.quality)
    assert all(np.all(np.diff([p[k] for p in curve]) >= 0) for k in range(4))


def test_the_published_variant_has_a_published_score_only() -> None:
    code = codes.load(codes.PUBLISHED_VARIANT)
    found = judge("optimization", short(code), code)
    assert found.published.success
    assert found.corrected is None
    assert scoring.totals([found], codes.ids("published"), "corrected").capability == 0
