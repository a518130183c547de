"""ftqc_resource_estimation: limits of the cost model, lines of the report, pilot counts; cross-checks with the exact 15-to-1 code, with a
second implementation and with stim."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from qtypes import AgentError, Clock, Device
from qtypes.ftqc_resource_estimation import Evaluate, Hidden, Profile, RunPilotMemory, cost, device, physics, report
from qtypes.ftqc_resource_estimation.cost import Design, Level
from qtypes.logical_magic_factory import physics as exact
from tests.graders.in_process import solution

QTYPE = qtypes.load("ftqc_resource_estimation")
AUDIT, RACE = Profile(instance="audit"), Profile(instance="race")
PROBLEM = QTYPE.practice(RACE).problem()
LEVELS = (Level(7, 3, 3, 8), Level(19, 7, 5, 1))
DESIGN = Design(19, LEVELS, 4e-3, "fast", 2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(seed: int, profile: Profile = AUDIT) -> Hidden:
    return QTYPE.draw(rng(seed), profile)


def lab(hidden: Hidden, profile: Profile) -> Device:
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


@pytest.fixture(scope="module")
def many() -> list[Hidden]:
    """Drawn audits."""
    return [drawn(seed) for seed in range(100)]


# The cost model


def test_the_logical_error_falls_with_distance_and_its_inverse_is_the_distance() -> None:
    errors = [cost.logical_error(d, 0.1, 10.0) for d in range(3, 31)]
    assert all(a > b for a, b in itertools.pairwise(errors))
    assert errors[0] == pytest.approx(1e-3)
    for d, error in zip(range(3, 31), errors, strict=True):
        assert cost.needed_distance(error, 0.1, 10.0) == pytest.approx(d, abs=1e-9)


def test_units_have_the_sizes_that_litinski_tabulates() -> None:
    """Table 1 of "Magic state distillation": 810 qubits for (7, 3, 3), 4620 (rounded) for (17, 7, 7)."""
    assert cost.unit_qubits(Level(7, 3, 3, 1)) == 810
    assert cost.unit_qubits(Level(17, 7, 7, 1)) == 4618


@pytest.mark.parametrize(("n", "compact", "intermediate", "fast"), [(100, 153, 204, 230), (72, 111, 148, 169), (3, 8, 10, 12)])
def test_tiles_by_layout(n: int, compact: int, intermediate: int, fast: int) -> None:
    assert [cost.tiles(n, r) for r in ("compact", "intermediate", "fast")] == [compact, intermediate, fast]


def test_a_rotation_takes_one_more_t_state_per_factor_of_two_to_the_third_of_a_bit() -> None:
    assert cost.t_per_rotation(1e-10) == math.ceil(3.02 * 33.2193 + 0.77) == 102
    assert cost.t_per_rotation(1e-10 * 2 ** (-1 / 3.02)) == 103


def test_the_total_error_is_the_sum_of_its_parts_and_decides_with_the_budget() -> None:
    found = cost.evaluate(DESIGN, PROBLEM)
    assert found.total_error == pytest.approx(found.synthesis_error + found.distillation_error + found.memory_error, rel=1e-15)
    assert found.feasible
    assert not cost.evaluate(DESIGN, replace(PROBLEM, error_budget=found.total_error * (1 - 1e-9))).feasible
    assert cost.evaluate(DESIGN, replace(PROBLEM, error_budget=found.total_error)).feasible


def test_twice_the_t_gates_take_twice_the_time_and_err_twice_as_often() -> None:
    once = cost.evaluate(DESIGN, replace(PROBLEM, rotations=0))
    twice = cost.evaluate(DESIGN, replace(PROBLEM, rotations=0, t_gates=2 * PROBLEM.t_gates))
    assert once.synthesis_error == 0
    for name in ("runtime_s", "memory_error", "distillation_error", "qubit_seconds"):
        assert getattr(twice, name) == pytest.approx(2 * getattr(once, name), rel=1e-14)


def test_one_factory_limits_the_time_by_its_supply_and_many_by_the_consumption() -> None:
    made = cost.factory(LEVELS, PROBLEM)
    few, many = (cost.evaluate(replace(DESIGN, factories=n), PROBLEM) for n in (1, 100))
    assert few.us_per_t == pytest.approx(1 / made.rate_per_us)
    assert many.us_per_t == DESIGN.d
    slow = cost.evaluate(replace(DESIGN, factories=100), replace(PROBLEM, reaction_us=47.0))
    assert slow.us_per_t == 47.0
    assert cost.evaluate(replace(DESIGN, factories=100, routing="compact"), PROBLEM).us_per_t == 9 * DESIGN.d


def test_a_level_is_limited_by_its_own_batches_or_by_its_inputs() -> None:
    e = 1e-3 + 2 * cost.logical_error(9, 0.1, 10.0)
    one = cost.factory((Level(9, 9, 9, 1),), PROBLEM)
    assert one.rate_per_us == pytest.approx((1 - e) ** 15 / 54)
    assert one.error == pytest.approx(35 * e**3 + 7.1e-6, rel=1e-9)
    hungry = cost.factory((Level(9, 9, 9, 2), Level(9, 9, 9, 1)), PROBLEM)
    fed = cost.factory((Level(9, 9, 9, 90), Level(9, 9, 9, 1)), PROBLEM)
    accept = (1 - one.error - 2e-6) ** 15
    assert hungry.rate_per_us == pytest.approx(accept * 2 * one.rate_per_us / 15)
    assert fed.rate_per_us == pytest.approx(accept / 54)


def test_bad_inputs_make_a_design_infeasible_whatever_its_error() -> None:
    bad = replace(PROBLEM, injected_error=0.03, error_budget=0.999999)
    found = cost.evaluate(DESIGN, bad)
    assert not found.factory.valid
    assert not found.feasible


def test_the_leading_order_of_distillation_is_that_of_the_exact_code() -> None:
    """35 e^3 and (1 - e)^15 against the sum over the characters of the [[15,1,3]] code: relative errors of order e, and of order e^2."""
    for e in (1e-2, 1e-3, 1e-4):
        acceptance, error = exact.distilled(np.full(15, e), 0.0, 1)
        assert abs(cost.distilled(e) / error - 1) < 16 * e
        assert 0 <= acceptance - (1 - e) ** 15 < 500 * e**3
    found = [exact.distilled(np.full(15, e), 0.0, 1)[1] for e in (1e-3, 2e-3)]
    assert found[1] / found[0] == pytest.approx(8, rel=0.02)


def random_designs(n: int, seed: int) -> list[Design]:
    r = rng(seed)

    def odd(high: int) -> int:
        return 2 * int(r.integers(1, high // 2)) + 1

    def levels() -> tuple[Level, ...]:
        count = int(r.integers(1, 4))
        return tuple(Level(odd(30), odd(30), odd(30), 1 if k == count - 1 else int(r.integers(1, 40))) for k in range(count))

    routings = tuple(cost.ROUTING)
    return [
        Design(odd(40), levels(), float(10 ** r.uniform(-5, -2)), routings[int(r.integers(3))], int(r.integers(1, 20))) for _ in range(n)
    ]


def test_a_second_implementation_gives_the_same_costs() -> None:
    """The reference's own model, written from the text of the instruction."""
    with solution("resource_estimation_race", "search") as modules:
        search = modules["search"]
        h = drawn(3, RACE)
        p, a = h.problem(), h.algorithm
        t = search.Task(a.qubits, a.t_gates + 4 * a.toffolis, a.rotations, a.error_budget, p.prefactor, p.suppression, p.injected_error,
                        p.reaction_us)  # fmt: skip
        compared = 0
        for x in random_designs(400, 5):
            per_rotation = cost.t_per_rotation(x.eps_synthesis / a.rotations)
            levels = tuple((u.dx, u.dz, u.dm, u.count) for u in x.levels)
            other = search.cost(search.Design(x.d, levels, per_rotation, x.routing, x.factories), t)
            found = cost.evaluate(replace(x, eps_synthesis=t.synthesis(per_rotation)), p)
            assert found.factory.valid == math.isfinite(other[0])
            if found.factory.valid:
                assert other == pytest.approx((found.qubit_seconds, found.total_error), rel=1e-12)
                compared += 1
        assert compared > 150


