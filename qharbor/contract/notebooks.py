"""Rules on notebooks: dated, and no way to read off what the agent is to measure."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import defaultdict

import numpy as np
from pydantic import BaseModel
from scipy.stats import binom

from qharbor.contract.findings import Finding, Findings
from qharbor.contract.subject import TODAY, QTypeSubject
from qharbor.contract.values import Path, dotted, is_number, number_leaves

TOLD_WITHIN = 0.01
"""A number of the notebook tells a hidden one if it, or its inverse, is this close to it."""
TOLD_OFTEN = 0.5
"""Share of devices (or of the elements of a table) of which a notebook may tell the current value before it is a leak."""
CHANCE = 0.01
"""Probability of a false alarm, all pairs of a notebook's and a hidden number taken together."""
FEWEST_MATCHES = 3
SMALL_TABLE = 8
EARLIER = dt.date(2003, 2, 1)

Table = dict[Path, np.ndarray]
"""Elements of one table, or the one element `()` of a scalar: position -> float64 `(n_devices,)`."""


def notebook_is_dated(subject: QTypeSubject) -> list[Finding]:
    """Every entry has a date no later than the session's day, an author, a title and a text; the oldest comes first."""
    found = Findings("notebook_is_dated", subject.name)
    for label in subject.profiles:
        for today in (TODAY, EARLIER):
            entries = subject.notebook(label, 0, today).entries
            if not entries:
                found.add(label, "the notebook is empty")
            for k, entry in enumerate(entries):
                where = f"{label}: entry {k}"
                if entry.date > today:
                    found.add(where, "dated after the day of the session", entry.date.isoformat(), today.isoformat())
                if k and entry.date < entries[k - 1].date:
                    found.add(where, "older than the entry before it", entry.date.isoformat())
                if not (entry.author.strip() and entry.title.strip() and entry.text.strip()):
                    found.add(where, "author, title or text is missing")
                try:
                    json.dumps(entry.data, allow_nan=False)
                except (TypeError, ValueError) as exc:
                    found.add(where, f"its data are not finite JSON: {exc}")
    return found


def notebook_keeps_the_secret(subject: QTypeSubject) -> list[Finding]:
    """No number of the notebook gives the current value of a hidden parameter more often than it does by chance.

    Notebooks are compared with the hidden parameters of their own device and, as permutations, with those of every other device, number
    by number: a value or its inverse, in any power of ten. Elements of tables are aligned by position and pooled. A pair that matches on
    its own device more often than its rate on the others explains (binomial, times the number of pairs) and mostly, is a leak.
    """
    found = Findings("notebook_keeps_the_secret", subject.name)
    for label in subject.profiles:
        devices = subject.devices(label)
        entries = [subject.notebook(label, k).entries for k in range(len(devices))]
        told = _columns([_book(number_leaves([e.model_dump(mode="json", include={"text", "data"}) for e in book])) for book in entries])
        secret = _columns([_hidden(d.hidden) for d in devices])
        pairs = [(b, h, *_count(told[b], secret[h])) for b in told for h in secret if h.split("[")[0] not in subject.qtype.public]
        pairs = [p for p in pairs if p[3]]
        for book, name, own, n, other, m in pairs:
            rate = (other + 1) / (m + 2)
            if own >= FEWEST_MATCHES and own / n >= TOLD_OFTEN and float(binom.sf(own - 1, n, rate)) * len(pairs) < CHANCE:
                message = f"the notebook ({book}) tells its current value within {TOLD_WITHIN:.0%} in {own} of {n} comparisons"
                found.add(f"{label}: Hidden.{name}", message, f"{own / n:.0%}", f"{other / max(1, m):.0%} on other devices")
    return found


def _split(path: Path) -> tuple[str, Path]:
    """Name and position: parts that are whole numbers, also as text, are positions."""
    parts = [int(p) if isinstance(p, str) and p.isdecimal() else p for p in path]
    return dotted(tuple(parts)), tuple(p for p in parts if isinstance(p, int))


def _book(numbers: dict[Path, float]) -> dict[str, dict[Path, float]]:
    """Numbers of a notebook by name and position; those of a text by their order."""
    out: dict[str, dict[Path, float]] = defaultdict(dict)
    for (entry, kind, *rest), value in numbers.items():
        if kind == "text":
            out[f"entry {entry}, number {rest[0]} of its text"][()] = value
        else:
            name, position = _split(tuple(rest))
            out[f"entry {entry}, data {name}"][position] = value
    return _with_elements(out)


def _hidden(hidden: BaseModel) -> dict[str, dict[Path, float]]:
    """Numbers of a device by name and position, and what `Hidden` computes of itself without arguments, such as `t2star_us()`."""
    out: dict[str, dict[Path, float]] = defaultdict(dict)
    for path, value in number_leaves(hidden.model_dump(mode="json")).items():
        name, position = _split(path)
        out[name][position] = value
    for name in vars(type(hidden)):
        if name.startswith(("_", "model_")) or name in type(hidden).model_fields:
            continue
        try:
            value = getattr(hidden, name)
            value = value() if callable(value) else value
        except TypeError:
            continue  # needs arguments
        if is_number(value) and math.isfinite(value):
            out[f"{name}()"][()] = float(value)
    return _with_elements(out)


def _with_elements(groups: dict[str, dict[Path, float]]) -> dict[str, dict[Path, float]]:
    """Elements of small tables are also scalars of their own."""
    single: dict[str, dict[Path, float]] = {
        f"{name}[{','.join(map(str, at))}]": {(): value}
        for name, table in groups.items() if len(table) <= SMALL_TABLE for at, value in table.items() if at
    }  # fmt: skip
    return dict(groups) | single


def _columns(rows: list[dict[str, dict[Path, float]]]) -> dict[str, Table]:
    """What every device has and what is not the same on all of them."""
    out: dict[str, Table] = {}
    for name in sorted(set(rows[0]).intersection(*rows[1:])):
        positions = set(rows[0][name]).intersection(*(r[name] for r in rows[1:]))
        table = {at: np.array([r[name][at] for r in rows]) for at in sorted(positions, key=str)}
        table = {at: column for at, column in table.items() if (column != column[0]).any()}
        if table:
            out[name] = table
    return out


def _count(book: Table, hidden: Table) -> tuple[int, int, int, int]:
    """Matches and comparisons on the own device, and on the other devices; none where the tables have nothing in common."""
    common = [at for at in book if at in hidden]
    if not common:
        return 0, 0, 0, 0
    a, b = np.stack([book[at] for at in common]), np.stack([hidden[at] for at in common])
    hit = _close(a[:, :, None], b[:, None, :])  # (element, notebook, device)
    own = int(np.trace(hit, axis1=1, axis2=2).sum())
    elements, n = a.shape
    return own, elements * n, int(hit.sum()) - own, elements * n * (n - 1)


def _close(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether `a` tells `b`: equal within the tolerance up to sign and a power of ten, directly or inverted."""
    with np.errstate(divide="ignore"):
        la, lb = np.log10(np.abs(a)), np.log10(np.abs(b))
    usable = np.isfinite(la) & np.isfinite(lb)
    la, lb = np.where(usable, la, 0.0), np.where(usable, lb, 0.5)
    width = math.log10(1 + TOLD_WITHIN)
    direct, inverse = (np.abs((d + 0.5) % 1.0 - 0.5) <= width for d in (la - lb, la + lb))
    return np.asarray(usable & (direct | inverse))
