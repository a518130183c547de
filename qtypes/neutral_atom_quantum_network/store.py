"""What node B keeps: its results leave it only when their transfer is paid for.

A record is handed to node A, so it holds node B's results enciphered. The key belongs to the device; each job has its own nonce.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

NONCE = 16
_BLOCK = 64

Bytes = NDArray[np.uint8]


def _stream(key: str, nonce: Bytes, n: int) -> Bytes:
    """Keyed BLAKE2b in counter mode, `(n,)`."""
    secret = int(key).to_bytes(32, "little")
    blocks = (
        hashlib.blake2b(nonce.tobytes() + k.to_bytes(8, "little"), key=secret, digest_size=_BLOCK).digest() for k in range(-(-n // _BLOCK))
    )
    return np.frombuffer(b"".join(blocks), dtype=np.uint8)[:n]


def sealed(values: Bytes, key: str, nonce: Bytes) -> Bytes:
    """Enciphered values, `(n,)` uint8; the same again gives the values."""
    return np.asarray(values ^ _stream(key, nonce, len(values)), dtype=np.uint8)