def test_the_search_of_the_reference_finds_the_best_of_a_small_space() -> None:
    """All designs of two levels in a box around the practice optimum."""
    best = math.inf
    for dx, dz, dm in ((x, z, 3) for x in (5, 7, 9) for z in (3, 5)):
        for ux, uz, um in ((x, z, m) for x in (17, 19, 21) for z in (5, 7) for m in (3, 5, 7)):
            for count in (7, 8, 9):
                for r in (67, 68):
                    eps = 20_000 * 2 ** (-(r - 0.77) / 3.02) * (1 + 1e-9)
                    for d, n in ((19, 2), (21, 2), (19, 1)):
                        found = cost.evaluate(Design(d, (Level(dx, dz, dm, count), Level(ux, uz, um, 1)), eps, "fast", n), PROBLEM)
                        best = min(best, found.qubit_seconds if found.feasible else math.inf)
    with solution("resource_estimation_race", "search") as modules:
        search = modules["search"]
        t = search.Task(120, 400_000, 20_000, 1e-2, 0.1, 10.0, 1e-3, 10.0)
        assert search.cost(search.cheapest(t), t)[0] == pytest.approx(best, rel=1e-12)


def test_the_published_source_is_complete_and_gives_the_same_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    text = {m.name: m.text for m in QTYPE.materials(QTYPE.spec(QTYPE.practice(RACE), RACE), RACE)}["cost.py"]
    assert "qtypes" not in text
    module = ModuleType("published")
    monkeypatch.setitem(sys.modules, "published", module)  # where dataclasses look for names
    exec(text, module.__dict__)
    levels = tuple(module.Level(u.dx, u.dz, u.dm, u.count) for u in LEVELS)
    problem = module.Problem(120, 400_000, 20_000, 0, 1e-2, 0.1, 10.0, 1e-3, 10.0)
    found = module.evaluate(module.Design(19, levels, 4e-3, "fast", 2), problem)
    assert found.qubit_seconds == cost.evaluate(DESIGN, PROBLEM).qubit_seconds


