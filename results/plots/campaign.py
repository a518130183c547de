"""From a campaign to the rows of the plots, and all plots into a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

import tasks
from results import races
from results.model import Campaign, Outcome
from results.plots.passes import Cell, OutcomeCount, PassRate, composition, pass_grid, pass_rates
from results.plots.ratings import EloRow, elo
from results.plots.stack import Layered, Solved, difficulty, task_layers
from results.plots.style import save


def rates(campaign: Campaign) -> list[PassRate]:
    """Pass rates of the systems that have a counted trial."""
    found = ((s, campaign.of(system=s)) for s in campaign.systems)
    return [PassRate(s, sum(g.passed for g in mine), len(mine)) for s, mine in found if mine]


def outcomes(campaign: Campaign) -> list[OutcomeCount]:
    found = ((s, campaign.of(system=s)) for s in campaign.systems)
    return [OutcomeCount(s, Counter(g.outcome.value for g in mine)) for s, mine in found if mine]


def cells(campaign: Campaign) -> list[Cell]:
    """One for each pair of task and system that occurs."""
    faults = Counter((g.task, g.system) for g in campaign if g.outcome is Outcome.INFRASTRUCTURE_FAULT)
    counted: dict[tuple[str, str], list[bool]] = {}
    for g in campaign.counted:
        counted.setdefault((g.task, g.system), []).append(g.passed)
    keys = sorted({(g.task, g.system) for g in campaign})
    return [Cell(t, s, sum(counted.get((t, s), ())), len(counted.get((t, s), ())), faults[t, s]) for t, s in keys]


def metrics(campaign: Campaign) -> dict[str, dict[str, list[races.Metric]]]:
    """Metrics of races `{task: {system: [...]}}`; tasks of which the card says that they are races."""
    out: dict[str, dict[str, list[races.Metric]]] = {}
    for g in campaign.counted:
        card = _card(g.task)
        if card is not None and card.mode == "race":
            out.setdefault(g.task, {}).setdefault(g.system, []).append(g.metric)
    return out


def ratings(rated: Mapping[str, races.Aggregate]) -> list[EloRow]:
    """Rows of the systems that have a rating."""
    return [
        EloRow(s, a.elo, a.low if a.low is not None else a.elo, a.high if a.high is not None else a.elo,
               {t: r.elo for t, r in a.tasks.items() if r.elo is not None})
        for s, a in rated.items() if a.elo is not None
    ]  # fmt: skip


def layers(campaign: Campaign) -> list[Layered]:
    """The tasks of the campaign; one that is not known here has no layer and is left out."""
    out = []
    for name in campaign.tasks:
        card, mine = _card(name), campaign.of(task=name)
        if card is not None and card.layers:
            out.append(Layered(name, card.index, tuple(card.layers), sum(g.passed for g in mine), len(mine)))
    return out


def write_all(
    campaign: Campaign, out: Path, *, solved: Sequence[Solved] = (), rated: Mapping[str, races.Aggregate] | None = None
) -> list[Path]:
    """All plots that the campaign has data for, as SVG and PNG in `out`; gives the files.

    `solved` are instances of the stabilizer benchmarks. `rated` are ratings that were made already; without them they are made here.
    """
    figures: dict[str, Figure] = {
        "pass_rates": pass_rates(rates(campaign)), "outcomes": composition(outcomes(campaign)), "passes": pass_grid(cells(campaign)),
        "layers": task_layers(layers(campaign)),
    }  # fmt: skip
    if rated is None and (raced := metrics(campaign)):
        rated = races.aggregate(raced)
    if rated and (rows := ratings(rated)):
        figures["elo"] = elo(rows)
    if solved:
        figures["difficulty"] = difficulty(solved)
    return [path for name, fig in figures.items() for path in save(fig, out / name)]


def _card(name: str) -> tasks.TaskCard | None:
    try:
        return tasks.load(name)
    except (KeyError, ValueError):
        return None
