"""Rank the systems of a campaign: pass rates with intervals, repeats, categories and layers, races, difficulty.

Faults of the laboratory, unattested verdicts and devices made reproducible never enter a number; they are listed (`Leaderboard.left_out`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

import tasks
from results import races
from results.model import Campaign, Graded, Outcome, Pattern
from results.session import is_number
from results.statistics import Z68, Z95, mean_over_tasks, rank_correlation, wilson

LAYERS: tuple[str, ...] = get_args(tasks.Layer)
"""From the bottom of the stack to its top; the depth of a task is the number of its highest layer, from 1."""
SCHEMA = "quantum-harbor/leaderboard-1"


@dataclass(frozen=True)
class Share:
    """`passed` of `n` trials with the Wilson intervals at z = 1 and z = 1.96; `rate` is None without trials."""

    passed: int
    n: int
    rate: float | None
    z1: tuple[float, float]
    z196: tuple[float, float]


def share(graded: Iterable[Graded]) -> Share:
    passed = [g.passed for g in graded]
    k, n = sum(passed), len(passed)
    return Share(k, n, k / n if n else None, wilson(k, n, Z68), wilson(k, n, Z95))


@dataclass(frozen=True)
class Standing:
    """A system. `pass_at[k]` and `pass_hat[k]` are means over the tasks with at least k trials; `usage` are sums over counted trials."""

    system: str
    overall: Share
    pass_at: dict[int, float]
    pass_hat: dict[int, float]
    by_category: dict[str, Share]
    by_layer: dict[str, Share]
    by_task: dict[str, Share]
    outcomes: dict[str, int]
    patterns: dict[str, int]
    left_out: int
    race: races.Aggregate | None
    usage: dict[str, float]
    stabilizer: dict[str, dict[str, float]]


@dataclass(frozen=True)
class TaskLine:
    """A task over all systems; `difficulty` is the share of counted trials that fail, None without any."""

    task: str
    title: str
    mode: str
    category: str
    layers: tuple[str, ...]
    depth: int
    overall: Share
    difficulty: float | None


@dataclass(frozen=True)
class Leaderboard:
    """Systems by pass rate, tasks by index. `depth_correlation` is Spearman's rho of difficulty with depth over the tasks."""

    systems: tuple[Standing, ...]
    tasks: tuple[TaskLine, ...]
    depth_correlation: float | None
    left_out: tuple[dict[str, str], ...]
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}


def rank(campaign: Campaign, *, seed: int = 0) -> Leaderboard:
    """The leaderboard; `seed` is that of the bootstrap of the races."""
    lines = [_task(name, campaign) for name in sorted(campaign.tasks, key=_order)]
    rated = races.aggregate(_races(campaign), seed=seed)
    standings = [_standing(system, campaign, rated.get(system)) for system in campaign.systems]
    standings.sort(key=lambda s: (-(s.overall.rate or 0.0), -s.overall.n, s.system))
    pairs = [(float(t.depth), t.difficulty) for t in lines if t.depth and t.difficulty is not None]
    rho = rank_correlation([d for d, _ in pairs], [f for _, f in pairs])
    return Leaderboard(tuple(standings), tuple(lines), rho, tuple(_left_out(campaign)), tuple(_notes(campaign)))


def card_of(task: str) -> tasks.TaskCard | None:
    """The card of a task, None for one that is not known here."""
    try:
        return tasks.load(task)
    except (KeyError, ValueError):
        return None


def depth_of(layers: Iterable[str]) -> int:
    """Number of the highest layer, 1 to 5; 0 without layers."""
    return max((LAYERS.index(layer) + 1 for layer in layers), default=0)


def _order(task: str) -> tuple[int, str]:
    card = card_of(task)
    return (card.index if card else 10**6, task)


def _task(name: str, campaign: Campaign) -> TaskLine:
    card, all_of_it = card_of(name), share(campaign.of(task=name))
    difficulty = None if all_of_it.rate is None else 1.0 - all_of_it.rate
    if card is None:
        return TaskLine(name, "", "", "", (), 0, all_of_it, difficulty)
    return TaskLine(name, card.title, card.mode, card.category, card.layers, depth_of(card.layers), all_of_it, difficulty)