# The report


def test_a_report_computed_by_hand() -> None:
    sheet = report.Sheet(100, 100_000, 10_000, 1_000, 1e-2, 1e-3, 0.8, 20.0, (0.1, 10.0))
    v = report.lines(sheet)
    assert v["L1"] == pytest.approx(3.3333e-7, rel=1e-4)
    assert v["L2"] == math.ceil(3.02 * 21.5165 + 0.77) == 66
    assert v["L3"] == 100_000 + 4_000 + 660_000
    assert v["L4"] == pytest.approx(4.3630e-9, rel=1e-4)
    assert v["L5"] == pytest.approx(3.5e-8)
    assert (v["L6"], v["L7"], v["L8"]) == (2, 230, (0.1, 10.0))
    assert v["L9"] == pytest.approx(1.8970e-11, rel=1e-4)
    assert report.real_distance(v) == pytest.approx(2 * (10.7220 - 1) - 1, abs=1e-3)  # log10(0.1 / L9) = 9.7220
    assert (v["L10"], v["L11"]) == (19, 20.0)
    assert v["L12"] == math.ceil(6 * 19 * 2 / (20 * 0.8)) == 15
    assert v["L13"] == 2 * 361 * (230 + 11 * 15 * 2)
    assert v["L14"] == pytest.approx(764_000 * 20e-6)


@pytest.mark.parametrize(("x", "d"), [(18.4, 19), (19.0, 19), (19.1, 21), (20.9, 21), (0.5, 1)])
def test_the_distance_is_the_smallest_odd_integer_above(x: float, d: int) -> None:
    assert report.odd_above(x) == d


def test_a_mistake_shows_in_its_own_line_from_printed_inputs_and_in_later_ones_from_the_top() -> None:
    sheet = report.Sheet(100, 100_000, 10_000, 1_000, 1e-2, 1e-3, 0.8, 20.0, (0.1, 10.0))
    right = report.lines(sheet)
    for name in report.WRONG:
        printed = report.lines(sheet, [name])
        own = report.from_own_inputs(sheet, printed)
        assert [k for k in printed if report.deviation(printed[k], own[k]) > 1e-9] == [name]
        later = [k for k in printed if report.deviation(printed[k], right[k]) > 1e-9]
        assert later[0] == name
    assert {"L3", "L9", "L13", "L14"} <= {k for k in right if right[k] != report.lines(sheet, ["L2"])[k]}


