"""Figures of a campaign: what is drawn is what the rows say, and the files depend on nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from results import races
from results.model import Campaign, Graded, Trial
from results.plots import (
    Cell,
    EloRow,
    Layered,
    OutcomeCount,
    PassRate,
    Solved,
    composition,
    difficulty,
    elo,
    pass_grid,
    pass_rates,
    save,
    task_layers,
    write_all,
)  # fmt: skip
from results.plots.style import CYCLE, DASHES, MARKERS, OUTCOMES
from results.statistics import Z68, Z95, wilson

HARD = "a$b_{c}$ \u202e 名 <&> " + "x" * 60


def texts(fig: Figure) -> list[str]:
    return [t.get_text() for ax in fig.axes for t in ax.texts]


def labels(fig: Figure) -> list[str]:
    return [t.get_text() for t in fig.axes[0].get_yticklabels()]


def campaign() -> Campaign:
    rng = np.random.default_rng(5)
    trials = []
    for s, skill in (("good", 0.9), ("fair", 0.6), (HARD, 0.2)):
        for task in ("transmon_t1", "t_count_race", "surrogate_60q"):
            for repeat in range(4):
                outcome = "pass" if rng.random() < skill else ("science_failure", "no_submission", "infrastructure_fault")[repeat % 3]
                metric = float(rng.integers(10, 90)) if outcome == "pass" and task == "t_count_race" else None
                verdict = {"outcome": outcome, "race_metric": metric, "checks": [], "reward": int(outcome == "pass")}
                trials.append(Graded(Trial(Path("x"), "t", s, task, repeat), verdict))
    return Campaign(tuple(trials))


def test_rates_are_ranked_and_their_bars_are_the_wilson_intervals() -> None:
    fig = pass_rates([PassRate("low", 1, 10), PassRate("high", 9, 10), PassRate("middle", 20, 40)])
    assert labels(fig) == ["low", "middle", "high"]
    lines = {(round(y[0]), line.get_linewidth()): line.get_xdata() for line in fig.axes[0].lines if len(y := line.get_ydata()) == 2}
    for k, (passed, n) in enumerate(((1, 10), (20, 40), (9, 10))):
        for width, z in ((0.8, Z95), (2.6, Z68)):
            assert np.allclose(lines[k, width], [100 * v for v in wilson(passed, n, z)])
    assert texts(fig) == ["1/10", "20/40", "9/10"]


def test_shares_of_outcomes_add_up_and_faults_are_not_among_them() -> None:
    counts = {"pass": 2, "science_failure": 1, "no_submission": 1, "infrastructure_fault": 9}
    fig = composition([OutcomeCount("a", counts), OutcomeCount("b")])
    ax = fig.axes[0]
    assert labels(fig) == ["a"]
    assert sum(p.get_width() for p in ax.patches) == pytest.approx(100)
    assert sorted(p.get_width() for p in ax.patches) == pytest.approx([25, 25, 50])
    assert len({p.get_hatch() for p in ax.patches}) == 3


def test_the_grid_sorts_by_passes_and_hatches_what_was_not_counted() -> None:
    fig = pass_grid([Cell("easy", "a", 3, 3), Cell("easy", "b", 2, 3), Cell("hard", "a", 1, 3), Cell("hard", "b", 0, 0, faults=3)])
    assert labels(fig) == ["easy", "hard"]
    assert texts(fig) == ["3/3", "2/3", "1/3"]
    assert sum(p.get_hatch() is not None for p in fig.axes[0].patches) == 1


def test_ratings_show_each_task_and_the_interval() -> None:
    fig = elo([EloRow("a", 1100, 1050, 1160, {"t": 1120, "u": 1080}), EloRow("b", 900, 840, 950, {"t": 880})])
    assert labels(fig) == ["b  900", "a  1100"]
    points = {c.get_label(): sorted(c.get_offsets()[:, 0].tolist()) for c in fig.axes[0].collections}
    assert points == {"t": [880, 1120], "u": [1080]}
    assert [840, 950] in [list(line.get_xdata()) for line in fig.axes[0].lines]


def test_tasks_stand_at_their_layers_in_the_order_of_the_stack() -> None:
    rows = [Layered("top", 9, ("application", "gates and calibration"), 1, 2), Layered("base", 1, ("physical device",))]
    fig = task_layers(rows)
    assert labels(fig) == ["1  base", "9  top"]
    first = [(line.get_xdata()[0], line.get_ydata()[0]) for line in fig.axes[0].lines if len(line.get_xdata()) == 1]
    assert first == [(0, 0), (2, 1), (1, 1)]
    assert "50 %" in texts(fig)


def test_difficulty_curves_are_the_shares_of_their_bins() -> None:
    rows = [Solved("s", "B1", float(d), float(d < 50)) for d in range(1, 101)]
    fig = difficulty(rows, bins=4)
    y = fig.axes[0].lines[0].get_ydata()
    assert np.allclose(y, [100, 100 * 24 / 25, 0, 0], atol=4.1)
    assert len(y) == 4


def test_a_campaign_is_drawn_with_the_ratings_of_its_races(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[EloRow]] = []
    monkeypatch.setattr("results.plots.campaign.elo", lambda rows: drawn.append(rows) or elo(rows))
    c = campaign()
    files = write_all(c, tmp_path)
    assert {p.name for p in files} == {f"{n}.{e}" for n in ("pass_rates", "outcomes", "passes", "layers", "elo") for e in ("svg", "png")}
    rated = races.aggregate({"t_count_race": {s: [g.metric for g in c.of(s, "t_count_race")] for s in c.systems}})
    assert {r.system: r.elo for r in drawn[0]} == {s: a.elo for s, a in rated.items() if a.elo is not None}


def test_files_are_equal_byte_for_byte_and_hold_no_date_path_or_program(tmp_path: Path) -> None:
    rows = [PassRate("a", 1, 3), PassRate(HARD, 2, 3)]
    first, second = save(pass_rates(rows), tmp_path / "one" / "f"), save(pass_rates(rows), tmp_path / "two" / "f")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    svg = first[0].read_text()
    assert not re.search(r"matplotlib|<dc:date|20\d\d-\d\d|/tmp|/home", svg.replace("matplotlib.axis_", ""))
    with Image.open(first[1]) as image:
        assert set(image.info) <= {"dpi"}
        assert image.width > 1000


@pytest.mark.parametrize(
    "fig",
    [pass_rates([]), composition([]), pass_grid([]), elo([]), task_layers([]), difficulty([])],
    ids=["rates", "outcomes", "grid", "elo", "layers", "difficulty"],
)
def test_nothing_to_draw_is_said(fig: Figure, tmp_path: Path) -> None:
    assert texts(fig)[0].startswith("no ")
    assert all(p.stat().st_size > 500 for p in save(fig, tmp_path / "empty"))


def test_what_colour_tells_is_told_by_a_sign_too() -> None:
    assert len({h for _, h, _ in OUTCOMES.values()}) == len(OUTCOMES)
    assert len(set(MARKERS)) == len(set(map(str, DASHES))) == len(CYCLE) == 8
