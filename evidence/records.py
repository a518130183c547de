"""Raw records as `.npz` without pickles, with digests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import numpy as np

from evidence.canonical import EvidenceError

_KINDS = "bifcu"
MAX_RECORD = 2_000_000_000


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An uncompressed `.npz`; equal arrays give equal bytes. `ValueError` on object dtypes or numbers that are not finite."""
    for name, values in arrays.items():
        if values.dtype.kind not in _KINDS:
            raise ValueError(f"array {name}: dtype {values.dtype} is not numeric")
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            raise ValueError(f"array {name}: not finite")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as z:
        for name in sorted(arrays):
            # a fixed date: the bytes depend on the content alone
            with z.open(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as f:
                np.lib.format.write_array(f, np.ascontiguousarray(arrays[name]), allow_pickle=False)
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, np.ndarray]:
    """Inverse of :func:`pack`; refuses pickles and what is not an `.npz`."""
    if len(data) > MAX_RECORD:
        raise EvidenceError(f"a record of {len(data)} bytes is not ours")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as z:
            return {name: z[name] for name in z.files}
    except (ValueError, OSError, zipfile.BadZipFile, KeyError) as exc:
        raise EvidenceError(f"a record is not readable ({type(exc).__name__})") from exc