def test_every_drawn_report_has_exactly_the_roots_that_the_device_says(many: list[Hidden]) -> None:
    counts = set()
    for h in many:
        assert h.filed is not None
        printed, truth = device.filed_report(h), device.true_report(h)
        own = report.from_own_inputs(h.sheet((h.prefactor, h.suppression)), printed)
        found = {k for k in printed if report.deviation(printed[k], own[k]) > device.MASKED}
        assert found == set(h.filed.roots)
        assert {k for k in printed if report.deviation(printed[k], own[k]) > 1e-9} == found
        counts.add(len(found))
        assert "L8" in found
        x, d = report.real_distance(truth), int(truth["L10"])  # type: ignore[arg-type]
        assert 9 <= d <= 29
        assert d != printed["L10"]
        assert d - 1.5 <= x <= d - 0.5  # half a step from the odd numbers on both sides
        assert len({k for k in printed if report.deviation(printed[k], truth[k]) > 1e-9}) > len(found)
    assert counts == {3, 4, 5}


def test_the_verdict_of_the_report_is_right_about_every_second_time(many: list[Hidden]) -> None:
    right = []
    for h in many:
        assert h.filed is not None
        verdicts = [v["L13"] <= h.filed.qubit_cap for v in (device.filed_report(h), device.true_report(h))]  # type: ignore[operator]
        right.append(verdicts[0] == verdicts[1])
    assert 0.35 < np.mean(right) < 0.65


# Pilot


def test_groups_add_up_and_the_last_one_holds_the_rest() -> None:
    assert physics.groups(25_000).tolist() == [10_000, 10_000, 5_000]
    assert physics.groups(10_000).tolist() == [10_000]
    assert physics.groups(3).tolist() == [3]


def test_failures_are_binomial_with_the_suppression_law() -> None:
    h = drawn(2)
    dev = lab(h, AUDIT)
    for d in (3, 5):
        p = cost.logical_error(d, h.prefactor, h.suppression)
        record = RunPilotMemory(distance=d, blocks=20_000_000).run(dev, Clock(0.0), rng(7))
        k = record.arrays["failures"].values.astype(float)
        assert abs(k.sum() / 2e7 / p - 1) < 5 / np.sqrt(2e7 * p)
        fano = k.var() / k.mean()
        assert abs(fano / (1 - p) - 1) < 5 * np.sqrt(2 / len(k)) + 5 / np.sqrt(k.sum())


def test_a_pilot_job_is_charged_by_blocks_and_lasts_d_cycles_each() -> None:
    job = RunPilotMemory(distance=7, blocks=4_000_000)
    assert job.cost().to_json() == {"units": 40.0, "jobs": 1.0, "lab_s": 28.0}
    for bad in ({"distance": 4, "blocks": 1}, {"distance": 3, "blocks": 20_000_001}, {"distance": 3, "blocks": 0}):
        with pytest.raises(ValidationError):
            RunPilotMemory.model_validate_json(json.dumps(bad))


@pytest.mark.slow
def test_the_law_has_the_form_that_a_circuit_level_memory_shows() -> None:
    """Failures of d cycles of the rotated code in stim, decoded with pymatching, at half of the threshold: ln p is a straight line in
    (d + 1)/2 to the precision of the counts."""
    import pymatching
    import stim

    logs, sigmas = [], []
    for d, shots in ((3, 150_000), (5, 150_000), (7, 100_000)):
        circuit = stim.Circuit.generated(
            "surface_code:rotated_memory_z", distance=d, rounds=d, after_clifford_depolarization=4e-3, before_measure_flip_probability=4e-3,
            after_reset_flip_probability=4e-3,
        )  # fmt: skip
        matching = pymatching.Matching(circuit.detector_error_model(decompose_errors=True))
        detections, flips = circuit.compile_detector_sampler(seed=d).sample(shots, separate_observables=True)
        wrong = int((matching.decode_batch(detections)[:, 0] != flips[:, 0]).sum())
        logs.append(math.log(wrong / shots))
        sigmas.append(1 / math.sqrt(wrong))
    bend = logs[0] - 2 * logs[1] + logs[2]
    sigma = math.hypot(sigmas[0], 2 * sigmas[1], sigmas[2])
    assert logs[0] - logs[1] > 0.3  # below threshold
    assert abs(bend) < 3 * sigma + 0.15


