"""The leaderboard as CSV and as one self-contained HTML page. Names come from folders and agents: everything is escaped."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from results.leaderboard import LAYERS, Leaderboard, Share, Standing

_UNSAFE = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins so for a formula."""


def as_csv(board: Leaderboard) -> str:
    """One row a system."""
    ks = sorted({k for s in board.systems for k in s.pass_at})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([
        "system", "passed", "trials", "pass_rate", "z1_low", "z1_high", "z196_low", "z196_high",
        *(f"pass_at_{k}" for k in ks), *(f"pass_hat_{k}" for k in ks), "elo", "elo_low", "elo_high", "race_games",
        *(f"layer: {layer}" for layer in LAYERS), "left_out", "cost_usd",
    ])  # fmt: skip
    for s in board.systems:
        race = s.race
        writer.writerow([
            _cell(s.system), s.overall.passed, s.overall.n, _blank(s.overall.rate), *s.overall.z1, *s.overall.z196,
            *(_blank(s.pass_at.get(k)) for k in ks), *(_blank(s.pass_hat.get(k)) for k in ks),
            *((_blank(race.elo), _blank(race.low), _blank(race.high), race.games) if race else ("", "", "", 0)),
            *(_blank(s.by_layer[layer].rate) if layer in s.by_layer else "" for layer in LAYERS), s.left_out,
            _blank(s.usage.get("cost_usd")),
        ])  # fmt: skip
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_UNSAFE) else text


def _blank(value: float | None) -> Any:
    return "" if value is None else value


