"""kitaev_sweet_spot: the solver's model, reference and trap on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graders import kitaev_sweet_spot as task
from graders.kitaev_sweet_spot import GRADER
from tests.graders import in_process
from tests.graders.in_process import ClockedBench, solution, solved

TASK = "kitaev_sweet_spot"
SPLIT = "|E_even - E_odd| at the submitted voltages"
POLARISATION = "Majorana polarisation of the worse dot"
AROUND = "shots of maps around the submitted voltages"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(TASK, "model", "tune", "reference", "trap") as modules:
        yield {n: solved(TASK, modules[n], b"chain", ClockedBench) for n in ("reference", "trap")} | {"model": modules["model"]}


def test_the_solvers_model_is_the_device(done: dict[str, Any]) -> None:
    model, h = done["model"], done["reference"].device.hidden
    x = task._truth(h)
    for v_abs in (0.7, -1.9):
        centre = np.array(h.plungers(0.0, -h.u_uev / 2, -h.u_uev / 2, v_abs))
        v_l, v_r = centre[0] + np.linspace(-0.4, 0.4, 5), centre[1] + np.linspace(-0.3, 0.5, 4)
        ours = model.ones(x, centre, model.Map("", v_l, v_r, v_abs, 1, np.zeros((5, 4, 2))))
        levels = h.levels(0.0, v_l[:, None], v_r[None, :], v_abs)
        theirs = np.array(h.empty_level) + np.array(h.contrast) * h.chain(v_abs).occupation(*levels, h.te_mk)
        assert ours == pytest.approx(theirs, abs=1e-9)
    best = model.degenerate_at(x)
    assert float(h.chain(best).splitting(-h.u_uev / 2, -h.u_uev / 2)) == pytest.approx(0.0, abs=1e-6)


def test_the_reference_passes(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()


def test_the_regrade_agrees_with_the_solvers_fit(done: dict[str, Any]) -> None:
    bench = done["reference"]
    jobs = [j for j in bench.jobs if j.job_id in bench.answer["job_ids"]]
    fit = task.ThermalFit(jobs, bench.device.spec, bench.device.hidden)
    u, sigma = fit.estimate(lambda x: float(x[3]))
    assert bench.answer["u_uev"] == pytest.approx(u, abs=0.1)
    assert abs(u - bench.device.hidden.u_uev) < 4 * sigma
    answer = GRADER.Answer.model_validate_json(in_process._json(bench.answer))
    splitting, sigma = fit.estimate(lambda x: fit.splitting(x, len(jobs) - 1, answer))
    assert abs(splitting - bench.answer["splitting_uev"]) < sigma
    assert sigma == pytest.approx(bench.answer["sigma_uev"], rel=0.3)


def test_the_trap_splits_by_about_half_of_u(done: dict[str, Any]) -> None:
    bench = done["trap"]
    failed = bench.failed(GRADER)
    assert set(GRADER.trap_fails) <= failed
    assert not set(GRADER.trap_meets) & failed
    h, a = bench.device.hidden, bench.answer
    at = h.levels(bench.jobs[-1].lab_end_s, a["v_l_mv"], a["v_r_mv"], a["v_abs_mv"])
    assert float(h.chain(a["v_abs_mv"]).splitting(*at)) == pytest.approx(h.u_uev / 2, abs=1.0)


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j0", "j5", "j6", "j7"]}, "shots of the cited maps"),
        ({"job_ids": ["j5", "j6", "j7"]}, "values of v_abs among them"),
        ({"v_abs_mv": 4.0}, AROUND),
        ({"v_l_mv": 2.9}, AROUND),
        ({"sigma_uev": 0.02}, "smallest reported sigma"),
        ({"sigma_uev": 0.5}, "largest reported sigma"),
        ({"splitting_uev": 1.2}, "|reported - recomputed| splitting"),
        ({"splitting_uev": -1.6}, "|reported - true| splitting"),
        ({"u_uev": 15.0}, "|reported - recomputed| U"),
        ({"t_over_delta": 1.3}, "|reported - recomputed| t/Delta"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_plungers_beside_the_middle_delocalise_the_modes(done: dict[str, Any]) -> None:
    bench = done["reference"]
    failed = bench.failed(GRADER, v_l_mv=bench.answer["v_l_mv"] + 0.25)
    assert POLARISATION in failed
    both = {f: bench.answer[f] + 0.25 for f in ("v_l_mv", "v_r_mv")}
    assert {POLARISATION, SPLIT} <= bench.failed(GRADER, **both)


def test_a_weak_coupling_leaves_no_gap(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = done["reference"]
    weak = bench.device.hidden.model_copy(update={"peak_uev": 4.0})
    session = SimpleNamespace(device=SimpleNamespace(hidden=weak), jobs=tuple(bench.jobs))
    answer = GRADER.Answer.model_validate_json(in_process._json(bench.answer))
    checks = {c.name: c for c in GRADER.score(answer, session, {}, np.random.default_rng(0)).checks}  # type: ignore[arg-type]
    assert not checks["excitation gap"].passed


def test_few_shots_around_the_answer_and_near_values_do_not_count(done: dict[str, Any]) -> None:
    bench = done["reference"]
    ids = bench.answer["job_ids"]
    assert bench.failed(GRADER, job_ids=ids[:5]) >= {AROUND, "shots of the cited maps"}
    near = [SimpleNamespace(request=SimpleNamespace(v_abs_mv=v)) for v in (1.0, 1.15, 1.3, 0.6)]
    assert task._values(near) == 3  # type: ignore[arg-type]


def test_a_poor_resolution_is_refused(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "RECOMPUTED_SIGMA_UEV", 0.01)
    assert "recomputed sigma of the splitting" in done["reference"].failed(GRADER)


def test_a_moved_splitting_is_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    assert "|reported - recomputed| splitting" in done["reference"].failed(GRADER, splitting_uev=moved["splitting_uev"])