# Requests and what is public


def test_evaluate_refuses_even_distances_and_a_second_last_unit() -> None:
    good = Evaluate.examples(QTYPE.spec(QTYPE.practice(RACE), RACE))[0]
    spec = QTYPE.spec(QTYPE.practice(RACE), RACE)
    good.admit(spec)
    base = good.model_dump(mode="json")
    even = json.loads(json.dumps(base))
    even["levels"][1]["dz"] = 8
    two = json.loads(json.dumps(base))
    two["levels"][1]["count"] = 2
    for wrong, field in ((base | {"d": 20}, "d"), (even, "levels.1.dz"), (two, "levels.1.count")):
        with pytest.raises(AgentError) as caught:
            Evaluate.model_validate_json(json.dumps(wrong)).admit(spec)
        assert caught.value.field == field


def test_evaluate_tells_what_the_model_says_and_survives_a_factory_that_accepts_nothing() -> None:
    hidden = QTYPE.practice(RACE).model_copy(update={"prefactor": 0.9, "suppression": 1.3})
    request = Evaluate.examples(QTYPE.spec(QTYPE.practice(RACE), RACE))[0]
    good = request.answer(lab(QTYPE.practice(RACE), RACE), None, None, rng())
    assert good["qubit_seconds"] == cost.evaluate(request.design(), PROBLEM).qubit_seconds
    dead = device.Spec.model_construct(**{**dict(QTYPE.spec(QTYPE.practice(RACE), RACE)), "pair": (0.9, 1.3)})
    answer = request.answer(Device(dead, hidden, RACE), None, None, rng())
    assert answer["feasible"] is False
    assert answer["qubit_seconds"] is None
    json.dumps(answer, allow_nan=False)


def test_in_an_audit_evaluate_depends_on_what_is_public_only() -> None:
    h = drawn(4)
    other = h.model_copy(update={"prefactor": h.prefactor * 1.1, "suppression": h.suppression * 1.1})
    request = Evaluate.examples(QTYPE.spec(h, AUDIT))[0]
    first, second = (request.answer(lab(x, AUDIT), None, None, rng()) for x in (h, other))
    assert first == second
    assert QTYPE.spec(h, AUDIT) == QTYPE.spec(other, AUDIT)


def test_the_race_publishes_its_machine_and_the_limit_of_the_instruction() -> None:
    spec = QTYPE.spec(QTYPE.practice(RACE), RACE)
    assert spec.problem() == PROBLEM
    assert spec.limit_qubit_s == 2.09e7
    assert spec.report is None
    with pytest.raises(qtypes.TaskError):
        QTYPE.practice(AUDIT)


def test_the_textbook_design_keeps_its_thirds_and_a_smaller_distance_does_not() -> None:
    design, found = device.textbook(PROBLEM, 4)
    third = PROBLEM.error_budget / 3
    assert found.feasible
    assert max(found.memory_error, found.distillation_error) <= third
    units = replace(design.levels[0], count=design.levels[0].count - 1)
    starved = cost.factory((units, design.levels[1]), PROBLEM)
    assert starved.rate_per_us < found.factory.rate_per_us
    d = design.d - 2
    smaller = replace(design, d=d, levels=tuple(Level(d, d, d, u.count) for u in design.levels))
    less = cost.evaluate(smaller, PROBLEM)
    assert max(less.memory_error, less.distillation_error) > third


def test_notebooks_tell_the_truth_of_their_date() -> None:
    today = dt.date(2026, 3, 1)
    race = QTYPE.notebook(QTYPE.practice(RACE), rng(), RACE, today).entries
    plan = Evaluate.model_validate_json(json.dumps(race[0].data["design"]))  # type: ignore[index]
    found = cost.evaluate(plan.design(), PROBLEM)
    assert found.feasible
    assert f"{found.qubit_seconds:.2e}" in race[0].text
    h = drawn(1)
    book = QTYPE.notebook(h, rng(), AUDIT, today).entries
    assert book[0].data == {"L8": list(QTYPE.spec(h, AUDIT).pair)}
    assert [e.date for e in book] == sorted(e.date for e in book)
