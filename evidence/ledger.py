"""Budgets as a fold over the log: the log is the only state."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evidence.canonical import EvidenceError
from evidence.log import Event

_CHARGED = {"job_submitted", "query_answered"}
_REFUNDED = {"job_failed", "job_cancelled"}


def amounts(cost: Mapping[str, Any]) -> dict[str, Decimal]:
    """Exact decimals of a logged cost."""
    return {unit: Decimal(str(value)) for unit, value in cost.items()}


class Ledger:
    """What has been used of each budget unit.

    `limits` maps metered units to their limit; other units are counted without a limit.
    """

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self.limits = amounts(limits)
        self.used: dict[str, Decimal] = dict.fromkeys(self.limits, Decimal(0))

    def exceeded(self, cost: Mapping[str, Decimal]) -> str | None:
        """The first unit whose limit `cost` would pass, or None."""
        for unit, amount in cost.items():
            if unit in self.limits and self.used.get(unit, Decimal(0)) + amount > self.limits[unit]:
                return unit
        return None

    def left(self, unit: str) -> Decimal | None:
        return None if unit not in self.limits else self.limits[unit] - self.used[unit]

    def charge(self, cost: Mapping[str, Decimal]) -> None:
        for unit, amount in cost.items():
            self.used[unit] = self.used.get(unit, Decimal(0)) + amount

    def refund(self, cost: Mapping[str, Decimal]) -> None:
        for unit, amount in cost.items():
            self.used[unit] = self.used.get(unit, Decimal(0)) - amount

    def apply(self, event: Event) -> None:
        """Account for one event; :class:`EvidenceError` where a limit is passed or more is refunded than was charged."""
        if event.kind in _CHARGED:
            cost = amounts(event.data["cost"])
            if any(v < 0 for v in cost.values()):
                raise EvidenceError(f"event {event.seq}: a negative charge", event.seq)
            unit = self.exceeded(cost)
            if unit is not None:
                raise EvidenceError(f"event {event.seq}: passes the budget of {unit}", event.seq)
            self.charge(cost)
        elif event.kind in _REFUNDED:
            self.refund(amounts(event.data["refund"]))
            if any(v < 0 for v in self.used.values()):
                raise EvidenceError(f"event {event.seq}: refunds more than was charged", event.seq)

    def to_json(self) -> dict[str, dict[str, float]]:
        """`{unit: {limit, used, left}}` for metered units, `{used}` for the others."""
        out: dict[str, dict[str, float]] = {}
        for unit, used in self.used.items():
            out[unit] = {"used": float(used)}
            if unit in self.limits:
                out[unit] |= {"limit": float(self.limits[unit]), "left": float(self.limits[unit] - used)}
        return out