_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1b1b1b;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}td.t{text-align:left;white-space:normal}
.bar{position:relative;display:inline-block;width:9rem;height:.8rem;background:#eee;vertical-align:middle}
.bar i{position:absolute;height:100%;background:#0072b2;opacity:.35}.bar b{position:absolute;height:100%;width:2px;background:#0072b2}
.dim{color:#666}figure{margin:1rem 0}figure img{max-width:100%;background:#fff}.wide{overflow-x:auto}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}th,td{border-color:#333}.bar{background:#333}.dim{color:#aaa}}
"""


def as_html(board: Leaderboard, figures: Sequence[tuple[str, bytes]] = (), title: str = "Leaderboard") -> str:
    """One page without external requests; `figures` are captions and SVG files."""
    # as images, each is a document of its own: identifiers within two of them may be the same
    drawn = (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, svg in figures
    )
    parts = [
        f"<h1>{escape(title)}</h1>", _systems(board), *drawn, _by_layer(board), _by_category(board), _races(board), _stabilizer(board),
        _tasks(board), _patterns(board), _left_out(board),
        *(f'<p class="dim">{escape(n)}</p>' for n in board.notes),
    ]  # fmt: skip
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(p for p in parts if p) + "\n</body></html>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    body = "".join(f"<tr>{''.join(c if c.startswith('<td') else f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{"".join(f"<th>{escape(h)}</th>" for h in head)}</tr>{body}</table></div>'


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _interval(s: Share) -> str:
    if s.rate is None:
        return ""
    (low, high), at = s.z196, s.rate
    bar = f'<i style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i><b style="left:{100 * at:.1f}%"></b>'
    return f'<span class="bar">{bar}</span>'


def _range(pair: tuple[float, float]) -> str:
    return f"{100 * pair[0]:.0f} to {100 * pair[1]:.0f} %"


def _systems(board: Leaderboard) -> str:
    ks = sorted({k for s in board.systems for k in s.pass_at})
    head = ["system", "passed", "rate", "", "z = 1", "z = 1.96", *(f"pass@{k}" for k in ks), *(f"pass^{k}" for k in ks), "left out"]
    rows = [
        [escape(s.system), f"{s.overall.passed}/{s.overall.n}", _percent(s.overall.rate), _interval(s.overall), _range(s.overall.z1),
         _range(s.overall.z196), *(_percent(s.pass_at.get(k)) for k in ks), *(_percent(s.pass_hat.get(k)) for k in ks), str(s.left_out)]
        for s in board.systems
    ]  # fmt: skip
    return _table(head, rows)


def _split(board: Leaderboard, title: str, names: Sequence[str], of: Any) -> str:
    used = [n for n in names if any(n in of(s) for s in board.systems)]
    if not used:
        return ""
    rows = [[escape(s.system), *(_of(of(s).get(n)) for n in used)] for s in board.systems]
    return f"<h2>{escape(title)}</h2>" + _table(["system", *used], rows)


def _of(found: Share | None) -> str:
    return "" if found is None else f"{_percent(found.rate)} <span class=dim>({found.passed}/{found.n})</span>"


def _by_layer(board: Leaderboard) -> str:
    return _split(board, "By layer of the stack", LAYERS, lambda s: s.by_layer)


def _by_category(board: Leaderboard) -> str:
    return _split(board, "By category", sorted({c for s in board.systems for c in s.by_category}), lambda s: s.by_category)


def _races(board: Leaderboard) -> str:
    rated = [s for s in board.systems if s.race is not None and s.race.elo is not None]
    if not rated:
        return ""
    names = sorted({t for s in rated if s.race for t in s.race.tasks})

    def row(s: Standing) -> list[str]:
        assert s.race is not None
        per = [r.elo if (r := s.race.tasks.get(t)) is not None else None for t in names]
        bounds = f"{_points(s.race.low)} to {_points(s.race.high)}"
        return [escape(s.system), _points(s.race.elo), bounds, str(s.race.games), *map(_points, per)]

    rows = [row(s) for s in sorted(rated, key=lambda s: -(s.race.elo or 0.0) if s.race else 0.0)]
    return "<h2>Races (Elo)</h2>" + _table(["system", "Elo", "95 % of the bootstrap", "comparisons", *names], rows)


def _points(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _stabilizer(board: Leaderboard) -> str:
    rows = [[escape(s.system), escape(where), f"{v['capability']:,.0f}", f"{v['quality']:,.0f}", f"{v['instances']:.0f}"]
            for s in board.systems for where, v in s.stabilizer.items()]  # fmt: skip
    return "<h2>Stabilizer circuits</h2>" + _table(["system", "scoring", "capability", "quality", "instances"], rows) if rows else ""


def _tasks(board: Leaderboard) -> str:
    rows = [
        [escape(t.task), f'<td class="t">{escape(t.title)}</td>', f'<td class="t">{escape(", ".join(t.layers))}</td>', str(t.depth),
         f"{t.overall.passed}/{t.overall.n}", _percent(t.difficulty)]
        for t in board.tasks
    ]  # fmt: skip
    rho = "does not exist (one side does not vary)" if board.depth_correlation is None else f"{board.depth_correlation:+.2f}"
    return (
        "<h2>Tasks</h2>" + _table(["task", "", "layers", "depth", "passed", "difficulty"], rows)
        + f'<p class="dim">Rank correlation of difficulty with depth: {rho}.</p>'
    )  # fmt: skip


def _patterns(board: Leaderboard) -> str:
    outcomes = list(board.systems[0].outcomes) if board.systems else []
    patterns = list(board.systems[0].patterns) if board.systems else []
    rows = [[escape(s.system), *(str(s.outcomes[o]) for o in outcomes), *(str(s.patterns[p]) for p in patterns)] for s in board.systems]
    return "<h2>Outcomes and patterns</h2>" + _table(["system", *(n.replace("_", " ") for n in (*outcomes, *patterns))], rows)


def _left_out(board: Leaderboard) -> str:
    if not board.left_out:
        return ""
    rows = [
        [escape(x["system"]), escape(x["task"]), escape(x["trial"]), f'<td class="t">{escape(x["reason"])}</td>'] for x in board.left_out
    ]
    head = f"<h2>Not counted ({len(rows)})</h2><p class=dim>Faults are to be run again.</p>"
    return head + _table(["system", "task", "trial", "why"], rows)
