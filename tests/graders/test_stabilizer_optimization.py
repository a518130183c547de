"""stabilizer_optimization: quality decides, names and order of gates do not."""

from __future__ import annotations

import numpy as np
import pytest
import stim

from graders.stabilizer_optimization import QUALITY_NEEDED
from qtypes.stabilizer_codes import circuits, codes, oracles, scoring
from tests.graders.in_process import solution
from tests.graders.stabilizer_session import Bench, at_work, judged

TASK = "stabilizer_optimization"


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_and_the_graph_state_misses_the_quality_alone(seed: int) -> None:
    with solution(TASK, "paulis", "fold", "search", "solve_code", "reference", "trap") as modules:
        modules["reference"].ROUND_S = (0.2,)  # type: ignore[attr-defined]
        assert at_work(TASK, modules["reference"], bytes([seed])).fails() == set()
        bench = at_work(TASK, modules["trap"], bytes([seed]))
    assert bench.fails() == {"quality"} == set(bench.grader.trap_fails)
    assert all(bench.verdict()[name].passed for name in bench.grader.trap_meets)


@pytest.mark.parametrize("name", ["steane", "perfect_5", "carbon", "surface_3_over_perfect_5"])
def test_the_solvers_own_costs_are_the_oracles(name: str) -> None:
    bench = Bench(f"b2_{name}")
    spec = bench.spec()["spec"]
    with solution(TASK, "paulis", "fold", "search", "solve_code") as modules:
        solve_code = modules["solve_code"]
        for circuit in (solve_code.graph_state(spec["generators"]), stim.Circuit(spec["baseline"])):
            found = bench.query("evaluate_optimization", circuit=str(circuit))
            assert solve_code.costs(circuit) == tuple(found["details"]["candidate"][k] for k in ("g2q", "depth"))
            assert solve_code.wrong(circuit, spec["generators"]) == 0
        assert solve_code.quality(stim.Circuit(spec["baseline"]), spec) == 0


def test_graph_states_of_other_orders_are_states_of_the_same_code_signs_included() -> None:
    rng = np.random.default_rng(4)
    tableau = stim.Tableau.random(9)  # stim's own random numbers: any code will do
    generators = [*(str(tableau.z_output(q)) for q in range(6)), str(-tableau.z_output(6)), str(-tableau.z_output(6) * tableau.z_output(0))]
    with solution(TASK, "paulis", "fold", "search", "solve_code") as modules:
        solve_code = modules["solve_code"]
        found = {str(solve_code.turned(generators, rng)) for _ in range(8)}
        assert len(found) > 1
        assert all(solve_code.wrong(stim.Circuit(c), generators) == 0 for c in found)


def test_another_name_for_a_gate_saves_nothing() -> None:
    """CX c t is XCZ t c: renamed, the baseline is still the baseline."""
    renamed = []
    for line in Bench(TASK, b"1").device.spec.baseline.splitlines():
        parts = line.split()
        pairs = list(zip(parts[1::2], parts[2::2], strict=True)) if parts[0] == "CX" else []
        renamed += [f"XCZ {t} {c}" for c, t in pairs] or [line]
    bench = judged(TASK, b"1", "\n".join(renamed))
    assert "XCZ" in bench.queries[0].request.circuit
    assert bench.fails() == {"cheaper than the baseline", "quality"}
    assert bench.queries[0].result["valid"]
    assert not bench.queries[0].result["published"]["success"]


def test_gates_left_out_make_a_circuit_invalid_and_an_empty_one_scores_nothing() -> None:
    lines = Bench(TASK, b"1").device.spec.baseline.splitlines()
    for text in ("\n".join(lines[: len(lines) // 2]), "TICK"):
        bench = judged(TASK, b"1", text)
        assert bench.fails() == {"every generator is +1 on the output", "cheaper than the baseline", "quality"}
        assert bench.grader.recompute(bench.session)["corrected"]["score"] == 0


def test_three_gates_in_a_swap_count_three_where_it_decides() -> None:
    code = codes.load("steane")
    text = "\n".join(["SWAP 0 1", "SWAP 0 1", *Bench("b2_steane").device.spec.baseline.splitlines()])
    found = circuits.parse(text, code.n)
    base = oracles.baseline_counts(code)
    assert circuits.counts(found).entangling == base.entangling + 6
    assert circuits.counts(found).g2q == base.g2q + 2
    assert not scoring.judge("optimization", found, code).published.success


def test_of_a_named_code_the_quality_is_reported_and_does_not_decide() -> None:
    bench = Bench("b2_iceberg_2")
    with solution(TASK, "paulis", "fold", "search", "solve_code") as modules:
        found = bench.query("evaluate_optimization", circuit=str(modules["solve_code"].graph_state(bench.device.spec.generators)))
    bench.answer = {"circuit_sha256": found["sha256"]}
    checks = bench.verdict()
    assert bench.fails() == set()
    assert 0 < float(str(checks["quality"].value)) < QUALITY_NEEDED
    assert not checks["quality"].gate


def test_the_score_holds_both_scorings_and_what_each_generator_gave() -> None:
    bench = judged(TASK, b"1", Bench(TASK, b"1").device.spec.baseline)
    q = bench.grader.recompute(bench.session)
    for name in ("published", "corrected"):
        assert {"success", "quality", "weight", "capability", "score", "expectations", "details", "circuit_sha256"} <= set(q[name])
    assert q["published"]["expectations"] == [1] * len(bench.device.spec.generators)
