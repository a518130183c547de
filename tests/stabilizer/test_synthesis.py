"""The reference's synthesis: states are right on any code, and cheaper than by other ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import stim

from qtypes.stabilizer_codes import circuits, codes, scoring
from tests.graders.in_process import modules_in

SOLUTION = Path(__file__).parents[2] / "tasks" / "stabilizer_optimization" / "solution"


@pytest.fixture(scope="module")
def search() -> Iterator[ModuleType]:
    with modules_in(SOLUTION, "paulis", "fold", "search") as found:
        yield found["search"]


@pytest.mark.parametrize(
    "name, most", [("steane", 8), ("perfect_5", 6), ("surface_3", 8), ("carbon", 17), ("golay", 53), ("steane_over_steane", 75)]
)
def test_listed_codes_are_prepared_with_few_gates(name: str, most: int, search: ModuleType) -> None:
    code = codes.load(name)
    found = search.prepare(code.generators, seconds=0.5, layer_price=0.3, rng=np.random.default_rng(0))
    verdict = scoring.judge("optimization", circuits.parse(str(found.circuit), code.n), code)
    assert verdict.valid
    assert verdict.published.success
    assert found.two_qubit == circuits.counts(circuits.parse(str(found.circuit), code.n)).g2q <= most
    rows = [stim.PauliString(g) for g in code.generators]
    graph = stim.Tableau.from_stabilizers(rows, allow_redundant=True, allow_underconstrained=True)
    edges = sum(len(op.targets_copy()) // 2 for op in graph.to_circuit("graph_state") if op.name == "CZ")
    assert found.two_qubit <= edges


@pytest.mark.parametrize("seed", range(4))
def test_a_random_code_with_signs_is_prepared(seed: int, search: ModuleType) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 14))
    tableau = stim.Tableau.random(n)
    generators = [str(tableau.z_output(q)) for q in range(n - int(rng.integers(0, 3)))]
    found = search.prepare(generators, seconds=0.2, layer_price=0.3, rng=rng)
    simulator = stim.TableauSimulator()
    simulator.do(found.circuit)
    assert all(simulator.peek_observable_expectation(stim.PauliString(g)) == 1 for g in generators)


def test_generators_that_contradict_one_another_are_named(search: ModuleType) -> None:
    with pytest.raises(ValueError, match="contradict"):
        search.prepare(["+XX", "+ZZ", "+YY"], seconds=0.1, layer_price=0.3, rng=np.random.default_rng(0))
