"""Canonical JSON and digests: equal content, equal bytes, equal SHA-256."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any


class EvidenceError(Exception):
    """Evidence that does not hold. `seq` is the first event that does not, where there is one."""

    def __init__(self, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


def dumps(value: Any) -> bytes:
    """Canonical form: UTF-8, sorted keys, no blanks, finite numbers only (`ValueError` otherwise)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a finite number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return out


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is not a finite 64-bit float")
    return value


def loads(data: bytes | str) -> Any:
    """Strict JSON: no NaN or Infinity, also not by overflow (`1e999`), no key twice in one object; `ValueError` otherwise."""
    try:
        return json.loads(data, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
