"""Instances of the benchmark: a task (b1, b2, b3) and a code."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import tasks
from qtypes.stabilizer_codes import QTYPE, Profile, codes, scoring
from qtypes.stabilizer_codes.device import hidden_of

TASKS: dict[str, str] = {short: f"stabilizer_{task}" for short, task in scoring.SHORT.items()}
"""Short name -> task."""


class Unknown(Exception):
    """No such task or code; the text says what there is."""


def short_of(name: str) -> str:
    """`b1`, `b2`, `b3` from that or from the name of the task."""
    found = {**{s: s for s in TASKS}, **{t: s for s, t in TASKS.items()}, **{str(t): s for s, t in scoring.SHORT.items()}}.get(name)
    if found is None:
        raise Unknown(f"no task {name!r}; there are: {', '.join(TASKS)}")
    return found


def chosen(patterns: Iterable[str]) -> tuple[str, ...]:
    """Ids of codes by id or glob, in the order of the list; all 192 without a pattern. Ids of the extended set are found too."""
    wanted = list(patterns)
    if not wanted:
        return codes.ids("all")
    known = (*codes.ids("all"), *codes.ids("extended"), *codes.ids("published"))
    found: dict[str, None] = {}
    for pattern in wanted:
        hits = [n for n in known if fnmatchcase(n, pattern)]
        if not hits:
            raise Unknown(f"no code {pattern!r}; `qharbor stabilizer list` names them")
        found |= dict.fromkeys(hits)
    return tuple(n for n in known if n in found)


@cache
def card(short: str, code: str) -> tasks.TaskCard:
    """The card of the task that names this code."""
    return tasks.load(f"{short}_{code}")


def spec(short: str, code: str) -> dict[str, Any]:
    """The public spec of an instance as a session gives it."""
    profile = Profile.model_validate(card(short, code).profile)
    found: Any = QTYPE.spec(hidden_of(codes.load(code)), profile)
    return dict(found.model_dump(mode="json"))


def row(name: str) -> dict[str, Any]:
    """What there is to say of a code in one line."""
    c = codes.load(name)
    return {
        "id": c.id, "collection": c.collection, "family": c.family, "n": c.n, "k": c.k, "d": c.d, "d_upper": c.d_upper,
        "d_claimed": c.d_claimed, "listed": c.listed, "independent": c.rank, "css": c.is_css, "corrected_weight": float(c.weight),
        "copy_of": c.representative if c.representative != c.id else None,
    }  # fmt: skip
