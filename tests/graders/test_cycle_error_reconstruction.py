"""cycle_error_reconstruction: an honest answer passes, and each check fails the answer that it is there for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graders.cycle_error_reconstruction import GRADER, Answer, estimate, points_of, usable
from qtypes import Clock, Device, seeds
from qtypes.cycle_error_recon import QTYPE, Profile, RunCycleSequence
from qtypes.cycle_error_recon.device import FAR, held_out
from qtypes.cycle_error_recon.physics import class_of, classes, orbit_decay, orbit_infidelity

PROFILE = Profile()
ROOT = seeds.root_from(b"test cycle")
HIDDEN = QTYPE.draw(seeds.generator(ROOT, "device"), PROFILE)
DEVICE = Device(QTYPE.spec(HIDDEN, PROFILE), HIDDEN, PROFILE)
PAULIS = held_out(seeds.generator(ROOT, "challenge"))["paulis"]
DIGITS = [(a, b, c, (a + b + c) % 3, (a + 2 * b) % 3) for a in range(3) for b in range(3) for c in range(3)]
AXES = ["".join("XYZ"[d] for d in row) for row in DIGITS]


def job(name: str, axes: str, clock_s: float = 0.0, **changes: Any) -> Any:
    fields = {"depths": (2, 24, 60), "twirls": 25, "shots_per_twirl": 40} | changes
    request = RunCycleSequence(**({"prep_axes": axes, "meas_axes": axes} | fields))
    record = request.run(DEVICE, Clock(clock_s), seeds.generator(ROOT, f"job/{name}"))
    arrays = {key: a.values for key, a in record.arrays.items()}
    end_s = clock_s + float(request.cost().lab_s)
    return SimpleNamespace(
        job_id=name, tool="run_cycle_sequence", request=request, arrays=lambda: arrays, lab_start_s=clock_s, lab_end_s=end_s
    )


GOOD = [job(f"g{k}", axes, 20.0 * k) for k, axes in enumerate(AXES)]
ALONE = [job(f"a{k}", axes, active_edges="01") for k, axes in enumerate(AXES)]
TURNED = [job(f"t{k}", axes, meas_axes=axes[::-1]) for k, axes in enumerate(AXES)]
SHALLOW = [job(f"s{k}", axes, depths=(2, 8, 16)) for k, axes in enumerate(AXES)]
ODD = [job(f"o{k}", axes, depths=(1, 23, 59)) for k, axes in enumerate(AXES)]
THIN = [job(f"n{k}", axes, twirls=20) for k, axes in enumerate(AXES)]
ALIKE = [job(f"z{k}", "ZZ" + axes[:3]) for k, axes in enumerate(AXES)]
SESSION = SimpleNamespace(
    device=DEVICE, jobs=(*GOOD, *ALONE, *TURNED, *SHALLOW, *ODD, *THIN, *ALIKE), revealed=True, challenge={"paulis": PAULIS}
)
IDS = tuple(j.job_id for j in GOOD)
TRUE = HIDDEN.class_rates()
NAMES = [c[0] for c in classes()]
NOT_THERE = next(f"{'I' * a}X{'I' * (b - a - 1)}Y{'I' * (4 - b)}" for a, b in FAR if (a, b) not in
                 {tuple(q for q, c in enumerate(g.pauli) if c != "I") for g in HIDDEN.long_range})  # fmt: skip
HONEST: dict[str, Any] = {
    "rates": [{"pauli": n, "symmetrised_rate": float(r)} for n, r in zip(NAMES, TRUE, strict=True) if r > 0],
    "long_range": ({"pauli": HIDDEN.long_range[0].pauli, "rate": HIDDEN.long_range[0].rate},
                   {"pauli": class_of(HIDDEN.long_range[1].pauli)[-1], "rate": HIDDEN.long_range[1].rate}),
    "cycle_infidelity": orbit_infidelity(TRUE),
    "predicted": tuple(float(d) for d in orbit_decay(PAULIS, TRUE)),
    "job_ids": IDS,
}  # fmt: skip


def failed(session: Any = SESSION, **changes: Any) -> set[str]:
    """Names of the failed checks of the honest answer with `changes`."""
    raw = HONEST | changes
    raw = raw | {"rates": tuple(raw["rates"])}
    answer, q = Answer.model_validate(raw), GRADER.recompute(session)
    checks = [*GRADER.bind(answer, session, q), *GRADER.score(answer, session, q, np.random.default_rng(0)).checks]
    return {c.name for c in checks if not c.passed}


def scaled(factor: float, far: float | None = None) -> dict[str, Any]:
    """Rates times `factor`, those of the long-range classes times `far`."""
    long = {class_of(g.pauli)[0] for g in HIDDEN.long_range}
    factors = [far if far and r["pauli"] in long else factor for r in HONEST["rates"]]
    return {"rates": [r | {"symmetrised_rate": r["symmetrised_rate"] * f} for r, f in zip(HONEST["rates"], factors, strict=True)]}


def test_the_truth_passes() -> None:
    assert failed() == set()


def test_the_recomputed_rates_scatter_around_the_truth_as_their_errors_say() -> None:
    points = points_of(GOOD)
    assert len(usable(points)) == 27
    rates, sigma = estimate({b: points[b] for b in usable(points)})
    pull = (rates - HIDDEN.class_rates(float(HIDDEN.modulation.mean(0.0, 20.0 * 27)))) / sigma
    assert 0.75 < np.sqrt(np.mean(pull**2)) < 1.3
    assert abs(pull.mean()) < 0.5


BASES = "bases with >= 3 even depths up to >= 24, >= 1000 shots each"
SIGMAS = "largest |reported - recomputed rate| / recomputed sigma"


@pytest.mark.parametrize("jobs", [ALONE, TURNED, SHALLOW, ODD, THIN, GOOD[:19]], ids=["alone", "turned", "shallow", "odd", "thin", "few"])
def test_evidence_of_the_wrong_kind_does_not_count(jobs: list[Any]) -> None:
    assert BASES in failed(job_ids=tuple(j.job_id for j in jobs))


def test_bases_that_do_not_tell_the_classes_apart_are_not_enough() -> None:
    names = failed(job_ids=tuple(j.job_id for j in ALIKE))
    assert "largest recomputed sigma of the classes of the answer" in names
    assert BASES not in names


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"job_ids": ("j9", *IDS)}, "cited jobs are completed jobs of this session"),
        (scaled(1.0, 1.6), SIGMAS),
        ({"rates": [r for r in HONEST["rates"] if r["symmetrised_rate"] < 1.2e-3]}, SIGMAS),
        ({"rates": [*HONEST["rates"], HONEST["rates"][0]]}, "each class of the rates once, with a Pauli on one or two qubits"),
        ({"rates": [*HONEST["rates"], {"pauli": "ZZZII", "symmetrised_rate": 0.0}]},
         "each class of the rates once, with a Pauli on one or two qubits"),
        ({"long_range": (HONEST["long_range"][0], {"pauli": NOT_THERE, "rate": 2e-3})}, "both long-range errors are named"),
        ({"long_range": (HONEST["long_range"][0],) * 2}, "both long-range errors are named"),
        ({"long_range": (HONEST["long_range"][0], HONEST["long_range"][1] | {"rate": 1.3 * HIDDEN.long_range[1].rate})},
         "|rate / truth - 1| of long-range error 1"),
        ({"long_range": (HONEST["long_range"][0] | {"rate": 0.7 * HIDDEN.long_range[0].rate}, HONEST["long_range"][1])},
         "|rate / recomputed - 1| of long-range error 0"),
        (scaled(1.15), "|sum of the rates / truth - 1|"),
        (scaled(0.85), "|sum of the rates / truth - 1|"),
        ({"cycle_infidelity": 1.15 * HONEST["cycle_infidelity"]}, "|cycle infidelity / truth - 1|"),
        ({"predicted": tuple(1.15 * p for p in HONEST["predicted"])}, "median |predicted decay / truth - 1|"),
    ],
)  # fmt: skip
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str) -> None:
    assert check in failed(**changes)


def test_predictions_before_the_reveal_do_not_count() -> None:
    early = SimpleNamespace(**(vars(SESSION) | {"revealed": False}))
    assert "predictions after lock_and_reveal" in failed(early)


def test_without_evidence_nothing_is_scored() -> None:
    names = failed(job_ids=("a0",))
    assert {BASES, "the rates can be recomputed", "the rates rest on enough data to be scored"} <= names
