"""t_count_budget: gates, binding, what the instance gives away, solvers and cheats."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import finite_field as ff
from graders.t_count_budget import GRADER
from lab.conventions import tcount as tc
from qtypes import AgentError, Device
from qtypes.logical_circuit_optimizer import QTYPE, Evaluate, instances, physics, rotations
from qtypes.logical_circuit_optimizer.device import MERGING_MISSES_BY
from tests.graders.in_process import Bench, failed, graded, solution, solved

TASK = "t_count_budget"
BOUND = "the final circuit was evaluated in this session"
VECTORS, FIELD = "equivalent by state vectors", "equivalent in a finite field"


class Session(Bench):
    """A session of this task: materials and the one query."""

    def material(self, name: str) -> str:
        return {m.name: m.text for m in self.qtype.materials(self.device.spec, self.device.profile)}[name]

    def failing(self, text: str) -> set[str]:
        """Names of the checks that `text` fails as the answer."""
        session = SimpleNamespace(device=self.device, queries=tuple(self.queries), jobs=(), card=self.card)
        return failed(graded(GRADER, session, GRADER.Answer(circuit=text))[0])

    def failing_evaluated(self, text: str) -> set[str]:
        self.queries.append(SimpleNamespace(tool="evaluate", request=Evaluate(circuit=text)))
        return self.failing(text)


def solve(module: ModuleType, root: bytes) -> Session:
    return solved(TASK, module, root, Session)


@pytest.fixture(scope="module")
def passed() -> Session:
    """A session in which the reference worked."""
    with solution(TASK, "reference") as modules:
        return solve(modules["reference"], b"one")


# solvers


def test_the_reference_passes_with_one_call(passed: Session) -> None:
    assert passed.failing(passed.answer["circuit"]) == set()
    assert len(passed.queries) == 1 <= passed.card.budget["evaluate_calls"]


def test_the_reference_passes_other_draws() -> None:
    with solution(TASK, "reference") as modules:
        for root in (b"two", b"three"):
            session = solve(modules["reference"], root)
            assert session.failing(session.answer["circuit"]) == set()


def test_the_reference_gives_up_rather_than_hand_in_a_circuit_above_the_budget() -> None:
    with solution(TASK, "reference") as modules:
        modules["reference"].SEARCH_S, modules["reference"].ROUNDS = 0.01, 2
        with pytest.raises(RuntimeError):
            modules["reference"].optimise(Session(TASK, b"one").material("baseline.qasm"), 5, 1)


def test_the_trap_ends_where_the_notebook_does_and_misses_the_budget_only() -> None:
    with solution(TASK, "trap") as modules:
        session = solve(modules["trap"], b"one")
    assert session.failing(session.answer["circuit"]) == set(GRADER.trap_fails)
    count = tc.counts(tc.parse(session.answer["circuit"])).t_count
    assert f"T-count {count};" in session.notebook()[-1]["text"]


# cheats


def test_the_baseline_fails_the_budget(passed: Session) -> None:
    assert passed.failing_evaluated(passed.device.hidden.baseline) == {"T-count"}


@pytest.mark.parametrize("short_by", [0, 1])
def test_a_count_equal_to_the_limit_passes_and_one_above_fails(passed: Session, short_by: int) -> None:
    text = passed.answer["circuit"]
    limit = tc.counts(tc.parse(text)).t_count - short_by
    device = Device(passed.device.spec.model_copy(update={"t_count_limit": limit}), passed.device.hidden, passed.device.profile)
    session = SimpleNamespace(device=device, queries=tuple(passed.queries), jobs=(), card=passed.card)
    assert failed(graded(GRADER, session, GRADER.Answer(circuit=text))[0]) == ({"T-count"} if short_by else set())


def test_circuits_with_fewer_t_gates_that_are_not_equivalent_fail_both_checks(passed: Session) -> None:
    good = tc.parse(passed.answer["circuit"])
    at = next(i for i, g in enumerate(good.gates) if g[0] in ("t", "tdg"))
    dropped = (*good.gates[:at], *good.gates[at + 1 :])
    swapped = {0: 1, 1: 0}
    clifford = tuple(g for g in tc.parse(passed.device.hidden.baseline).gates if g[0] not in ("t", "tdg"))
    rounded = tuple(("s" if g[0] == "t" else "sdg" if g[0] == "tdg" else g[0], *g[1:]) for g in good.gates)
    renamed = tuple((g, swapped.get(a, a), swapped.get(b, b)) for g, a, b in good.gates)
    for gates in ((), dropped, clifford, rounded, renamed, good.gates[::-1]):
        assert passed.failing_evaluated(tc.to_qasm(tc.Circuit(8, gates))) == {VECTORS, FIELD}


def test_a_circuit_of_another_session_is_not_bound_and_not_equivalent(passed: Session) -> None:
    other = Session(TASK, b"two")
    assert other.failing(passed.answer["circuit"]) >= {BOUND, VECTORS, FIELD}
    assert other.failing_evaluated(passed.answer["circuit"]) >= {VECTORS, FIELD}


def test_a_text_never_evaluated_fails_to_bind_whatever_differs(passed: Session) -> None:
    assert passed.failing(passed.answer["circuit"] + "// as good\n") == {BOUND}


@pytest.mark.parametrize("line", ["rz(pi/4) q[0];", "gate g a { t a; }", "ch q[0],q[1];", "h q[8];", "measure q[0] -> c[0];"])
def test_t_gates_cannot_hide_in_text_outside_the_grammar(passed: Session, line: str) -> None:
    text = passed.answer["circuit"] + line + "\n"
    with pytest.raises(AgentError):
        passed.query("evaluate", circuit=text)
    assert passed.failing(text) == {BOUND, "the circuit is in the grammar"}


def test_t_gates_behind_a_comment_do_not_act_and_are_not_counted(passed: Session) -> None:
    assert passed.failing_evaluated(passed.answer["circuit"] + "// t q[0];\n") == set()
    assert passed.failing_evaluated(passed.answer["circuit"] + "// \nt q[0];\n") >= {VECTORS, FIELD}


def test_claims_have_no_place_in_the_answer(passed: Session) -> None:
    for body in ({**passed.answer, "t_count": 1}, {"circuit": 3}, {"circuit": ""}, {}):
        with pytest.raises(ValidationError):
            GRADER.Answer.model_validate(body)


def test_there_is_no_metric_and_grading_twice_says_the_same(passed: Session) -> None:
    session = SimpleNamespace(device=passed.device, queries=tuple(passed.queries), jobs=(), card=passed.card)
    answer, q = GRADER.Answer(circuit=passed.answer["circuit"]), GRADER.recompute(session)
    scores = [GRADER.score(answer, session, q, np.random.default_rng(3)) for _ in range(2)]
    assert scores[0].metric is None
    assert scores[0].checks == scores[1].checks


# the instance


def test_every_basis_state_is_compared_at_this_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(physics, "product_states", lambda n, count, rng: np.zeros((0, 1 << n)))
    nothing, cz = (tc.parse(f"OPENQASM 2.0;qreg q[{instances.BUDGET.n_qubits}];" + gate) for gate in ("", "cz q[0],q[1];"))
    assert physics.compare(nothing, nothing, np.random.default_rng(0)).equivalent
    assert not physics.compare(cz, nothing, np.random.default_rng(0)).equivalent


@pytest.mark.parametrize("seed", range(2))
def test_the_obfuscated_circuit_equals_the_planted_one_by_three_methods(seed: int) -> None:
    baseline, planted = instances.generate_both(np.random.default_rng(seed), instances.BUDGET)
    rng = np.random.default_rng(0)
    assert physics.compare(baseline, planted, rng).equivalent
    overlap = np.vdot(physics.unitary(baseline), physics.unitary(planted)) / 256
    assert abs(abs(overlap) - 1) < 1e-12
    first, second = ff.read(tc.to_qasm(baseline)), ff.read(tc.to_qasm(planted))
    assert first is not None
    assert second is not None
    assert ff.equal(first, second, rng)
    assert tc.counts(planted).t_count < tc.counts(baseline).t_count - 59


def test_the_budget_tells_the_planted_count_and_nothing_else_public_does() -> None:
    profile = QTYPE.read_profile(tasks.load(TASK).profile)
    drawn = [QTYPE.draw(np.random.default_rng(s), profile) for s in range(40)]
    specs = [QTYPE.spec(h, profile) for h in drawn]
    for h, spec in zip(drawn, specs, strict=True):
        assert h.planted_t_count is not None
        assert spec.t_count_limit == instances.t_budget(h.planted_t_count)
        assert "planted" not in spec.model_dump_json()
        assert rotations.merged_t_count(tc.parse(h.baseline)) >= spec.t_count_limit + MERGING_MISSES_BY
    by_count: dict[int, set[int | None]] = {}
    for h, spec in zip(drawn, specs, strict=True):
        by_count.setdefault(spec.baseline_t_count, set()).add(h.planted_t_count)
    assert max(map(len, by_count.values())) >= 2
    assert len({h.planted_t_count for h in drawn}) >= 5
    offsets = {spec.baseline_t_count - (h.planted_t_count or 0) for h, spec in zip(drawn, specs, strict=True)}
    assert len(offsets) >= 6


def test_the_query_says_nothing_of_the_planted_count(passed: Session) -> None:
    told = passed.query("evaluate", circuit=passed.device.hidden.baseline)
    fields = {"valid", "equivalent", "t_count", "t_depth", "cx_count", "cx_depth", "gates", "metric", "sha256"}
    assert set(told) == fields


# the page


def test_the_instruction_states_the_numbers_of_card_and_grader() -> None:
    card = tasks.load(TASK)
    page = card.instruction()
    assert graders.load(TASK) is GRADER
    assert f"{card.budget['evaluate_calls']:.0f} `evaluate` calls" in page
    assert f"{card.limits.wall_s / 60:.0f} minutes" in page
    assert "T-count <= `t_count_limit`" in page
    assert f"{physics.N_STATES} random product states" in page
    assert f"1 - {physics.OVERLAP_TOLERANCE:.0e}".replace("e-0", "e-") in page
    assert f"phase to {physics.PHASE_TOLERANCE:.0e}".replace("e-0", "e-") in page
    assert f"{tc.MAX_GATES} gates" in page
    for hint in ("planted", "1.4", "identity", "Reed"):
        assert hint not in page
