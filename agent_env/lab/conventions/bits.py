"""Packing of bits: little-endian within a byte, bit `i` of a row is bit `i % 8` of byte `i // 8` (stim's `b8`)."""

from __future__ import annotations

import numpy as np


def packed_width(n_bits: int) -> int:
    """Bytes that `n_bits` bits take."""
    return (n_bits + 7) // 8


def pack_bits(bits: np.ndarray) -> np.ndarray:
    """Pack `(n_shots, n_bits)` of 0/1 (bool or integer) to `(n_shots, ceil(n_bits / 8))` uint8, little-endian; padding bits are 0."""
    bits = np.asarray(bits)
    if bits.ndim != 2:
        raise ValueError(f"bits must have shape (n_shots, n_bits), got {bits.shape}")
    return np.packbits(bits.astype(bool, copy=False), axis=1, bitorder="little")


def unpack_bits(packed: np.ndarray, n_bits: int) -> np.ndarray:
    """Inverse of :func:`pack_bits`: `(n_shots, ceil(n_bits / 8))` uint8 to `(n_shots, n_bits)` bool."""
    packed = np.asarray(packed)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != packed_width(n_bits):
        raise ValueError(f"packed must be uint8 of shape (n_shots, {packed_width(n_bits)}), got {packed.dtype} {packed.shape}")
    return np.unpackbits(packed, axis=1, count=n_bits, bitorder="little").astype(bool)
