"""Grader of `repeater_purification`: link errors from raw bits, and the exact fidelity and yield of the submitted protocol on the device.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.transmon_repeater_array.protocol import Setting, delivered

FIDELITY = 0.935
YIELD = 0.5
REFERENCE_SHOTS = 4000
LINK_SHOTS = 4000
SEPARATIONS = 3
SEPARATION_SHOTS = 4000
PURIFIED_SHOTS = 3000
BIND_PAULI = 0.006
BIND_FIDELITY = 0.02
BIND_YIELD = 0.05
BASES = ("XX", "YY", "ZZ")
N_LINKS, N_NODES = 3, 4
TOOLS = {"run_link_pairs", "run_end_to_end", "run_purify", "run_readout_reference"}

Floats = NDArray[np.float64]
Class = Literal["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
Probability = Annotated[float, Field(ge=0, le=1)]
LinkErrors = Annotated[tuple[Probability, ...], Field(min_length=3, max_length=3)]


class Predicted(AnswerModel):
    """What the protocol delivers, as measured."""

    fidelity: float = Field(ge=0, le=1, description="fidelity of an accepted pair, before the bits that read it")
    yield_: float = Field(ge=0, le=1, alias="yield", description="accepted pairs per two raw end-to-end pairs")


class Answer(AnswerModel):
    """A protocol, the links it is made for, and the jobs that it rests on."""

    local_cliffords: Annotated[tuple[Class, ...], Field(min_length=N_NODES, max_length=N_NODES)] = Field(
        description="class of each node, node 0 first; those of the ends equal"
    )
    swap_order: Literal["together", "1-2", "2-1"] = Field(description="order of the swaps")
    slot_separation_us: float = Field(ge=2, le=60, multiple_of=2, description="time from one raw pair to the next, us")
    rounds: int = Field(ge=1, le=2, description="rounds of purification")
    accept_rule: Literal["even", "odd", "all"] = Field(description="which check parities are accepted")
    predicted: Predicted
    link_pauli: Annotated[tuple[LinkErrors, ...], Field(min_length=N_LINKS, max_length=N_LINKS)] = Field(
        description="probabilities of X, Y, Z on a raw pair of each link"
    )
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=120, description="readout references, link pairs and purified pairs")

    def setting(self) -> Setting:
        """As the device takes it."""
        return Setting(self.local_cliffords, self.swap_order, self.slot_separation_us, self.rounds, self.accept_rule)


class RepeaterPurification(Grader):
    """See `docs/tasks/repeater_purification.md`."""

    task: ClassVar[str] = "repeater_purification"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("fidelity of the delivered pairs",)
    trap_meets = ("|predicted - recomputed| fidelity", "delivered pairs per two raw pairs")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which purified pairs count depends on the submitted protocol."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        references = [j for j in cited if j.tool == "run_readout_reference"]
        links = [j for j in cited if j.tool == "run_link_pairs" and j.request.hold_us == 0]  # type: ignore[attr-defined]
        runs = [j for j in cited if j.tool == "run_purify" and j.request.setting() == answer.setting()]  # type: ignore[attr-defined]
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE}
        link_shots = _shots(links, lambda r: (r.link, r.basis), [(k, b) for k in range(N_LINKS) for b in BASES])
        separations = _shots(links, lambda r: r.slot_separation_us, [])
        purified = _shots(runs, lambda r: r.basis, list(BASES))
        checks = [
            self.jobs_exist(answer.job_ids, session, TOOLS),
            above("readout shots of each state", Stage.BIND, sum(_request(j).shots for j in references), REFERENCE_SHOTS, **missing),
            above("shots of the link and basis with the fewest", Stage.BIND, min(link_shots.values()), LINK_SHOTS, **missing),
            above("separations with enough shots of two pairs", Stage.BIND,
                  sum(n >= SEPARATION_SHOTS for n in separations.values()), SEPARATIONS, **missing),
            above("attempts of the submitted protocol in the basis with the fewest", Stage.BIND, min(purified.values()), PURIFIED_SHOTS,
                  **missing),
        ]  # fmt: skip
        if not references or 0 in link_shots.values() or 0 in purified.values():
            return [*checks, holds("the claims can be recomputed from the cited jobs", Stage.BIND, False, **missing)]
        contrast = 1 - 2 * flips(references)
        errors = np.array([link_errors(k, links, contrast) for k in range(N_LINKS)])
        fidelity, rate = purified_pairs(runs, contrast, answer.rounds)
        q.update(link_pauli=errors.tolist(), fidelity=fidelity, pairs_per_two=rate, coincidence=coincidence(links, contrast))
        more: dict[str, Any] = {"category": Category.UNSUPPORTED}
        worst = float(np.abs(errors - np.array(answer.link_pauli)).max())
        off_f, off_y = abs(answer.predicted.fidelity - fidelity), abs(answer.predicted.yield_ - rate)
        return [
            *checks,
            below("largest |reported - recomputed| link error", Stage.BIND, worst, BIND_PAULI, **more),
            below("|predicted - recomputed| fidelity", Stage.BIND, off_f, BIND_FIDELITY, **more),
            below("|predicted - recomputed| yield", Stage.BIND, off_y, BIND_YIELD, **more),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        same = answer.local_cliffords[0] == answer.local_cliffords[-1]
        checks = [holds("the ends apply the same class", Stage.SCORE, same, category=Category.SCHEMA)]
        if not same:
            return Score(checks)
        fidelity, rate = delivered(session.device.hidden, answer.setting())
        checks += [
            above("fidelity of the delivered pairs", Stage.SCORE, fidelity, FIDELITY),
            above("delivered pairs per two raw pairs", Stage.SCORE, rate, YIELD),
        ]
        return Score(checks, quantities={"true_fidelity": fidelity, "true_yield": rate})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """A better protocol than it is, and cleaner links: moved by twice the tolerances."""
        p = answer["predicted"]
        better = {"fidelity": min(1.0, p["fidelity"] + 2 * BIND_FIDELITY), "yield": min(1.0, p["yield"] + 2 * BIND_YIELD)}
        links = [[max(0.0, e - 2 * BIND_PAULI) for e in row] for row in answer["link_pauli"]]
        return {**answer, "predicted": better, "link_pauli": links}


def _request(job: Job) -> Any:
    return job.request


def _shots(jobs: list[Job], key: Any, wanted: list[Any]) -> dict[Any, int]:
    """Shots by key of the request; keys that are wanted are there, with 0 at least."""
    out: dict[Any, int] = defaultdict(int, dict.fromkeys(wanted, 0))
    for j in jobs:
        out[key(j.request)] += _request(j).shots
    return dict(out)


def flips(references: list[Job]) -> Floats:
    """Share of wrong bits at each node, `(4,)`, from references in both states."""
    wrong = [j.arrays()["bits"] ^ np.array([0, 1], dtype=np.uint8)[:, None, None] for j in references]
    return np.asarray(np.concatenate([w.reshape(-1, N_NODES) for w in wrong]).mean(axis=0))


def _agreement(bits: NDArray[np.uint8], basis: str) -> NDArray[np.int8]:
    """+1 where two halves are as |Phi+> has them, else -1; the last axis is that of the halves."""
    odd = bits[..., 0] ^ bits[..., 1] ^ np.uint8(basis == "YY")
    return 1 - 2 * odd.astype(np.int8)


def link_errors(link: int, jobs: list[Job], contrast: Floats) -> Floats:
    """Probabilities of X, Y, Z of a link, `(3,)`, corrected for readout."""
    seen = []
    for basis in BASES:
        rows = [_agreement(j.arrays()["bits"], basis).ravel() for j in jobs if _request(j).link == link and _request(j).basis == basis]
        seen.append(np.concatenate(rows).mean() / (contrast[link] * contrast[link + 1]))
    ex, ey, ez = seen
    return np.array([1 + ex - ey - ez, 1 - ex + ey - ez, 1 - ex - ey + ez]) / 4


def coincidence(jobs: list[Job], contrast: Floats) -> dict[str, float]:
    """Share of errors that two pairs have in common, by separation in us: covariance of their parities over its largest value."""
    cov: dict[float, float] = defaultdict(float)
    var: dict[float, float] = defaultdict(float)
    for j in jobs:
        r = _request(j)
        scale = contrast[r.link] * contrast[r.link + 1]
        s = _agreement(j.arrays()["bits"], r.basis) / scale
        cov[r.slot_separation_us] += r.shots * float(np.cov(s.T)[0, 1])
        var[r.slot_separation_us] += r.shots * float(1 - s.mean() ** 2)
    return {f"{t:g}": cov[t] / max(var[t], 1e-12) for t in sorted(cov)}


def purified_pairs(jobs: list[Job], contrast: Floats, rounds: int) -> tuple[float, float]:
    """Fidelity of accepted pairs, corrected for the readout of the ends, and accepted pairs per two raw ones; acceptance from the check
    bits.
    """
    sums, counts, attempts = dict.fromkeys(BASES, 0.0), dict.fromkeys(BASES, 0), 0
    for j in jobs:
        r, data = _request(j), j.arrays()
        parity = data["check"][..., 0] ^ data["check"][..., 1]
        taken = np.isin(parity, r.setting().keeps()).all(axis=1)
        sums[r.basis] += float(_agreement(data["final"][taken], r.basis).sum())
        counts[r.basis] += int(taken.sum())
        attempts += r.shots
    means = [sums[b] / max(counts[b], 1) / (contrast[0] * contrast[3]) for b in BASES]
    return (1 + sum(means)) / 4, sum(counts.values()) / attempts / 2 ** (rounds - 1)


GRADER = RepeaterPurification()