def _standing(system: str, campaign: Campaign, race: races.Aggregate | None) -> Standing:
    mine = campaign.of(system)
    by_task, by_category, by_layer = (defaultdict[str, list[Graded]](list) for _ in range(3))
    for g in mine:
        by_task[g.task].append(g)
        card = card_of(g.task)
        if card is not None:
            by_category[card.category].append(g)
            for layer in card.layers:
                by_layer[layer].append(g)
    counts = [(sum(g.passed for g in trials), len(trials)) for trials in by_task.values()]
    deepest = max((n for _, n in counts), default=0)
    at, hat = ({k: mean_over_tasks(counts, k, all_of=every) for k in range(1, deepest + 1)} for every in (False, True))
    usage: Counter[str] = Counter()
    for g in mine:
        usage.update(g.usage)
    everything = [g for g in campaign if g.system == system]
    return Standing(
        system, share(mine), _known(at), _known(hat),
        {c: share(t) for c, t in sorted(by_category.items())}, {x: share(by_layer[x]) for x in LAYERS if by_layer[x]},
        {t: share(by_task[t]) for t in sorted(by_task, key=_order)},
        {o.value: sum(g.outcome is o for g in everything) for o in Outcome},
        {p.value: sum(g.pattern is p for g in mine) for p in Pattern if p is not Pattern.NONE},
        len(everything) - len(mine), race, dict(usage), _stabilizer(mine),
    )  # fmt: skip


def _known(values: Mapping[int, float | None]) -> dict[int, float]:
    return {k: v for k, v in values.items() if v is not None}


def _races(campaign: Campaign) -> dict[str, dict[str, list[races.Metric]]]:
    found: dict[str, dict[str, list[races.Metric]]] = {}
    for task in campaign.tasks:
        card = card_of(task)
        if card is not None and card.mode == "race":
            per = {s: [g.metric if g.passed else None for g in campaign.of(s, task)] for s in campaign.systems}
            found[task] = {s: metrics for s, metrics in per.items() if metrics}
    return found


def _stabilizer(trials: Sequence[Graded]) -> dict[str, dict[str, float]]:
    """S_cap and S_qual by benchmark and scoring, of verdicts whose quantities hold them: sums over instances of means over their trials."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for g in trials:
        card = card_of(g.task)
        for where, part in _mappings(g.verdict.get("quantities", {}), (card.of if card else None) or g.task):
            capability, quality = part.get("capability"), part.get("score")
            if is_number(capability) and is_number(quality):
                found[where][g.task].append((float(capability), float(quality)))  # type: ignore[arg-type]
    return {
        where: {
            "capability": sum(sum(c for c, _ in t) / len(t) for t in instances.values()),
            "quality": sum(sum(q for _, q in t) / len(t) for t in instances.values()),
            "instances": float(len(instances)),
        }
        for where, instances in found.items()
    }


def _mappings(value: Any, where: str, depth: int = 3) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, Mapping) and depth:
        yield where, value
        for key, part in value.items():
            yield from _mappings(part, f"{where}.{key}", depth - 1)


def _left_out(campaign: Campaign) -> Iterable[dict[str, str]]:
    for g in campaign:
        if g.counts:
            continue
        reproducible = g.verdict.get("reproducible") and g.outcome is not Outcome.INFRASTRUCTURE_FAULT
        why = "device made reproducible by a seed" if reproducible else str(g.verdict.get("reason") or "unattested")
        yield {"system": g.system, "task": g.task, "trial": g.trial.trial_id, "path": str(g.trial.path), "outcome": g.outcome.value,
               "reason": why}  # fmt: skip


def _notes(campaign: Campaign) -> Iterable[str]:
    for task in campaign.tasks:
        card = card_of(task)
        if card is None:
            yield f"{task}: not a task known here; it enters no category, layer or race"
        elif card.mode == "race":
            kinds = sorted({str(g.verdict.get("instance")) for g in campaign.of(task=task)})
            if len(kinds) > 1:
                yield f"{task}: races of different instances ({', '.join(kinds)}) are compared; their metrics are not on one device"


__all__ = ["LAYERS", "Leaderboard", "Share", "Standing", "TaskLine", "card_of", "depth_of", "rank", "share"]
