"""stabilizer_fault_tolerance: nothing dangerous goes unseen, and the ways to fool a flag counter do not pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from qtypes import AgentError
from qtypes.stabilizer_codes import codes
from tests.graders.in_process import solution
from tests.graders.stabilizer_session import Bench, at_work, judged

TASK = "stabilizer_fault_tolerance"
VALID, UNSEEN = "every generator is +1 on the output", "dangerous faults that no flag shows"
MODULES = ("paulis", "fold", "cover", "spread", "solve_code", "reference", "trap")


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_and_bare_ancillas_on_all_generators_do_not(seed: int) -> None:
    with solution(TASK, *MODULES) as modules:
        modules["reference"].ROUND_S = (0.1,)  # type: ignore[attr-defined]
        assert at_work(TASK, modules["reference"], bytes([seed])).fails() == set()
        bench = at_work(TASK, modules["trap"], bytes([seed]))
    assert set(bench.grader.trap_fails) <= bench.fails()
    assert all(bench.verdict()[name].passed for name in bench.grader.trap_meets)
    assert bench.queries[0].result["published"]["success"]


def test_the_numbers_of_the_notebook_are_true() -> None:
    bench = Bench("b3_steane")
    with solution(TASK, "trap") as modules:
        found = bench.query(
            "check_fault_tolerance", circuit=modules["trap"].measured(bench.device.spec.baseline, bench.device.spec.generators)
        )
    d = found["details"]
    assert (round(found["published"]["quality"], 2), d["flags"], d["candidate"]["g2q"] - d["baseline"]["g2q"]) == (0.8, 6, 24)


@pytest.mark.parametrize("name", [n for n in codes.ids("base") if codes.size(n) <= 15 and codes.load(n).d == 3])
def test_codes_of_distance_three_up_to_fifteen_qubits_hide_nothing(name: str) -> None:
    bench = Bench(f"b3_{name}")
    with solution(TASK, *MODULES[:5]) as modules:
        import numpy as np

        text = modules["solve_code"].solve(bench.spec()["spec"], seconds=0.1, rng=np.random.default_rng(0))
    bench.answer = {"circuit_sha256": bench.query("check_fault_tolerance", circuit=text)["sha256"]}
    checks = bench.verdict()
    assert bench.fails() == set()
    assert checks["share of dangerous faults that raise a flag"].value == 1
    assert checks[UNSEEN].value == 0


def one_generator(baseline: str, n: int, generators: tuple[str, ...]) -> str:
    lines = [baseline.rstrip(), f"H {n}"]
    return "\n".join([*lines, *(f"C{p} {n} {q}" for q, p in enumerate(generators[0]) if p != "I"), f"H {n}", f"M {n}"])


def moved_in(baseline: str, n: int, generators: tuple[str, ...]) -> str:
    """Prepared on the ancillas, then swapped in."""
    shifted = [" ".join([w.split()[0], *(str(int(q) + n) for q in w.split()[1:])]) for w in baseline.splitlines() if w.split()]
    return "\n".join([*shifted, *(f"SWAP {q} {q + n}" for q in range(n)), "M " + " ".join(str(n + q) for q in range(n))])


def idle_flags(baseline: str, n: int, generators: tuple[str, ...]) -> str:
    return baseline + "M " + " ".join(str(n + q) for q in range(n))


@pytest.mark.parametrize("cheat", [one_generator, moved_in, idle_flags])
def test_cheap_ways_to_a_published_success_do_not_pass(cheat: Callable[[str, int, tuple[str, ...]], str]) -> None:
    spec = Bench(TASK, b"1").device.spec
    bench = judged(TASK, b"1", cheat(spec.baseline, spec.n, spec.generators))
    assert bench.queries[0].result["valid"]
    assert UNSEEN in bench.fails()
    assert not bench.queries[0].result["corrected"]["success"]


def test_a_flag_that_fires_without_a_fault_makes_a_circuit_invalid() -> None:
    spec = Bench(TASK, b"1").device.spec
    for gate in ("X", "H"):
        bench = judged(TASK, b"1", spec.baseline + f"{gate} {spec.n}\nM {spec.n}\n")
        assert bench.fails() == {VALID}
        assert bench.queries[0].result["published"]["score"] == 0


def test_flags_measured_before_the_end_and_qubits_of_ones_choosing_are_refused() -> None:
    bench = Bench(TASK, b"1")
    spec = bench.device.spec
    for text in (
        f"M {spec.n}\n" + spec.baseline,
        spec.baseline + "M 0\n",
        spec.baseline + f"M {spec.n + 1}\n",
        spec.baseline + f"M !{spec.n}\n",
    ):
        with pytest.raises(AgentError) as refusal:
            bench.query("check_fault_tolerance", circuit=text)
        assert refusal.value.code == "invalid-circuit"
    assert bench.queries == []
