"""Random streams: children of one `SeedSequence`, named by purpose.

A session has one root with 256 bits of entropy. Every consumer takes the child of its purpose (`device`, `notebook`,
`job/<n>`, `grade`), so no stream depends on how many numbers another one used. A seed is stored as the whole sequence.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

_WORDS = 4  # 128 bits of the purpose's digest: two purposes never share a stream


def fresh_root() -> np.random.SeedSequence:
    """A root from the operating system's entropy (256 bits)."""
    return np.random.SeedSequence(secrets.randbits(256))


def root_from(material: bytes) -> np.random.SeedSequence:
    """A reproducible root: SHA-256 of `material` as entropy."""
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(material).digest(), "little"))


def child(root: np.random.SeedSequence, purpose: str) -> np.random.SeedSequence:
    """The child of `root` for `purpose`; equal arguments give equal streams, in any order of calls."""
    digest = hashlib.sha256(purpose.encode()).digest()
    words = tuple(int.from_bytes(digest[4 * i : 4 * i + 4], "little") for i in range(_WORDS))
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *words), pool_size=root.pool_size)


def generator(root: np.random.SeedSequence, purpose: str) -> np.random.Generator:
    """`numpy.random.Generator` (PCG64) on the child of `root` for `purpose`."""
    return np.random.Generator(np.random.PCG64(child(root, purpose)))


def to_json(seed: np.random.SeedSequence) -> dict[str, Any]:
    """The whole sequence as JSON; entropy as a decimal string because it exceeds 64 bits."""
    return {"entropy": str(seed.entropy), "spawn_key": list(seed.spawn_key), "pool_size": seed.pool_size}


def from_json(state: Mapping[str, Any]) -> np.random.SeedSequence:
    """Inverse of :func:`to_json`."""
    return np.random.SeedSequence(
        int(state["entropy"]), spawn_key=tuple(int(k) for k in state["spawn_key"]), pool_size=int(state["pool_size"])
    )


def stim_seed(rng: np.random.Generator) -> int:
    """A 63-bit seed for a stim sampler, drawn from `rng`."""
    return int(rng.integers(0, 2**63 - 1))
